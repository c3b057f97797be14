//! The service itself.

use std::{sync::Arc, time::Duration};

use keyrack_store::Store;

use crate::{
    address::AllowedPrivate,
    error::Error,
    keys::{self, DeliveryId, HookId, Lane},
    send::Sender,
};

/// How long a receiver has for its answer.
const TIMEOUT: Duration = Duration::from_secs(10);

/// How webhooks are delivered.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Private addresses that may be called.
    pub allow_private: AllowedPrivate,
    /// How long a receiver has for its answer. It has to be shorter than the lease of 30 s.
    pub timeout: Duration,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings { allow_private: AllowedPrivate::default(), timeout: TIMEOUT }
    }
}

/// Webhooks. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Webhooks {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    store: Store,
    settings: Settings,
    sender: std::sync::OnceLock<Sender>,
}

impl Webhooks {
    /// The webhooks in a store.
    pub fn new(store: Store, settings: Settings) -> Webhooks {
        let sender = std::sync::OnceLock::new();
        Webhooks { inner: Arc::new(Inner { store, settings, sender }) }
    }

    /// Where they are stored.
    pub fn store(&self) -> &Store {
        &self.inner.store
    }

    pub(crate) fn settings(&self) -> &Settings {
        &self.inner.settings
    }

    /// What calls receivers. It is made when there is something to send: most processes never do.
    pub(crate) fn sender(&self) -> Result<&Sender, Error> {
        if let Some(sender) = self.inner.sender.get() {
            return Ok(sender);
        }
        let sender = Sender::new(self.settings())?;
        Ok(self.inner.sender.get_or_init(|| sender))
    }

    /// What stands before the ids of deliveries in keys of scripts.
    pub(crate) fn delivery_prefix(&self, hook: &HookId) -> String {
        let any = DeliveryId::new("x").expect("a good name");
        self.prefix(&keys::delivery(hook, &any))
    }

    /// What stands before lanes in keys of scripts.
    pub(crate) fn lane_prefix(&self, hook: &HookId) -> String {
        let any = Lane::new("x").expect("a good name");
        self.prefix(&keys::lane(hook, &any))
    }

    /// Ids of deliveries and lanes are never coded, so their keys begin as that of the one-letter
    /// name.
    fn prefix(&self, key: &keyrack_keys::Key) -> String {
        let placed = self.store().place(key);
        placed.strip_suffix('x').unwrap_or(&placed).to_owned()
    }
}
