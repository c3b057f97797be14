//! What a queue worker and its maintenance know of the jobs that it has.

use std::{
    borrow::Borrow,
    collections::HashSet,
    hash::{Hash, Hasher},
    sync::atomic::{AtomicU64, Ordering},
};

use foldhash::fast::RandomState;
use parking_lot::Mutex;

use super::context::{Context, Stop};
use crate::bee::settle::Outcome;

/// The jobs that a queue worker has.
#[derive(Debug, Default)]
pub(super) struct Registry {
    running: Mutex<HashSet<ByJid, RandomState>>,
    /// Calls begun, and calls ended.
    pub(super) begun: AtomicU64,
    pub(super) ended: AtomicU64,
}

/// A job that is found by its id.
#[derive(Debug)]
struct ByJid(Context);

impl Borrow<str> for ByJid {
    fn borrow(&self) -> &str {
        self.0.job().jid()
    }
}

impl Hash for ByJid {
    fn hash<H: Hasher>(&self, state: &mut H) {
        Borrow::<str>::borrow(self).hash(state);
    }
}

impl PartialEq for ByJid {
    fn eq(&self, other: &ByJid) -> bool {
        Borrow::<str>::borrow(self) == Borrow::<str>::borrow(other)
    }
}

impl Eq for ByJid {}

impl Registry {
    pub(super) fn knows(&self, jid: &str) -> bool {
        self.running.lock().contains(jid)
    }

    /// The jobs that the store knows to run, each with its attempt.
    pub(super) fn attempts(&self) -> Vec<(String, u64)> {
        let running = self.running.lock();
        let seen = running.iter().filter(|ByJid(context)| context.is_seen_running());
        let job =
            |ByJid(context): &ByJid| (context.job().jid().to_owned(), context.job().attempts());
        seen.map(job).collect()
    }

    /// Stops a job, in this attempt if one is named.
    pub(super) fn stop(&self, jid: &str, attempt: Option<u64>, reason: Stop) {
        if let Some(ByJid(context)) = self.running.lock().get(jid)
            && attempt.is_none_or(|attempt| attempt == context.job().attempts())
        {
            context.stop(reason);
        }
    }

    pub(super) fn stop_all(&self, reason: Stop) {
        self.running.lock().iter().for_each(|ByJid(context)| context.stop(reason));
    }

    /// Adds jobs. If one was there already, it was lost and has come back, so what runs of it is to stop.
    pub(super) fn add(&self, contexts: &[Context]) {
        let mut running = self.running.lock();
        for context in contexts {
            if let Some(ByJid(earlier)) = running.replace(ByJid(context.clone())) {
                earlier.stop(Stop::Lost);
            }
        }
    }

    /// Forgets jobs that the store knows to have ended.
    pub(super) fn forget(&self, outcomes: &[Outcome]) {
        let mut running = self.running.lock();
        for outcome in outcomes {
            // A job that was lost may have been claimed again before its first attempt came to its end.
            let is_same = |ByJid(context): &ByJid| {
                outcome.attempt.is_none_or(|n| n == context.job().attempts())
            };
            if running.get(outcome.jid.as_str()).is_some_and(is_same) {
                running.remove(outcome.jid.as_str());
            }
        }
    }

    /// How many calls have begun so far.
    pub(super) fn calls(&self) -> u64 {
        self.begun.load(Ordering::SeqCst)
    }

    /// Whether a call is under way.
    pub(super) fn is_calling(&self) -> bool {
        self.ended.load(Ordering::SeqCst) != self.begun.load(Ordering::SeqCst)
    }
}
