//! Ending a trace whose run has failed.

use keyrack_keys::{Layout, UserSub};
use keyrack_store::{Script, script};

use super::{STORED_SLACK_SECONDS, TTL_SECONDS, TraceFailure, stored_member};
use crate::{
    bar::bar_name,
    error::Error,
    keys::{self, TraceUid},
    running::member,
    service::Progress,
    text::float,
};

static END: Script = script!("end.lua", "../include/steps.lua");

impl Progress {
    /// Ends a trace whose run has failed; everybody who watches it is told. It is not learned from.
    ///
    /// A trace that failed keeps `done` at `0`, which says whether it is completed.
    ///
    /// # Errors
    /// When the trace is not there or completed, or the store fails.
    pub async fn fail_trace(
        &self,
        user: &UserSub,
        pbar_name: &str,
        trace_uid: &str,
        failure: TraceFailure,
    ) -> Result<(), Error> {
        let (bar, uid) = (bar_name(pbar_name)?, TraceUid::new(trace_uid)?);
        let text = |number: Option<u64>| number.map(|n| n.to_string()).unwrap_or_default();
        let ended: Result<(), _> = END
            .call(&self.store)
            .key("trace", &keys::trace(user, &bar, &uid))
            .key("events", &keys::trace_events(user, &bar, &uid))
            .key("stored", &keys::stored_traces(user))
            .keys("running", &self.running_key())
            .arg("now", float(self.time_of(failure.at)))
            .arg("exit_code", text(failure.exit_code))
            .arg("signal", text(failure.signal))
            .arg("ttl", TTL_SECONDS)
            .arg("member", member(user, &bar, &uid))
            .arg("stored_member", stored_member(&bar, &uid))
            .arg("stored_slack", STORED_SLACK_SECONDS)
            .run()
            .await;
        ended.map_err(|error| refusal(error, trace_uid))?;
        if self.store.layout() == Layout::Cluster {
            self.leave_running(user, &bar, &uid).await;
        }
        Ok(())
    }
}

fn refusal(error: keyrack_store::Error, trace: &str) -> Error {
    let keyrack_store::Error::Refused { word, .. } = &error else { return error.into() };
    match word.as_str() {
        "TRACE_NOT_FOUND" => Error::TraceNotFound { trace: trace.to_owned() },
        "TRACE_COMPLETED" => Error::TraceCompleted { trace: trace.to_owned() },
        _ => error.into(),
    }
}
