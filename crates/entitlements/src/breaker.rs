//! Not asking a source that fails: all processes count its failures in one sorted set and stop together.
//!
//! Closed, everybody asks. Ten failures within 300 seconds open it, and nobody asks until enough of them are older than that.
//! Then it is half open: one request at a time finds out whether the source is back, and the first that succeeds closes it.

use keyrack_store::Script;

use crate::{error::Error, ids, keys, service::Entitlements};

static ADMIT: Script = keyrack_store::script!("breaker/admit.lua");
static FAIL: Script = keyrack_store::script!("breaker/fail.lua");

/// How many failures within [`ERRORS_WINDOW_S`] stop everybody from asking.
pub const ERRORS_MAX: u32 = 10;

/// For how long a failure counts, in seconds.
pub const ERRORS_WINDOW_S: f64 = 300.0;

/// How long after a request that was to find out the next one may follow, in seconds.
const TRIAL_GAP_S: f64 = 10.0;

/// For how long it is remembered that nobody knows whether an outage is over. Nobody asked in all this time.
const TRIAL_TTL_S: u32 = 86_400;

/// Whether the source is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// It is.
    Closed,
    /// It was not to be reached a while ago; now and then one request finds out.
    HalfOpen,
    /// It is not: it failed too often.
    Open,
}

/// Whether one request may be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Admission {
    Granted,
    /// It may, and what comes of it decides for everybody.
    Trial,
    Refused,
}

impl Entitlements {
    /// Whether the source is asked at the moment.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn breaker(&self) -> Result<State, Error> {
        let since = format!("({}", self.now() - ERRORS_WINDOW_S);
        let mut pipeline = redis::pipe();
        let store = self.store();
        pipeline
            .cmd("ZCOUNT")
            .arg(&*store.place(&keys::revenue_cat_errors()))
            .arg(since)
            .arg("+inf");
        pipeline.cmd("EXISTS").arg(&*store.place(&keys::revenue_cat_trial()));
        let (errors, trial): (u32, bool) = pipeline.query_async(&mut store.connection()).await?;
        Ok(match (errors >= ERRORS_MAX, trial) {
            (true, _) => State::Open,
            (false, true) => State::HalfOpen,
            (false, false) => State::Closed,
        })
    }

    /// Whether a request may be sent now.
    pub(crate) async fn admit(&self, now: f64) -> Result<Admission, Error> {
        let call = ADMIT.call(self.store()).key("errors", &keys::revenue_cat_errors());
        let call = call.key("trial", &keys::revenue_cat_trial());
        let call = call.arg("now", now).arg("window", ERRORS_WINDOW_S).arg("max", ERRORS_MAX);
        let call = call.arg("gap", TRIAL_GAP_S).arg("trial_ttl", TRIAL_TTL_S);
        let word: String = call.run().await?;
        Ok(match &*word {
            "granted" => Admission::Granted,
            "trial" => Admission::Trial,
            _ => Admission::Refused,
        })
    }

    /// Counts a failure.
    pub(crate) async fn count_failure(&self, now: f64) -> Result<(), Error> {
        let call = FAIL.call(self.store()).key("errors", &keys::revenue_cat_errors());
        let call = call.key("trial", &keys::revenue_cat_trial());
        let call = call.arg("now", now).arg("id", ids::token()?);
        let call = call.arg("window", ERRORS_WINDOW_S).arg("max", ERRORS_MAX);
        Ok(call.arg("gap", TRIAL_GAP_S).arg("trial_ttl", TRIAL_TTL_S).run().await?)
    }

    /// The source is back: everybody may ask again.
    pub(crate) async fn close_breaker(&self) -> Result<(), Error> {
        let mut cmd = redis::cmd("DEL");
        let store = self.store();
        cmd.arg(&*store.place(&keys::revenue_cat_errors()));
        cmd.arg(&*store.place(&keys::revenue_cat_trial()));
        Ok(cmd.exec_async(&mut store.connection()).await?)
    }
}
