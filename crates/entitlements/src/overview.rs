//! What those look at who look after the whole. Nobody is asked here, nothing changes, and every read is bounded.

use std::collections::{BTreeMap, HashMap};

use keyrack_keys::UserSub;

use crate::{
    breaker::{ERRORS_MAX, ERRORS_WINDOW_S, State},
    entitlement::Entitlement,
    error::Error,
    keys::{self, CheckoutUid},
    service::Entitlements,
};

/// Failures of the source that are told one by one; far more than it takes to stop asking.
const FAILURES_TOLD_MAX: usize = 500;

/// Whether the source is asked, and why.
#[derive(Debug, Clone, PartialEq)]
pub struct BreakerReport {
    /// Whether it is.
    pub state: State,
    /// When it failed within the last [`ERRORS_WINDOW_S`] seconds, oldest first, in unix seconds.
    pub failures: Vec<f64>,
    /// When a request may find out whether it is back; none unless it failed too often.
    pub next_trial_at: Option<f64>,
}

impl BreakerReport {
    /// When it stops being open unless there are more failures.
    pub fn open_until(&self) -> Option<f64> {
        let at = self.failures.len().checked_sub(ERRORS_MAX as usize)?;
        Some(self.failures[at] + ERRORS_WINDOW_S)
    }
}

/// What is known about a user, and where.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct UserOverview {
    /// What this process remembers and would answer with.
    pub remembered: BTreeMap<String, Entitlement>,
    /// What the store holds.
    pub stored: BTreeMap<String, Entitlement>,
    /// For how long it will, in milliseconds.
    pub stored_for_ms: u64,
}

/// A checkout that was started and not seen to end. Times are unix seconds.
#[derive(Debug, Clone, PartialEq)]
pub struct OpenCheckout {
    /// Its uid.
    pub uid: String,
    /// Who wants to buy.
    pub user_sub: String,
    /// When it was started.
    pub created_at: f64,
    /// When Stripe is to be asked next.
    pub due_at: f64,
    /// When Stripe gives it up.
    pub expires_at: f64,
}

impl Entitlements {
    /// Whether the source is asked, with the failures that say so.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn breaker_report(&self) -> Result<BreakerReport, Error> {
        let state = self.breaker().await?;
        let store = self.store();
        let mut pipeline = redis::pipe();
        let since = format!("({}", self.now() - ERRORS_WINDOW_S);
        pipeline.cmd("ZREVRANGEBYSCORE").arg(&*store.place(&keys::revenue_cat_errors()));
        pipeline.arg("+inf").arg(since).arg("WITHSCORES");
        pipeline.arg("LIMIT").arg(0).arg(FAILURES_TOLD_MAX);
        pipeline.cmd("GET").arg(&*store.place(&keys::revenue_cat_trial()));
        let (failures, trial): (Vec<(String, f64)>, Option<f64>) =
            pipeline.query_async(&mut store.connection()).await?;
        let failures = failures.into_iter().rev().map(|(_, at)| at).collect();
        Ok(BreakerReport { state, failures, next_trial_at: trial })
    }

    /// What is known about a user. Unlike a lookup this counts as none.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn known(&self, user: &UserSub) -> Result<UserOverview, Error> {
        let (stored, stored_for_ms) = self.stored_values_for(user).await?;
        let now_ms = self.store().now_ms();
        let names = self.identifiers().iter().chain(stored.keys());
        let remembered = names
            .filter_map(|name| Some((name.clone(), self.inner.local.get(user, name, now_ms)?)));
        Ok(UserOverview { remembered: remembered.collect(), stored, stored_for_ms })
    }

    /// How many checkouts are open, and so many of them, those first that are looked at next.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn open_checkouts(&self, max: usize) -> Result<(u64, Vec<OpenCheckout>), Error> {
        let store = self.store();
        let due = keys::checkouts_due();
        let mut pipeline = redis::pipe();
        pipeline.cmd("ZCARD").arg(&*store.place(&due));
        pipeline.cmd("ZRANGE").arg(&*store.place(&due)).arg(0).arg(max.max(1) - 1);
        let (count, uids): (u64, Vec<String>) =
            pipeline.query_async(&mut store.connection()).await?;
        Ok((count, self.checkouts_named(uids).await?))
    }

    /// The open checkouts of a user, the newest first.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn checkouts_of(&self, user: &UserSub) -> Result<Vec<OpenCheckout>, Error> {
        let mut cmd = redis::cmd("ZREVRANGE");
        cmd.arg(&*self.store().place(&keys::checkouts(user))).arg(0).arg(-1);
        let uids = cmd.query_async(&mut self.store().connection()).await?;
        self.checkouts_named(uids).await
    }

    async fn checkouts_named(&self, uids: Vec<String>) -> Result<Vec<OpenCheckout>, Error> {
        type Row = (HashMap<String, String>, Option<f64>);
        let uids: Vec<CheckoutUid> =
            uids.into_iter().filter_map(|uid| CheckoutUid::new(uid).ok()).collect();
        if uids.is_empty() {
            return Ok(Vec::new());
        }
        let store = self.store();
        let mut pipeline = redis::pipe();
        for uid in &uids {
            pipeline.cmd("HGETALL").arg(&*store.place(&keys::checkout_session(uid)));
            pipeline.cmd("ZSCORE").arg(&*store.place(&keys::checkouts_due())).arg(uid.as_str());
        }
        let replies: Vec<redis::Value> = pipeline.query_async(&mut store.connection()).await?;
        let rows = uids.iter().zip(replies.chunks(2)).filter_map(|(uid, row)| {
            let row: Row = redis::from_redis_value(redis::Value::Array(row.to_vec())).ok()?;
            OpenCheckout::read(uid, &row.0, row.1?)
        });
        Ok(rows.collect())
    }
}

impl OpenCheckout {
    /// None for one that has just ended.
    fn read(uid: &CheckoutUid, row: &HashMap<String, String>, due_at: f64) -> Option<OpenCheckout> {
        let time = |name: &str| row.get(name)?.parse().ok();
        Some(OpenCheckout {
            uid: uid.to_string(),
            user_sub: row.get("user_sub")?.clone(),
            created_at: time("created_at")?,
            due_at,
            expires_at: time("expires_at")?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn open_until_enough_failures_are_old() {
        let report = |n: u32| BreakerReport {
            state: State::Open,
            failures: (0..n).map(|n| 100.0 + f64::from(n)).collect(),
            next_trial_at: None,
        };
        assert_eq!(report(9).open_until(), None);
        assert_eq!(report(10).open_until(), Some(400.0));
        assert_eq!(report(12).open_until(), Some(402.0));
    }
}
