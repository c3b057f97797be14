//! A limit for anything: so much in a window, or a steady rate with bursts.

use std::time::Duration;

use keyrack_keys::{Layout, UserSub};
use keyrack_store::{Script, Store};
use serde::Serialize;

use crate::{
    error::Error,
    keys::{self, LimitName, LimitSubject},
};

static TAKE: Script = keyrack_store::script!("limiter/take.lua");
static HOLD: Script = keyrack_store::script!("limiter/hold.lua");

/// How many limits a user may keep at a time, unless set otherwise. All of them take about 30 MB.
pub const LIMITS_QUOTA: u64 = 100_000;

/// How often a limit is counted anew because another process changed it in between.
const COUNTED_TIMES_MAX: usize = 3;

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
pub struct RateLimitDecision {
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
    quota: Option<Quota>,
}

/// How many limits there may be at a time, and whose.
#[derive(Debug, Clone)]
struct Quota {
    user: UserSub,
    limits_max: u64,
}

impl Limiter {
    /// The limits in a store.
    pub fn new(store: Store) -> Limiter {
        Limiter { store, quota: None }
    }

    /// The same for limits of one user, who may have so many at a time. Their names have to be that user's alone.
    #[must_use]
    pub fn of_user(self, user: &UserSub, limits_max: u64) -> Limiter {
        Limiter { quota: Some(Quota { user: user.clone(), limits_max }), ..self }
    }

    /// Takes from what a subject may do, if there is enough left. Taking nothing tells how things are.
    ///
    /// # Errors
    /// When the limit makes no sense, when the user has too many others, or when the store fails.
    pub async fn take(
        &self,
        name: &LimitName,
        subject: &LimitSubject,
        limit: Limit,
        amount: u64,
    ) -> Result<RateLimitDecision, Error> {
        let (kind, max, period, burst) = match limit {
            Limit::Window { max, period } => ("window", max, period, max),
            Limit::Steady { max, period, burst } => ("steady", max, period, burst),
        };
        check(max, period, burst, amount)?;
        let now_ms = self.store.now_ms();
        let member = serde_json::json!([name.as_str(), subject.as_str()]).to_string();
        let held = self.quota.as_ref().map(|quota| keys::limits_held(&quota.user));
        let held = held.filter(|_| self.store.layout() == Layout::Documented);
        let mut granted_until = "0".to_owned();
        for _ in 0..COUNTED_TIMES_MAX {
            let call = TAKE.call(&self.store).key("limit", &keys::limit(name, subject));
            let call = call.keys("held", &held).arg("kind", kind).arg("now_ms", now_ms);
            let call = call.arg("max", max).arg("period_ms", period.as_millis().to_string());
            let call = call.arg("burst", burst).arg("amount", amount);
            let call = call.arg("quota", self.quota.as_ref().map_or(0, |quota| quota.limits_max));
            let call = call.arg("member", &member).arg("granted_until", &granted_until);
            let taken: Result<(bool, u64, i64, u64), _> = call.run().await;
            match (taken, &self.quota) {
                (Ok((allowed, remaining, retry_ms, reset_ms)), _) => {
                    return Ok(RateLimitDecision {
                        allowed,
                        remaining,
                        retry_after: u64::try_from(retry_ms).ok().map(Duration::from_millis),
                        reset_after: Duration::from_millis(reset_ms),
                    });
                }
                (Err(keyrack_store::Error::Refused { word, detail }), Some(quota))
                    if word == "UNCOUNTED" =>
                {
                    granted_until = detail.unwrap_or_default();
                    self.hold(quota, now_ms, &member, &granted_until).await?;
                }
                (Err(error), _) => return Err(self.refusal(error)),
            }
        }
        Err(Error::Limited { retry_after: Duration::from_secs(1) })
    }

    /// Counts a limit among those of its user, which lie in another slot than the limit.
    async fn hold(
        &self,
        quota: &Quota,
        now_ms: u64,
        member: &str,
        until_ms: &str,
    ) -> Result<(), Error> {
        let call = HOLD.call(&self.store).key("held", &keys::limits_held(&quota.user));
        let call = call.arg("now_ms", now_ms).arg("member", member).arg("until_ms", until_ms);
        let held: Result<(), _> = call.arg("quota", quota.limits_max).run().await;
        held.map_err(|error| self.refusal(error))
    }

    fn refusal(&self, error: keyrack_store::Error) -> Error {
        match (error, &self.quota) {
            (keyrack_store::Error::Refused { word, detail }, Some(quota))
                if word == "TOO_MANY_LIMITS" =>
            {
                let ms = detail.and_then(|text| text.parse().ok()).unwrap_or(1);
                Error::TooManyLimits {
                    max: quota.limits_max,
                    retry_after: Duration::from_millis(ms),
                }
            }
            (error, _) => error.into(),
        }
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
