//! Which accounts have rules that spoke lately, as far as this server has seen: their counts are compared with earlier ones.

use std::{
    collections::{HashMap, VecDeque},
    sync::Arc,
    time::Duration,
};

use futures_util::future::join_all;
use keyrack_calculations::keys::Account;
use parking_lot::Mutex;

use crate::{Site, memo::Memo};

/// How many accounts are looked at, and how often.
const ACCOUNTS_MAX: usize = 20;
const AGE: Duration = Duration::from_secs(5);
/// For how long it is told that a rule spoke.
const LATELY_MS: u64 = 10 * 60_000;

/// What was counted in the last minutes.
#[derive(Debug)]
pub(crate) struct Spoken {
    counts: Mutex<HashMap<String, Counts>>,
    memo: Memo<(), Arc<Vec<(String, u64)>>>,
}

/// An account's counts with their times, oldest first; the first is older than all that is told.
type Counts = VecDeque<(u64, u64)>;

impl Default for Spoken {
    fn default() -> Spoken {
        Spoken { counts: Mutex::default(), memo: Memo::new(AGE) }
    }
}

impl Spoken {
    /// Accounts, and how often their rules have spoken lately.
    pub(super) async fn lately(site: &Site) -> Arc<Vec<(String, u64)>> {
        let spoken = &site.spoken;
        let read = async {
            let accounts = site.services.calculations.list().await?;
            let looks =
                accounts.into_iter().take(ACCOUNTS_MAX).map(|(account, _)| look(site, account));
            let now = site.services.store.now_ms();
            let found = join_all(looks).await.into_iter().flatten();
            let told = found.filter_map(|(account, said)| {
                let lately = spoken.note(&account, now, said);
                (lately > 0).then_some((account, lately))
            });
            Ok::<_, keyrack_calculations::Error>(Arc::new(told.collect()))
        };
        spoken.memo.get((), read).await.unwrap_or_default()
    }

    /// Notes a count; returns by how much it has grown lately.
    fn note(&self, account: &str, now: u64, said: u64) -> u64 {
        let mut all = self.counts.lock();
        let counts = all.entry(account.to_owned()).or_default();
        while counts.get(1).is_some_and(|(at, _)| *at + LATELY_MS <= now) {
            counts.pop_front();
        }
        if counts.back().is_none_or(|(_, last)| *last != said) {
            counts.push_back((now, said));
        }
        // An account that was made anew has said nothing yet.
        let is_old = |(at, _): &&(u64, u64)| *at + LATELY_MS <= now;
        let newest = counts.back().filter(is_old);
        let since = newest.or(counts.front()).map_or(said, |(_, before)| *before);
        said.saturating_sub(since)
    }
}

async fn look(site: &Site, account: Account) -> Option<(String, u64)> {
    let ledger = site.services.calculations.existing(&account).await.ok()?;
    Some((account.to_string(), ledger.said().await.ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_said_lately_is_told() {
        let (spoken, minute) = (Spoken::default(), 60_000);
        let note = |minutes: u64, said| spoken.note("7", minutes * minute, said);
        assert_eq!(note(0, 40), 0, "nobody knows when that was said");
        assert_eq!(note(1, 42), 2);
        assert_eq!(note(5, 43), 3);
        assert_eq!(note(11, 43), 1, "what was said ten minutes ago is old");
        assert_eq!(note(30, 43), 0);
        assert_eq!(note(31, 50), 7);
        assert_eq!(note(32, 1), 0, "counted anew");
    }

    #[test]
    fn counts_that_do_not_change_take_no_room() {
        let spoken = Spoken::default();
        for at in 0..1_000 {
            spoken.note("7", at, 5);
        }
        assert_eq!(spoken.counts.lock()["7"].len(), 1);
    }
}
