//! The service itself.

use keyrack_store::Store;

use crate::session::SESSIONS_QUOTA;

/// Journeys, those who are on them, and what they do. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Journeys {
    store: Store,
    /// How many sessions a user may have.
    pub(crate) sessions_max: u64,
}

impl Journeys {
    /// The journeys in a store.
    pub fn new(store: Store) -> Journeys {
        Journeys { store, sessions_max: SESSIONS_QUOTA }
    }

    /// The same, with another quota of sessions for each user.
    #[must_use]
    pub fn with_sessions_quota(self, sessions_max: u64) -> Journeys {
        Journeys { sessions_max, ..self }
    }

    pub(crate) fn store(&self) -> &Store {
        &self.store
    }

    /// The time in unix seconds.
    pub fn now(&self) -> f64 {
        self.store.now_ms() as f64 / 1000.0
    }
}
