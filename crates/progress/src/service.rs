//! The handle to the progress bars of a store.

use keyrack_keys::Key;
use keyrack_store::Store;

use crate::chance::Chance;

/// How far a client's clock may be off before the server's counts, in seconds.
const CLOCK_SKEW_MAX: f64 = 300.0;

/// The progress bars of a store. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Progress {
    pub(crate) store: Store,
    /// The list into which completed traces are put for whoever counts them.
    pub(crate) queue: Key,
    pub(crate) chance: Chance,
}

impl Progress {
    /// The progress bars of a store, whose completed traces are handed over in the hot queue: the list `jobs:hot`.
    pub fn open(store: Store, hot_queue: Key) -> Progress {
        Progress { store, queue: hot_queue, chance: Chance::system() }
    }

    /// The same, with ids and samples that follow from a number; for tests.
    pub fn seeded(store: Store, hot_queue: Key, seed: u64) -> Progress {
        Progress { store, queue: hot_queue, chance: Chance::seeded(seed) }
    }

    /// The store.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// The time in unix seconds.
    pub fn now(&self) -> f64 {
        self.store.now_ms() as f64 / 1000.0
    }

    /// A client's time, or the server's when the two are too far apart.
    pub(crate) fn time_of(&self, client_now: f64) -> f64 {
        let now = self.now();
        // A time that is no number is not near either.
        if (client_now - now).abs() < CLOCK_SKEW_MAX { client_now } else { now }
    }
}
