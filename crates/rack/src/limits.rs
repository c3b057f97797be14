//! Rate limits that all processes on one store share.

#[cfg(feature = "axum")]
mod layer;

use std::time::Duration;

pub use keyrack_entitlements::{
    Limit, Limiter, RateLimitDecision,
    keys::{LimitName, LimitSubject},
};
use keyrack_store::Store;

#[cfg(feature = "axum")]
pub use self::layer::{RateLimitLayer, RateLimited};
use crate::{Error, Result};

/// The rate limits of a store. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Limits {
    limiter: Limiter,
}

impl Limits {
    pub(crate) fn new(store: Store) -> Limits {
        Limits { limiter: Limiter::new(store) }
    }

    /// So much in each window, which begins with the first that is taken.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> keyrack::Result<()> {
    /// use keyrack::prelude::*;
    ///
    /// let rack = Keyrack::open("embedded:memory").await?;
    /// let search = rack.limits().window("search", 2, secs(10))?;
    /// assert!(search.take("10.0.0.1").await?.allowed);
    /// assert_eq!(search.take("10.0.0.1").await?.remaining, 0);
    /// assert!(!search.take("10.0.0.1").await?.allowed);
    /// assert!(search.take("10.0.0.2").await?.allowed);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// When the name cannot stand in a key.
    pub fn window<N>(&self, name: N, max: u64, period: Duration) -> Result<RateLimit>
    where
        N: TryInto<LimitName, Error: Into<Error>>,
    {
        self.limit(name, Limit::Window { max, period })
    }

    /// So much per period, evenly, and at most `burst` at once.
    ///
    /// # Errors
    /// When the name cannot stand in a key.
    pub fn steady<N>(&self, name: N, max: u64, period: Duration, burst: u64) -> Result<RateLimit>
    where
        N: TryInto<LimitName, Error: Into<Error>>,
    {
        self.limit(name, Limit::Steady { max, period, burst })
    }

    /// Any limit under a name.
    ///
    /// # Errors
    /// When the name cannot stand in a key.
    pub fn limit<N>(&self, name: N, limit: Limit) -> Result<RateLimit>
    where
        N: TryInto<LimitName, Error: Into<Error>>,
    {
        let name = name.try_into().map_err(Into::into)?;
        Ok(RateLimit { limiter: self.limiter.clone(), name, limit })
    }
}

/// A limit with its name. Each subject has its own share: a user, an address, a key of an API. Cheap to clone.
#[derive(Debug, Clone)]
pub struct RateLimit {
    limiter: Limiter,
    name: LimitName,
    limit: Limit,
}

impl RateLimit {
    /// Takes one of what a subject may do, if any is left.
    ///
    /// # Errors
    /// When the limit makes no sense, or when the store fails. A reached limit is no error.
    pub async fn take<N>(&self, subject: N) -> Result<RateLimitDecision>
    where
        N: TryInto<LimitSubject, Error: Into<Error>>,
    {
        self.take_many(subject, 1).await
    }

    /// Takes so many at once, or none. Taking 0 tells how things are.
    ///
    /// # Errors
    /// As [`RateLimit::take`].
    pub async fn take_many<N>(&self, subject: N, amount: u64) -> Result<RateLimitDecision>
    where
        N: TryInto<LimitSubject, Error: Into<Error>>,
    {
        let subject = subject.try_into().map_err(Into::into)?;
        Ok(self.limiter.take(&self.name, &subject, self.limit, amount).await?)
    }

    /// Takes one, and fails if none is left.
    ///
    /// # Errors
    /// [`Error::Limited`], or as [`RateLimit::take`].
    pub async fn check<N>(&self, subject: N) -> Result<()>
    where
        N: TryInto<LimitSubject, Error: Into<Error>>,
    {
        let decision = self.take(subject).await?;
        if decision.allowed {
            return Ok(());
        }
        let retry_after = decision.retry_after.unwrap_or(decision.reset_after);
        Err(Error::Limited { name: self.name.to_string(), retry_after })
    }
}
