//! Rate limits. The only place that names the types of `keyrack_entitlements`.

use std::borrow::Cow;

use keyrack_entitlements::{
    Limit, Limiter,
    keys::{LimitName, LimitSubject},
};
use keyrack_store::Store;
use serde::{Deserialize, Serialize};

use crate::{
    error::Failure,
    parts::{milliseconds, to_json},
};

/// Takes so much of a limit: `max` in each period, or evenly with a burst. Times are in milliseconds.
#[derive(Deserialize)]
pub(crate) struct Take<'a> {
    name: Cow<'a, str>,
    subject: Cow<'a, str>,
    max: u64,
    period: f64,
    burst: Option<u64>,
    amount: u64,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Verdict {
    allowed: bool,
    remaining: u64,
    /// Null for never.
    retry_after: Option<f64>,
    reset_after: f64,
}

impl Take<'_> {
    pub(crate) async fn run(self, store: &Store) -> Result<String, Failure> {
        let name = LimitName::new(self.name.as_ref())?;
        let subject = LimitSubject::new(self.subject.as_ref())?;
        let (max, period) = (self.max, milliseconds(self.period));
        let limit = match self.burst {
            Some(burst) => Limit::Steady { max, period, burst },
            None => Limit::Window { max, period },
        };
        let limiter = Limiter::new(store.clone());
        let verdict = limiter.take(&name, &subject, limit, self.amount).await?;
        Ok(to_json(&Verdict {
            allowed: verdict.allowed,
            remaining: verdict.remaining,
            retry_after: verdict.retry_after.map(|time| time.as_secs_f64() * 1000.0),
            reset_after: verdict.reset_after.as_secs_f64() * 1000.0,
        }))
    }
}
