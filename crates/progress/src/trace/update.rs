//! Moving a trace on, by nine rules of which the first that fits decides.
//!
//! The rules are in `update.lua`, beside the change they lead to, because what they look at must not change in between. What follows
//! from the message alone is refused before.

use keyrack_keys::{Layout, UserSub};
use keyrack_store::{Script, script};

use super::{STORED_SLACK_SECONDS, TTL_SECONDS, Update, check_iterations, stored_member};
use crate::{
    bar::{STEPS_MAX, bar_name, check_step_name},
    complete::CountOutcome,
    error::Error,
    keys::{self, BarName, TraceUid},
    pace::{MARKS, MARKS_MAX},
    running::member,
    service::Progress,
    text::float,
};

static UPDATE: Script = script!("update.lua", "../include/steps.lua");

impl Progress {
    /// Moves a trace on; watchers are told. A completed trace is handed over in the same step to whoever counts it.
    ///
    /// # Errors
    /// When the message makes no sense or the trace cannot go on like that; nothing has changed then.
    pub async fn update_trace(&self, user: &UserSub, update: &Update) -> Result<(), Error> {
        self.move_on(user, update).await.map(drop)
    }

    /// Ends a trace and counts it at once, for programs that run where nobody may work the hot queue.
    ///
    /// The update has to be one that is done. A crash on the way leaves the trace to whoever works the queue next.
    ///
    /// # Errors
    /// As [`Progress::update_trace`] and [`Progress::handle_completed`].
    pub async fn finish_trace(
        &self,
        user: &UserSub,
        update: &Update,
    ) -> Result<CountOutcome, Error> {
        if !update.done {
            return Err(Error::invalid(
                "done",
                "it is false; only a trace that is done can be finished",
            ));
        }
        let entry = self.move_on(user, update).await?;
        let (bar, trace) = (&update.pbar_name, &update.trace_uid);
        let handled = self.handle_completed(user, bar, trace, None).await?;
        let mut cmd = redis::cmd("LREM");
        cmd.arg(&*self.store.place(&self.queue)).arg(-1).arg(entry);
        // Who is too late to take the job back leaves a worker nothing to do.
        cmd.query_async::<()>(&mut self.store.connection()).await?;
        Ok(handled)
    }

    /// Moves a trace on; returns the entry by which it is handed over if it is done.
    async fn move_on(&self, user: &UserSub, update: &Update) -> Result<String, Error> {
        let bar = bar_name(&update.pbar_name)?;
        let trace_uid = TraceUid::new(&*update.trace_uid)?;
        check(update)?;
        let queue = match (self.store.layout(), update.done) {
            (Layout::Documented, _) => self.queue.clone(),
            (Layout::Cluster, done) => {
                if done {
                    self.announce_outbox(user).await?;
                }
                keys::outbox(user)
            }
        };
        let entry = self.completed_entry(user, &bar, &trace_uid);
        let moved: Result<u64, _> = UPDATE
            .call(&self.store)
            .key("trace", &keys::trace(user, &bar, &trace_uid))
            .key("events", &keys::trace_events(user, &bar, &trace_uid))
            .key("queue", &queue)
            .key("stored", &keys::stored_traces(user))
            .keys("running", &self.running_key())
            .arg("now", float(self.time_of(update.now)))
            .arg("step_name", &update.step_name)
            .arg("iteration", update.iteration.map(|at| at.to_string()).unwrap_or_default())
            .arg("iterations", update.iterations.unwrap_or(0))
            .arg("done", u8::from(update.done))
            .arg("entry", &entry)
            .arg("ttl", TTL_SECONDS)
            .arg("steps_max", STEPS_MAX)
            .arg("member", member(user, &bar, &trace_uid))
            .arg("stored_member", stored_member(&bar, &trace_uid))
            .arg("stored_slack", STORED_SLACK_SECONDS)
            .arg("marks", MARKS)
            .arg("marks_max", MARKS_MAX)
            .run()
            .await;
        moved.map_err(|error| refusal(error, update))?;
        if self.store.layout() == Layout::Cluster {
            if update.done {
                self.leave_running(user, &bar, &trace_uid).await;
                self.empty_outbox_or_warn(user).await;
            } else if update.iteration.is_none_or(|iteration| iteration == 0) {
                self.enter_running(user, &bar, &trace_uid).await;
            }
        }
        Ok(entry)
    }

    /// The entry of the hot queue by which a completed trace is handed over.
    fn completed_entry(&self, user: &UserSub, bar: &BarName, trace_uid: &TraceUid) -> String {
        serde_json::json!({
            "name": crate::jobs::HANDLE_COMPLETED_TRACE,
            "kwargs": {
                "user_sub": user.as_str(),
                "pbar_name": bar.as_str(),
                "trace_uid": trace_uid.as_str(),
            },
            "queued_at": self.now(),
        })
        .to_string()
    }
}

/// Refuses what makes no sense whatever the trace looks like.
fn check(update: &Update) -> Result<(), Error> {
    check_step_name(&update.step_name)?;
    check_iterations(update.iterations)?;
    let (iteration, iterations) = match (update.iteration, update.iterations) {
        (None, None) => return Ok(()),
        (None, Some(_)) => {
            let reason = "it is missing; a step with \"iterations\" needs it, 0 at the start";
            return Err(Error::invalid("iteration", reason));
        }
        (Some(_), None) => {
            let reason =
                "it is missing; a step with \"iteration\" needs it, a one-off step neither";
            return Err(Error::invalid("iterations", reason));
        }
        (Some(iteration), Some(iterations)) => (iteration, iterations),
    };
    if iteration > iterations {
        let reason = format!("\"{iteration}\" is more than the {iterations} iterations there are");
        return Err(Error::invalid("iteration", reason));
    }
    if update.done && iteration != iterations {
        let reason = format!("\"{iteration}\" is not the last; a trace is done after {iterations}");
        return Err(Error::invalid("iteration", reason));
    }
    Ok(())
}

/// The script's word as an error of ours.
fn refusal(error: keyrack_store::Error, update: &Update) -> Error {
    let keyrack_store::Error::Refused { word, detail } = error else { return error.into() };
    let (trace, step) = (update.trace_uid.clone(), update.step_name.clone());
    match word.as_str() {
        "TRACE_NOT_FOUND" => Error::TraceNotFound { trace },
        "TRACE_COMPLETED" => Error::TraceCompleted { trace },
        "STEP_MISSING" => Error::StepMissing { trace },
        "MISSING_START_TIME" => Error::MissingStartTime { step },
        "STEP_RESERVED" => Error::StepReserved,
        "STEP_REPEATED" => Error::StepRepeated { trace, step },
        "TOO_MANY_STEPS" => Error::TooManySteps { max: STEPS_MAX },
        "STEP_CHANGED" => {
            let began = match detail.as_deref() {
                Some("0") | None => "no iterations".to_owned(),
                Some(iterations) => format!("{iterations} iterations"),
            };
            Error::StepChanged { step, began }
        }
        "BACKWARDS_PROGRESS" => {
            Error::BackwardsProgress { step, reached: detail.unwrap_or_default() }
        }
        _ => Error::Store(keyrack_store::Error::Refused { word, detail }),
    }
}
