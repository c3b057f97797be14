//! The handle to the entitlements of a store.

use std::{sync::Arc, time::Duration};

use keyrack_store::Store;
use tokio::task::AbortHandle;

use crate::{
    counters::{Counters, Counts},
    error::Error,
    lookup::{Local, Outcome, SharedRequests},
    purge,
    source::{RevenueCat, Source},
};

/// How entitlements are looked up.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The entitlements that there are; nobody asks about others.
    pub identifiers: Vec<String>,
    /// How many users this process remembers. Each costs about half a kilobyte.
    pub local_users_max: u64,
    /// How long the source may take, the look at the store included.
    pub source_time_max: Duration,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            identifiers: vec!["pro".into()],
            local_users_max: 100_000,
            source_time_max: RevenueCat::TIME_MAX,
        }
    }
}

/// The entitlements of users. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Entitlements {
    pub(crate) inner: Arc<Inner>,
}

#[derive(Debug)]
pub(crate) struct Inner {
    store: Store,
    pub(crate) settings: Settings,
    pub(crate) source: Arc<dyn Source>,
    pub(crate) local: Arc<Local>,
    pub(crate) flights: Arc<SharedRequests<Result<Outcome, Error>>>,
    pub(crate) counters: Arc<Counters>,
    listener: AbortHandle,
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.listener.abort();
    }
}

impl Entitlements {
    /// The entitlements in a store, as a source knows them. Has to be called within a tokio runtime, in which it listens to
    /// what other processes find out.
    ///
    /// # Errors
    /// When the settings make no sense.
    pub fn open(
        store: Store,
        source: Arc<dyn Source>,
        settings: Settings,
    ) -> Result<Entitlements, Error> {
        check(&settings)?;
        let local = Arc::new(Local::new(settings.local_users_max));
        let counters = Arc::new(Counters::default());
        let listening = purge::listen(store.clone(), local.clone(), counters.clone());
        let listener = tokio::spawn(listening).abort_handle();
        let flights = Arc::default();
        let inner = Inner { store, settings, source, local, flights, counters, listener };
        Ok(Entitlements { inner: Arc::new(inner) })
    }

    /// The store.
    pub fn store(&self) -> &Store {
        &self.inner.store
    }

    /// How often what happened in this process.
    pub fn counts(&self) -> Counts {
        self.inner.counters.counts()
    }

    /// The entitlements that there are.
    pub fn identifiers(&self) -> &[String] {
        &self.inner.settings.identifiers
    }

    /// Resolves once this process hears of purges. Until then nothing is answered from its memory.
    pub async fn ready(&self) {
        self.inner.local.listening().await;
    }

    /// The time, in unix seconds.
    pub(crate) fn now(&self) -> f64 {
        self.store().now_ms() as f64 / 1000.0
    }

    /// Refuses an entitlement that there is not.
    ///
    /// # Errors
    /// [`Error::UnknownEntitlement`].
    pub fn check_identifier(&self, identifier: &str) -> Result<(), Error> {
        let known = self.identifiers();
        if known.iter().any(|known| known == identifier) {
            return Ok(());
        }
        let identifier = identifier.chars().take(100).collect();
        Err(Error::UnknownEntitlement { identifier, known: known.to_vec() })
    }
}

fn check(settings: &Settings) -> Result<(), Error> {
    let wrong = |reason: &str| Err(Error::Settings { reason: reason.into() });
    if settings.identifiers.is_empty() || settings.identifiers.len() > 100 {
        return wrong("name 1 to 100 entitlements");
    }
    if settings.identifiers.iter().any(|name| name.is_empty() || name.len() > 256) {
        return wrong("the name of an entitlement has 1 to 256 bytes");
    }
    if settings.source_time_max.is_zero() {
        return wrong("the source needs some time to answer");
    }
    Ok(())
}
