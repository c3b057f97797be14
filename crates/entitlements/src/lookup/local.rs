//! What this process remembers, so that most reads ask nobody.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use keyrack_keys::UserSub;
use moka::{ops::compute::Op, sync::Cache};
use tokio::sync::watch;

use super::TTL_S;
use crate::entitlement::Entitlement;

/// The entitlements of some users.
#[derive(Debug)]
pub(crate) struct Local {
    users: Cache<UserSub, Arc<Entry>>,
    /// Whether purges arrive. What is not purged in time must not be answered.
    listening: AtomicBool,
    /// Tells those who wait for it.
    began: watch::Sender<bool>,
}

/// What is remembered about one user.
#[derive(Debug, Clone, Default)]
struct Entry {
    /// What was checked before this moment is void, also if it arrives after the purge that said so.
    min_checked_at: f64,
    items: Vec<Item>,
}

#[derive(Debug, Clone)]
struct Item {
    identifier: String,
    value: Entitlement,
    until_ms: u64,
}

impl Local {
    pub(crate) fn new(users_max: u64) -> Local {
        let cache = Cache::builder().max_capacity(users_max);
        let users = cache.time_to_live(Duration::from_secs(u64::from(TTL_S))).build();
        Local { users, listening: AtomicBool::new(false), began: watch::Sender::new(false) }
    }

    pub(crate) fn get(&self, user: &UserSub, identifier: &str, now_ms: u64) -> Option<Entitlement> {
        let entry = self.users.get(user)?;
        let item = entry.items.iter().find(|item| item.identifier == identifier)?;
        let is_good = now_ms < item.until_ms && self.listening.load(Ordering::Acquire);
        (is_good && !item.value.is_stale(now_ms as f64 / 1000.0)).then_some(item.value)
    }

    /// Remembers values of a user for as long as the store does. Others of the user stay.
    pub(crate) fn keep<'a>(
        &self,
        user: &UserSub,
        values: impl Iterator<Item = (&'a String, &'a Entitlement)>,
        until_ms: u64,
    ) {
        let new: Vec<Item> = values
            .map(|(identifier, value)| Item {
                identifier: identifier.clone(),
                value: *value,
                until_ms,
            })
            .collect();
        self.change(user, |entry| {
            entry.items.retain(|item| new.iter().all(|new| new.identifier != item.identifier));
            entry.items.extend(new);
        });
    }

    /// Forgets what was checked before a moment.
    pub(crate) fn purge(&self, user: &UserSub, min_checked_at: f64) {
        self.change(user, |entry| entry.min_checked_at = entry.min_checked_at.max(min_checked_at));
    }

    fn change(&self, user: &UserSub, change: impl FnOnce(&mut Entry)) {
        self.users.entry_by_ref(user).and_compute_with(|old| {
            let mut entry = old.map(|old| Entry::clone(&old.into_value())).unwrap_or_default();
            change(&mut entry);
            let min_checked_at = entry.min_checked_at;
            entry.items.retain(|item| item.value.checked_at >= min_checked_at);
            Op::Put(Arc::new(entry))
        });
    }

    /// Forgets everything: purges may have been missed.
    pub(crate) fn clear(&self) {
        self.users.invalidate_all();
    }

    /// Says whether purges arrive from now on.
    pub(crate) fn set_listening(&self, listening: bool) {
        self.listening.store(listening, Ordering::Release);
        self.began.send_replace(listening);
    }

    /// Resolves once purges arrive.
    pub(crate) async fn listening(&self) {
        // The sender is a field of this very value, so there is no other end.
        let _ = self.began.subscribe().wait_for(|listening| *listening).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn alice() -> UserSub {
        UserSub::new("alice").expect("a good subject")
    }

    fn local() -> Local {
        let local = Local::new(100);
        local.set_listening(true);
        local
    }

    fn keep(local: &Local, identifier: &str, value: Entitlement) {
        let identifier = identifier.to_owned();
        local.keep(&alice(), [(&identifier, &value)].into_iter(), 50_000);
    }

    #[test]
    fn values_are_remembered_until_their_time_is_over() {
        let local = local();
        let value = Entitlement::inactive(1.0);
        keep(&local, "pro", value);
        assert_eq!(local.get(&alice(), "pro", 49_999), Some(value));
        assert_eq!(local.get(&alice(), "plus", 1_000), None);
        assert_eq!(local.get(&alice(), "pro", 50_000), None);
    }

    #[test]
    fn assumptions_end_earlier() {
        let local = local();
        let until_ms = 86_400_000;
        let value = Entitlement::assumed(1.0);
        local.keep(&alice(), [(&"pro".to_owned(), &value)].into_iter(), until_ms);
        assert_eq!(local.get(&alice(), "pro", 600_999), Some(value));
        assert_eq!(local.get(&alice(), "pro", 601_000), None);
    }

    #[test]
    fn a_purge_drops_what_is_older_and_keeps_what_is_not() {
        let local = local();
        keep(&local, "old", Entitlement::inactive(9.5));
        keep(&local, "pro", Entitlement::inactive(10.0));
        local.purge(&alice(), 10.0);
        assert_eq!(local.get(&alice(), "old", 1), None);
        assert_eq!(local.get(&alice(), "pro", 1), Some(Entitlement::inactive(10.0)));
    }

    #[test]
    fn what_arrives_after_its_purge_is_not_kept() {
        let local = local();
        local.purge(&alice(), 10.0);
        local.purge(&alice(), 5.0);
        keep(&local, "pro", Entitlement::inactive(9.0));
        assert_eq!(local.get(&alice(), "pro", 1), None);
        keep(&local, "pro", Entitlement::inactive(10.0));
        assert!(local.get(&alice(), "pro", 1).is_some());
    }

    #[test]
    fn nothing_is_answered_while_purges_do_not_arrive() {
        let local = local();
        keep(&local, "pro", Entitlement::inactive(1.0));
        local.set_listening(false);
        assert_eq!(local.get(&alice(), "pro", 1), None);
        local.set_listening(true);
        assert!(local.get(&alice(), "pro", 1).is_some());
        local.clear();
        assert_eq!(local.get(&alice(), "pro", 1), None);
    }
}
