//! The service itself.

use std::sync::Arc;

use keyrack_keys::UserSub;
use keyrack_store::Store;

use crate::{
    error::Error,
    jwt::{Jwt, JwtSettings},
};

/// Users, their tokens, and who sent a request. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Identity {
    store: Store,
    jwt: Option<Arc<Jwt>>,
}

impl Identity {
    /// Identity in a store, by user tokens only.
    pub fn new(store: Store) -> Identity {
        Identity { store, jwt: None }
    }

    /// The same, with tokens that somebody else signed.
    ///
    /// # Errors
    /// When the settings make no sense.
    pub fn with_jwt(store: Store, settings: JwtSettings) -> Result<Identity, Error> {
        let jwt = Jwt::new(store.clone(), settings)?;
        Ok(Identity { store, jwt: Some(Arc::new(jwt)) })
    }

    /// Signs somebody in without asking who they are: a token for an hour. `None` unless in development, where one secret
    /// stands for the identity provider.
    ///
    /// # Errors
    /// When the token cannot be signed.
    pub fn dev_login(&self, sub: &UserSub) -> Result<Option<String>, Error> {
        /// As long as the tokens of the original last.
        const LIFE_S: f64 = 3600.0;
        self.jwt().map_or(Ok(None), |jwt| jwt.sign(sub, self.now() + LIFE_S))
    }

    /// Whether one secret stands for the identity provider.
    pub fn is_in_development(&self) -> bool {
        self.jwt().is_some_and(Jwt::is_in_development)
    }

    pub(crate) fn store(&self) -> &Store {
        &self.store
    }

    pub(crate) fn jwt(&self) -> Option<&Jwt> {
        self.jwt.as_deref()
    }

    /// The time, in unix seconds.
    pub(crate) fn now(&self) -> f64 {
        self.store.now_ms() as f64 / 1000.0
    }
}
