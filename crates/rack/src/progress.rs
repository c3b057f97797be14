//! The progress bars of a user.

use keyrack_jobs::hot;
use keyrack_keys::UserSub;
use keyrack_progress::{Eta, client::Client};
use keyrack_store::Store;

use crate::Result;

/// The progress bars of one user. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Progress {
    service: keyrack_progress::Progress,
    user: UserSub,
}

impl Progress {
    pub(crate) fn new(store: Store, user: UserSub) -> Progress {
        Progress { service: keyrack_progress::Progress::open(store, hot::keys::hot()), user }
    }

    /// A client that reports runs: it wraps iterators and streams, or is told of each step.
    ///
    /// # Panics
    /// Outside of a tokio runtime.
    pub fn client(&self) -> Client {
        Client::direct(self.service.clone(), self.user.clone())
    }

    /// How long the next run of a bar will take, by what earlier ones took.
    ///
    /// # Errors
    /// When there is no such bar, or when the store fails.
    pub async fn eta(&self, bar: &str) -> Result<Eta> {
        Ok(self.service.eta(&self.user, bar).await?)
    }

    /// The user.
    pub fn user(&self) -> &UserSub {
        &self.user
    }

    /// The service for all users, with everything that it can do.
    pub fn service(&self) -> &keyrack_progress::Progress {
        &self.service
    }
}
