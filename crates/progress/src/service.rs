//! The handle to the progress bars of a store.

use keyrack_keys::Key;
use keyrack_store::Store;

use crate::{bar::BARS_MAX, random::Random};

/// How many traces a user may have stored at a time, unless set otherwise. All of them take about 10 MB.
pub const TRACES_QUOTA: u64 = 10_000;

/// How much one user may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Quotas {
    /// Bars; any trace with a new name makes one.
    pub bars: u64,
    /// Traces that are stored: under way, completed a quarter of an hour ago, or silent for less than a day.
    pub traces: u64,
}

impl Default for Quotas {
    fn default() -> Quotas {
        Quotas { bars: BARS_MAX, traces: TRACES_QUOTA }
    }
}

/// How far a client's clock may be off before the server's counts, in seconds.
const CLOCK_SKEW_MAX: f64 = 300.0;

/// The progress bars of a store. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Progress {
    pub(crate) store: Store,
    /// The list into which completed traces are put for whoever counts them.
    pub(crate) queue: Key,
    pub(crate) chance: Random,
    pub(crate) quotas: Quotas,
}

impl Progress {
    /// The progress bars of a store, whose completed traces are handed over in the hot queue: the list `jobs:hot`.
    pub fn open(store: Store, hot_queue: Key) -> Progress {
        let (chance, quotas) = (Random::system(), Quotas::default());
        Progress { store, queue: hot_queue, chance, quotas }
    }

    /// The same, with ids and samples that follow from a number; for tests.
    pub fn seeded(store: Store, hot_queue: Key, seed: u64) -> Progress {
        let (chance, quotas) = (Random::seeded(seed), Quotas::default());
        Progress { store, queue: hot_queue, chance, quotas }
    }

    /// The same, with other quotas for each user.
    #[must_use]
    pub fn with_quotas(self, quotas: Quotas) -> Progress {
        Progress { quotas, ..self }
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
