//! The service itself.

use keyrack_store::Store;

use crate::{
    error::Error,
    keys::{self, Repo},
};

/// What is published. Whoever listens cares only that something is.
const MESSAGE: &str = "1";

/// Announcements of updates. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Updates {
    store: Store,
}

impl Updates {
    /// The updates in a store.
    pub fn new(store: Store) -> Updates {
        Updates { store }
    }

    pub(crate) fn store(&self) -> &Store {
        &self.store
    }

    /// Says that a repository has something new. Returns how many heard it, as far as the server that took it knows.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn announce(&self, repo: &Repo) -> Result<u64, Error> {
        Ok(self.store.publish(&keys::updates(repo), MESSAGE).await?)
    }
}
