//! Reading a trace under way.

use keyrack_keys::UserSub;
use keyrack_store::{Script, script};

use super::{Trace, TraceFailure, TraceStep};
use crate::{
    bar::bar_name,
    error::Error,
    keys::{self, BarName, TraceUid},
    pace::Marks,
    service::Progress,
    text::number,
};

static READ: Script = script!("read.lua", "../include/steps.lua");

/// A trace, and whether it has been counted.
#[derive(Debug)]
pub(crate) struct StoredTrace {
    pub(crate) trace: Trace,
    pub(crate) counted: bool,
}

impl Progress {
    /// A trace as it stands; `None` before it is created and after it has expired.
    ///
    /// A completed trace can be read for at least a quarter of an hour.
    ///
    /// # Errors
    /// When the names cannot be, or what is stored makes no sense.
    pub async fn trace(
        &self,
        user: &UserSub,
        pbar_name: &str,
        trace_uid: &str,
    ) -> Result<Option<Trace>, Error> {
        let (bar, trace_uid) = (bar_name(pbar_name)?, TraceUid::new(trace_uid)?);
        Ok(self.find_trace(user, &bar, &trace_uid).await?.map(|found| found.trace))
    }

    pub(crate) async fn find_trace(
        &self,
        user: &UserSub,
        bar: &BarName,
        trace_uid: &TraceUid,
    ) -> Result<Option<StoredTrace>, Error> {
        let key = keys::trace(user, bar, trace_uid);
        let rows: Vec<Vec<String>> = READ.call(&self.store).key("trace", &key).run().await?;
        let Some((fields, steps)) = rows.split_first() else { return Ok(None) };
        // Keys that expire together do not expire at once: a trace that has lost a step is gone.
        if steps.is_empty() || steps.iter().any(|step| step[0].is_empty()) {
            return Ok(None);
        }
        let steps: Result<Vec<TraceStep>, Error> =
            steps.iter().map(|step| read_step(key.name(), step)).collect();
        let trace = Trace {
            created_at: number(key.name(), "created_at", &fields[0])?,
            last_updated_at: number(key.name(), "last_updated_at", &fields[1])?,
            done: fields[3] == "1",
            steps: steps?,
            failure: read_failure(key.name(), fields)?,
            reports_every: optional(key.name(), "reports_every", &fields[8])?,
        };
        Ok(Some(StoredTrace { trace, counted: !fields[4].is_empty() }))
    }
}

fn read_failure(key: &str, fields: &[String]) -> Result<Option<TraceFailure>, Error> {
    let Some(at) = optional(key, "failed_at", &fields[5])? else { return Ok(None) };
    let exit_code = optional(key, "exit_code", &fields[6])?;
    let signal = optional(key, "signal", &fields[7])?;
    Ok(Some(TraceFailure { at, exit_code, signal }))
}

/// A number that may be absent.
fn optional<T: std::str::FromStr>(
    key: &str,
    field: &'static str,
    text: &str,
) -> Result<Option<T>, Error> {
    if text.is_empty() { Ok(None) } else { number(key, field, text).map(Some) }
}

fn read_step(key: &str, fields: &[String]) -> Result<TraceStep, Error> {
    let finished_at = match fields[4].as_str() {
        "" => None,
        at => Some(number(key, "finished_at", at)?),
    };
    Ok(TraceStep {
        step_name: fields[0].clone(),
        iteration: number(key, "iteration", &fields[1])?,
        iterations: number(key, "iterations", &fields[2])?,
        started_at: number(key, "started_at", &fields[3])?,
        finished_at,
        marks: Marks::parse(&fields[5]),
    })
}
