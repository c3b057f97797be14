//! Beginning a trace.

use jiff::{Timestamp, tz::TimeZone};
use keyrack_keys::{Key, Layout, UserSub};
use keyrack_store::{Script, script};

use super::{NewTrace, STORED_SLACK_SECONDS, TTL_SECONDS, check_iterations};
use crate::{
    bar::{DEFAULT_STEP, bar_name, check_step_name},
    error::Error,
    keys::{self, BarName, Month, TraceUid, Year},
    running::member,
    service::Progress,
    text::float,
};

static CREATE: Script = script!("create.lua", "../include/steps.lua");
static RAISE_MONTH: Script = script!("raise_month.lua");

/// The longest id that a client can choose.
const UID_CHARS_MAX: usize = 155;

impl Progress {
    /// Begins a trace; watchers are told. A trace with the same uid, under way or completed, is replaced.
    ///
    /// # Errors
    /// When a value makes no sense, the uid is that of a retained trace, or the user has too many traces; nothing has changed then.
    pub async fn create_trace(&self, user: &UserSub, new: &NewTrace) -> Result<(), Error> {
        let start = Start::check(new, self.time_of(new.now))?;
        let traces = match self.begin(user, new, &start, false).await {
            Err(keyrack_store::Error::Refused { word, .. }) if word == "UNCOUNTED" => {
                // Nobody has come to count it yet, and what is replaced cannot be counted any more.
                let counted = self.handle_completed(user, &new.pbar_name, &new.uid, None).await;
                match counted {
                    // A trace for which there is no place will not be counted later either.
                    Ok(_) | Err(Error::TooManyBars { .. }) => {}
                    Err(error) => return Err(error),
                }
                self.begin(user, new, &start, true).await
            }
            begun => begun,
        };
        let traces = traces.map_err(|error| match error {
            keyrack_store::Error::Refused { word, .. } if word == "UID_TAKEN" => {
                Error::UidTaken { trace: new.uid.clone() }
            }
            keyrack_store::Error::Refused { word, detail } if word == "TOO_MANY_TRACES" => {
                let retry_after_s = detail.and_then(|text| text.parse().ok()).unwrap_or(1);
                Error::TooManyTraces { max: self.quotas.traces, retry_after_s }
            }
            error => error.into(),
        })?;
        if self.store.layout() == Layout::Cluster {
            self.raise_month(user, start.year, start.month, traces).await;
            self.enter_running(user, &start.bar, &start.trace_uid).await;
        }
        Ok(())
    }

    /// Begins a trace; returns how many the user has begun in the month.
    async fn begin(
        &self,
        user: &UserSub,
        new: &NewTrace,
        start: &Start,
        force: bool,
    ) -> Result<u64, keyrack_store::Error> {
        let Start { bar, trace_uid, now, year, month } = start;
        let (months, field) = self.months(user, *year, *month);
        CREATE
            .call(&self.store)
            .key("trace", &keys::trace(user, bar, trace_uid))
            .key("events", &keys::trace_events(user, bar, trace_uid))
            .key("samples", &keys::samples(user, bar))
            .key("months", &months)
            .key("stored", &keys::stored_traces(user))
            .keys("running", &self.running_key())
            .arg("now", float(*now))
            .arg("uid", trace_uid.as_str())
            .arg("step_name", &new.step_name)
            .arg("iterations", new.iterations.unwrap_or(0))
            .arg("ttl", TTL_SECONDS)
            .arg("month", field)
            .arg("force", u8::from(force))
            .arg("member", member(user, bar, trace_uid))
            .arg("silent_since", float(now - TTL_SECONDS as f64))
            .arg("stored_member", stored_member(bar, trace_uid))
            .arg("stored_slack", STORED_SLACK_SECONDS)
            .arg("traces_max", self.quotas.traces)
            .arg("reports_every", new.reports_every.map(|s| s.to_string()).unwrap_or_default())
            .run()
            .await
    }

    /// Where a user's traces of a month are counted in the same step, and in which field.
    fn months(&self, user: &UserSub, year: Year, month: Month) -> (Key, String) {
        match self.store.layout() {
            Layout::Documented => (keys::month_count(&year, &month), user.to_string()),
            Layout::Cluster => (keys::months(user), format!("{year}:{month}")),
        }
    }

    /// Tells the list of all users, which lies elsewhere in the cluster. The next trace makes up for a failure.
    async fn raise_month(&self, user: &UserSub, year: Year, month: Month, traces: u64) {
        let raised: Result<u64, _> = RAISE_MONTH
            .call(&self.store)
            .key("month", &keys::month_count(&year, &month))
            .arg("user_sub", user.as_str())
            .arg("traces", traces)
            .run()
            .await;
        if let Err(error) = raised {
            tracing::warn!(user = user.as_str(), %error, "the month's count of traces lags behind");
        }
    }
}

/// What begins, once it is known to make sense.
struct Start {
    bar: BarName,
    trace_uid: TraceUid,
    now: f64,
    year: Year,
    month: Month,
}

impl Start {
    fn check(new: &NewTrace, now: f64) -> Result<Start, Error> {
        let (bar, trace_uid) = (bar_name(&new.pbar_name)?, check_uid(&new.uid)?);
        check_step_name(&new.step_name)?;
        if new.step_name == DEFAULT_STEP {
            return Err(Error::StepReserved);
        }
        check_iterations(new.iterations)?;
        check_reports_every(new.reports_every)?;
        let (year, month) = month_of(now)?;
        Ok(Start { bar, trace_uid, now, year, month })
    }
}

/// How a trace stands among those of its user.
pub(crate) fn stored_member(bar: &BarName, trace_uid: &TraceUid) -> String {
    serde_json::json!([bar.as_str(), trace_uid.as_str()]).to_string()
}

/// The month in which a moment in unix seconds lies.
pub(crate) fn month_of(at: f64) -> Result<(Year, Month), Error> {
    let day = civil_of(at);
    let year = u64::try_from(day.year()).unwrap_or_default();
    Ok((Year::new(year)?, Month::new(u64::from(day.month().unsigned_abs()))?))
}

/// The day in UTC on which a moment in unix seconds lies.
pub(crate) fn civil_of(at: f64) -> jiff::civil::Date {
    let moment = Timestamp::from_second(at.floor() as i64).unwrap_or(Timestamp::MAX);
    moment.to_zoned(TimeZone::UTC).date()
}

fn check_reports_every(every_s: Option<u64>) -> Result<(), Error> {
    match every_s {
        Some(every_s) if !(1..=TTL_SECONDS).contains(&every_s) => {
            let reason = format!("it is {every_s}; use 1 to {TTL_SECONDS} seconds");
            Err(Error::invalid("reports_every", reason))
        }
        _ => Ok(()),
    }
}

fn check_uid(uid: &str) -> Result<TraceUid, Error> {
    let is_plain = uid.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte));
    if uid.is_empty() || uid.len() > UID_CHARS_MAX || !is_plain {
        let reason = format!(
            "it is no id; use 1 to {UID_CHARS_MAX} letters from A to Z, digits, \"-\" and \"_\""
        );
        return Err(Error::invalid("uid", reason));
    }
    Ok(TraceUid::new(uid)?)
}
