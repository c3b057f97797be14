//! The handle to everything in a store.

use std::{sync::Arc, time::SystemTime};

use keyrack_engine::SimulatedHost;
use keyrack_store::{Options, Store, StoreUrl};

use crate::{Result, testing::TestTime};

/// A store and its services. Cheap to clone; all clones are the same.
#[derive(Debug, Clone)]
pub struct Keyrack {
    store: Store,
    #[cfg(feature = "jobs")]
    hive: keyrack_jobs::bee::Hive,
}

impl Keyrack {
    /// Opens the store of a URL, such as `embedded:memory`, `embedded:FOLDER`, `redis://HOST:6379`,
    /// `redis+sentinel://…` or `redis+cluster://…`.
    ///
    /// # Errors
    /// One clear reason: a bad URL, nothing at the address, a refused password, a server that is too old or read-only, a
    /// folder that is damaged or in use.
    pub async fn open(url: &str) -> Result<Keyrack> {
        Keyrack::on(Store::open(url).await?).await
    }

    /// Opens a store with options, such as a file with its password.
    ///
    /// # Errors
    /// As [`Keyrack::open`].
    pub async fn open_with(url: StoreUrl, options: Options) -> Result<Keyrack> {
        Keyrack::on(Store::open_with(url, options).await?).await
    }

    /// The services of a store that is open already.
    ///
    /// # Errors
    /// When the store cannot be reached.
    #[cfg_attr(
        not(feature = "jobs"),
        expect(clippy::unused_async, reason = "jobs ask for the time")
    )]
    pub async fn on(store: Store) -> Result<Keyrack> {
        Ok(Keyrack {
            #[cfg(feature = "jobs")]
            hive: keyrack_jobs::bee::Hive::open(store.clone()).await?,
            store,
        })
    }

    /// A store in memory whose clock stands at `now` until the test moves it.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> keyrack::Result<()> {
    /// use keyrack::{Keyrack, Timestamp, mins};
    ///
    /// let noon: Timestamp = "2026-03-01T12:00:00Z".parse().expect("a time");
    /// let (rack, time) = Keyrack::in_memory_at(noon).await?;
    /// time.advance(mins(1)).await;
    /// assert_eq!(rack.store().now_ms(), noon.as_millisecond() as u64 + 60_000);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// Never so far: an engine in memory always opens.
    pub async fn in_memory_at(now: impl Into<SystemTime>) -> Result<(Keyrack, TestTime)> {
        let clock = SimulatedHost::new(unix_ms(now.into()), 0);
        let options = Options {
            clock: Some(Arc::new(clock.clone())),
            host: Some(Box::new(clock.clone())),
            ..Options::default()
        };
        let url: StoreUrl = "embedded:memory".parse().map_err(keyrack_store::Error::from)?;
        let rack = Keyrack::open_with(url, options).await?;
        Ok((rack.clone(), TestTime::new(rack, clock)))
    }

    /// The store.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// Job queues, with typed tasks.
    #[cfg(feature = "jobs")]
    pub fn jobs(&self) -> crate::jobs::Jobs {
        crate::jobs::Jobs::new(self.hive.clone())
    }

    #[cfg(feature = "jobs")]
    pub(crate) fn hive(&self) -> &keyrack_jobs::bee::Hive {
        &self.hive
    }

    /// Rate limits.
    #[cfg(feature = "limits")]
    pub fn limits(&self) -> crate::limits::Limits {
        crate::limits::Limits::new(self.store.clone())
    }

    /// The progress bars of a user.
    ///
    /// # Errors
    /// When the name cannot stand in a key.
    #[cfg(feature = "progress")]
    pub fn progress<U>(&self, user: U) -> Result<crate::Progress>
    where
        U: TryInto<crate::UserSub, Error: Into<crate::Error>>,
    {
        let user = user.try_into().map_err(Into::into)?;
        Ok(crate::Progress::new(self.store.clone(), user))
    }

    /// The rollups of a project of an account.
    ///
    /// # Errors
    /// When a name cannot stand in a key, or when the store fails.
    #[cfg(feature = "calculations")]
    pub async fn rollups(&self, account: &str, project: &str) -> Result<crate::rollups::Rollups> {
        crate::rollups::Rollups::open(&self.calculations(), account, project).await
    }

    /// All accounts with rollups over event values, and everything that the service can do.
    #[cfg(feature = "calculations")]
    pub fn calculations(&self) -> keyrack_calculations::Accounts {
        keyrack_calculations::Accounts::open(self.store.clone())
    }

    /// What users have paid for, as a source such as RevenueCat says.
    ///
    /// # Errors
    /// When the settings contradict each other.
    #[cfg(feature = "entitlements")]
    pub fn entitlements(
        &self,
        source: Arc<dyn keyrack_entitlements::Source>,
        settings: keyrack_entitlements::Settings,
    ) -> Result<keyrack_entitlements::Entitlements> {
        Ok(keyrack_entitlements::Entitlements::open(self.store.clone(), source, settings)?)
    }

    /// Files that are deleted unless somebody keeps them.
    #[cfg(feature = "files")]
    pub fn files(&self) -> keyrack_files::Files {
        keyrack_files::Files::new(self.store.clone())
    }

    /// Live shared sessions.
    #[cfg(feature = "journeys")]
    pub fn journeys(&self) -> keyrack_journeys::Journeys {
        keyrack_journeys::Journeys::new(self.store.clone())
    }

    /// What to show to whom.
    #[cfg(feature = "recommender")]
    pub fn recommender(
        &self,
        settings: keyrack_recommender::Settings,
    ) -> keyrack_recommender::Recommender {
        keyrack_recommender::Recommender::new(self.store.clone(), settings)
    }
}

/// Unix milliseconds; 0 for what was before.
pub(crate) fn unix_ms(time: SystemTime) -> u64 {
    let since = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
