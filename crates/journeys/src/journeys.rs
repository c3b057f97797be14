//! The service itself.

use keyrack_store::Store;

/// Journeys, those who are on them, and what they do. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Journeys {
    store: Store,
}

impl Journeys {
    /// The journeys in a store.
    pub fn new(store: Store) -> Journeys {
        Journeys { store }
    }

    pub(crate) fn store(&self) -> &Store {
        &self.store
    }

    /// The time in unix seconds.
    pub fn now(&self) -> f64 {
        self.store.now_ms() as f64 / 1000.0
    }
}
