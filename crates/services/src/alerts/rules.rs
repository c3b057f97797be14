//! Which accounts have rules that fired recently, as far as this process has seen: their counts are compared with earlier ones.

use std::{
    collections::{HashMap, VecDeque},
    sync::Arc,
    time::Duration,
};

use futures_util::future::join_all;
use keyrack_calculations::keys::Account;
use parking_lot::Mutex;

use super::{MINUTE_MS, RECENT_MINUTES};
use crate::{Services, cache::Cache};

/// How many accounts are read, and how often.
const ACCOUNTS_MAX: usize = 20;
const AGE: Duration = Duration::from_secs(5);
const RECENT_MS: u64 = RECENT_MINUTES * MINUTE_MS;

/// The counts of the last minutes.
#[derive(Debug)]
pub(super) struct RecentRules {
    counts: Mutex<HashMap<String, Counts>>,
    cache: Cache<(), Arc<Vec<(String, u64)>>>,
}

/// An account's counts with their times, oldest first; the first is older than all that is shown.
type Counts = VecDeque<(u64, u64)>;

impl Default for RecentRules {
    fn default() -> RecentRules {
        RecentRules { counts: Mutex::default(), cache: Cache::new(AGE) }
    }
}

impl RecentRules {
    /// Accounts, and how often their rules have fired recently.
    pub(super) async fn read(&self, services: &Services) -> Arc<Vec<(String, u64)>> {
        let read = async {
            let accounts = services.calculations.list().await?;
            let accounts = accounts.into_iter().take(ACCOUNTS_MAX);
            let counts = accounts.map(|(account, _)| count(services, account));
            let now = services.store.now_ms();
            let counts = join_all(counts).await.into_iter().flatten();
            let recent = counts.filter_map(|(account, count)| {
                let recent = self.note(&account, now, count);
                (recent > 0).then_some((account, recent))
            });
            Ok::<_, keyrack_calculations::Error>(Arc::new(recent.collect()))
        };
        self.cache.get((), read).await.unwrap_or_default()
    }

    /// Notes a count; returns by how much it has grown recently.
    fn note(&self, account: &str, now: u64, count: u64) -> u64 {
        let mut all = self.counts.lock();
        let counts = all.entry(account.to_owned()).or_default();
        while counts.get(1).is_some_and(|(at, _)| *at + RECENT_MS <= now) {
            counts.pop_front();
        }
        if counts.back().is_none_or(|(_, last)| *last != count) {
            counts.push_back((now, count));
        }
        // The rules of an account that was made anew have not fired yet.
        let is_old = |(at, _): &&(u64, u64)| *at + RECENT_MS <= now;
        let newest = counts.back().filter(is_old);
        let since = newest.or(counts.front()).map_or(count, |(_, before)| *before);
        count.saturating_sub(since)
    }
}

async fn count(services: &Services, account: Account) -> Option<(String, u64)> {
    let ledger = services.calculations.existing(&account).await.ok()?;
    Some((account.to_string(), ledger.said().await.ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_recent_counts_are_shown() {
        let rules = RecentRules::default();
        let note = |minutes: u64, count| rules.note("7", minutes * MINUTE_MS, count);
        assert_eq!(note(0, 40), 0, "nobody knows when they fired");
        assert_eq!(note(1, 42), 2);
        assert_eq!(note(5, 43), 3);
        assert_eq!(note(11, 43), 1, "ten minutes ago is old");
        assert_eq!(note(30, 43), 0);
        assert_eq!(note(31, 50), 7);
        assert_eq!(note(32, 1), 0, "counted anew");
    }

    #[test]
    fn counts_that_do_not_change_take_no_room() {
        let rules = RecentRules::default();
        for at in 0..1_000 {
            rules.note("7", at, 5);
        }
        assert_eq!(rules.counts.lock()["7"].len(), 1);
    }
}
