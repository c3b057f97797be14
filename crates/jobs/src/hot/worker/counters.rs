//! What a worker has done so far.

use std::sync::atomic::{AtomicU64, Ordering};

/// Counters that go on while the worker runs.
#[derive(Debug, Default)]
pub struct Counters {
    pub(super) done: AtomicU64,
    pub(super) failed: AtomicU64,
    pub(super) panicked: AtomicU64,
    pub(super) unknown: AtomicU64,
    pub(super) malformed: AtomicU64,
}

/// The counters at one moment.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Jobs whose handler came to a good end.
    pub done: u64,
    /// Jobs whose handler returned an error.
    pub failed: u64,
    /// Jobs whose handler panicked.
    pub panicked: u64,
    /// Entries of a name that the worker was not taught.
    pub unknown: u64,
    /// Entries that are no jobs.
    pub malformed: u64,
}

impl Counters {
    /// Reads all counters.
    pub fn now(&self) -> Counts {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Counts {
            done: read(&self.done),
            failed: read(&self.failed),
            panicked: read(&self.panicked),
            unknown: read(&self.unknown),
            malformed: read(&self.malformed),
        }
    }
}

/// Counts one more.
pub(super) fn count(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}
