//! How often what happened, for metrics.

use std::sync::atomic::{AtomicU64, Ordering};

use serde::Serialize;

/// How often what happened since the start of this process.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Reads answered from memory.
    pub local: u64,
    /// Reads answered from the store.
    pub store: u64,
    /// Reads answered by the source.
    pub source: u64,
    /// Reads answered with what was last known, because the source could not be asked.
    pub last_known: u64,
    /// Reads answered with an assumption, because nothing was known and the source could not be asked.
    pub assumed: u64,
    /// Requests to the source.
    pub requests: u64,
    /// Requests to the source that failed.
    pub failures: u64,
    /// Requests that were not sent, because the source failed too often.
    pub held_back: u64,
    /// Messages that made something void.
    pub purges: u64,
}

/// The same while it is counted.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    pub(crate) local: AtomicU64,
    pub(crate) store: AtomicU64,
    pub(crate) source: AtomicU64,
    pub(crate) last_known: AtomicU64,
    pub(crate) assumed: AtomicU64,
    pub(crate) requests: AtomicU64,
    pub(crate) failures: AtomicU64,
    pub(crate) held_back: AtomicU64,
    pub(crate) purges: AtomicU64,
}

impl Counters {
    pub(crate) fn counts(&self) -> Counts {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Counts {
            local: read(&self.local),
            store: read(&self.store),
            source: read(&self.source),
            last_known: read(&self.last_known),
            assumed: read(&self.assumed),
            requests: read(&self.requests),
            failures: read(&self.failures),
            held_back: read(&self.held_back),
            purges: read(&self.purges),
        }
    }
}

/// Counts one.
pub(crate) fn count(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}
