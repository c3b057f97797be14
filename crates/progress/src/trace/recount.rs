//! Correcting a step's number of iterations, for programs that only find out on the way.
//!
//! Clients cannot do this over HTTP: there a number that changes is taken for a mistake.

use keyrack_keys::UserSub;
use keyrack_store::{Script, script};

use super::{TTL_SECONDS, check_iterations};
use crate::{
    bar::bar_name,
    error::Error,
    keys::{self, TraceUid},
    service::Progress,
};

static RECOUNT: Script = script!("recount.lua", "../include/steps.lua");

impl Progress {
    /// Corrects how many iterations the current step of a trace has; `None` makes it a one-off step. Watchers are told.
    ///
    /// # Errors
    /// When a value makes no sense, the trace is not there or completed, or is in another step; nothing has changed then.
    pub async fn recount_step(
        &self,
        user: &UserSub,
        pbar_name: &str,
        trace_uid: &str,
        step: &str,
        iterations: Option<u64>,
    ) -> Result<(), Error> {
        let (bar, uid) = (bar_name(pbar_name)?, TraceUid::new(trace_uid)?);
        check_iterations(iterations)?;
        let recounted: Result<u64, _> = RECOUNT
            .call(&self.store)
            .key("trace", &keys::trace(user, &bar, &uid))
            .key("events", &keys::trace_events(user, &bar, &uid))
            .arg("step_name", step)
            .arg("iterations", iterations.unwrap_or(0))
            .arg("ttl", TTL_SECONDS)
            .run()
            .await;
        let trace = || trace_uid.to_owned();
        recounted.map(drop).map_err(|error| match &error {
            keyrack_store::Error::Refused { word, .. } => match word.as_str() {
                "TRACE_NOT_FOUND" => Error::TraceNotFound { trace: trace() },
                "TRACE_COMPLETED" => Error::TraceCompleted { trace: trace() },
                "STEP_MISSING" => Error::StepMissing { trace: trace() },
                "MISSING_START_TIME" => Error::MissingStartTime { step: step.to_owned() },
                _ => error.into(),
            },
            _ => error.into(),
        })
    }
}
