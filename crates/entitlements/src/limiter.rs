//! A limit for anything: so much in a window, or a steady rate with bursts.

use std::time::Duration;

use keyrack_store::{Script, Store};
use serde::Serialize;

use crate::{
    error::Error,
    keys::{self, LimitName, LimitSubject},
};

static TAKE: Script = keyrack_store::script!("limiter/take.lua");

/// The longest period of a limit.
const PERIOD_MAX: Duration = Duration::from_secs(366 * 86_400);

/// Numbers above this lose precision in scripts.
const AMOUNT_MAX: u64 = 1 << 40;

/// How much is allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limit {
    /// So much in each window. A window begins with the first that is taken after the last one ended; refusals do not
    /// extend it.
    Window {
        /// How much may be taken in a window.
        max: u64,
        /// How long a window lasts.
        period: Duration,
    },
    /// So much per period, evenly: what was taken comes back little by little.
    Steady {
        /// How much comes back in a period.
        max: u64,
        /// The period.
        period: Duration,
        /// How much may be taken at once by somebody who took nothing for long.
        burst: u64,
    },
}

/// Whether something may be done, and what is left.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Verdict {
    /// Whether it may be done. If not, nothing was taken.
    pub allowed: bool,
    /// How much more may be taken at once.
    pub remaining: u64,
    /// When the same would be allowed; zero if it is, `None` if it never will because it is more than the limit.
    pub retry_after: Option<Duration>,
    /// When everything may be taken again.
    pub reset_after: Duration,
}

/// Limits on any names, kept in a store so that all processes share them. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Limiter {
    store: Store,
}

impl Limiter {
    /// The limits in a store.
    pub fn new(store: Store) -> Limiter {
        Limiter { store }
    }

    /// Takes from what a subject may do, if there is enough left. Taking nothing tells how things are.
    ///
    /// # Errors
    /// When the limit makes no sense, or when the store fails.
    pub async fn take(
        &self,
        name: &LimitName,
        subject: &LimitSubject,
        limit: Limit,
        amount: u64,
    ) -> Result<Verdict, Error> {
        let (kind, max, period, burst) = match limit {
            Limit::Window { max, period } => ("window", max, period, max),
            Limit::Steady { max, period, burst } => ("steady", max, period, burst),
        };
        check(max, period, burst, amount)?;
        let call = TAKE.call(&self.store).key("limit", &keys::limit(name, subject));
        let call = call.arg("kind", kind).arg("now_ms", self.store.now_ms()).arg("max", max);
        let call = call.arg("period_ms", period.as_millis().to_string()).arg("burst", burst);
        let (allowed, remaining, retry_ms, reset_ms): (bool, u64, i64, u64) =
            call.arg("amount", amount).run().await?;
        Ok(Verdict {
            allowed,
            remaining,
            retry_after: u64::try_from(retry_ms).ok().map(Duration::from_millis),
            reset_after: Duration::from_millis(reset_ms),
        })
    }
}

fn check(max: u64, period: Duration, burst: u64, amount: u64) -> Result<(), Error> {
    let wrong = |field, reason: String| Err(Error::Invalid { field, reason });
    if !(1..=AMOUNT_MAX).contains(&max) {
        return wrong("max", format!("{max}; give a number from 1 to {AMOUNT_MAX}"));
    }
    if !(1..=AMOUNT_MAX).contains(&burst) {
        return wrong("burst", format!("{burst}; give a number from 1 to {AMOUNT_MAX}"));
    }
    if period < Duration::from_millis(1) || period > PERIOD_MAX {
        return wrong("period", "give a time between a millisecond and a year".into());
    }
    if amount > AMOUNT_MAX {
        return wrong("amount", format!("{amount}; give a number up to {AMOUNT_MAX}"));
    }
    Ok(())
}
