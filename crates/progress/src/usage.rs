//! How many traces a user created this month.

use keyrack_keys::UserSub;
use serde::{Deserialize, Serialize};

use crate::{
    error::Error,
    keys,
    service::Progress,
    trace::{civil_of, month_of},
};

/// How many traces a user created in a month.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Usage {
    /// The traces.
    pub traces: u64,
    /// When the month began in UTC, in unix seconds.
    pub period_start_at: f64,
}

/// How many traces a user created in a month that is over.
#[derive(Debug, Clone, PartialEq)]
pub struct PastUsage {
    /// The traces.
    pub traces: u64,
    /// When the month began in UTC, in unix seconds.
    pub period_start_at: f64,
    /// When it ended.
    pub period_end_at: f64,
}

impl Progress {
    /// How many traces a user has created this month.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn usage(&self, user: &UserSub) -> Result<Usage, Error> {
        let now = self.now();
        let traces = self.traces_in_month(user, now).await?;
        Ok(Usage { traces, period_start_at: month_start(now) })
    }

    /// How many traces a user created in each of so many past months, the latest first. Months without any are left out.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn past_usage(&self, user: &UserSub, months: u32) -> Result<Vec<PastUsage>, Error> {
        let mut past = Vec::new();
        let mut period_end_at = month_start(self.now());
        for _ in 0..months {
            let period_start_at = month_start(period_end_at - 1.0);
            let traces = self.traces_in_month(user, period_start_at).await?;
            if traces > 0 {
                past.push(PastUsage { traces, period_start_at, period_end_at });
            }
            period_end_at = period_start_at;
        }
        Ok(past)
    }

    async fn traces_in_month(&self, user: &UserSub, at: f64) -> Result<u64, Error> {
        let (year, month) = month_of(at)?;
        let mut cmd = redis::cmd("HGET");
        cmd.arg(&*self.store.place(&keys::month_count(&year, &month))).arg(user.as_str());
        let traces: Option<u64> = cmd.query_async(&mut self.store.connection()).await?;
        Ok(traces.unwrap_or(0))
    }
}

/// When the month of a moment began.
fn month_start(at: f64) -> f64 {
    const DAY_SECONDS: f64 = 86_400.0;
    let days = (at / DAY_SECONDS).floor() - f64::from(civil_of(at).day() - 1);
    days * DAY_SECONDS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_month_begins_at_midnight_of_its_first_day() {
        let november = 1_667_260_800.0;
        for (at, start) in [
            (november, november),
            (november + 0.5, november),
            (november + 30.0 * 86_400.0 - 0.001, november),
            (november + 30.0 * 86_400.0, 1_669_852_800.0),
            (0.0, 0.0),
            (1_709_164_800.0, 1_706_745_600.0),
        ] {
            assert_eq!(month_start(at), start, "{at}");
        }
    }
}
