//! A trace under way: one run through a bar, as a client reports it.

mod create;
mod end;
mod read;
mod recount;
mod update;

use serde::{Deserialize, Serialize};

use crate::{error::Error, pace::Marks};

pub(crate) use self::create::{civil_of, month_of, stored_member};

/// How long a trace lives without a word from its client: a day.
pub(crate) const TTL_SECONDS: u64 = 86_400;
/// For how much longer a trace counts among its user's: updates renew that once an hour, and clocks may be off.
pub(crate) const STORED_SLACK_SECONDS: u64 = 3_600;
/// The most iterations: beyond, scripts could not tell two numbers apart.
pub const ITERATIONS_MAX: u64 = (1 << 53) - 1;

/// What begins a trace.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct NewTrace {
    /// The bar; it need not exist.
    pub pbar_name: String,
    /// An id of the client's choice: 1 to 155 letters, digits, `-` and `_`.
    pub uid: String,
    /// The first step.
    pub step_name: String,
    /// How many iterations that step has; `None` for a one-off step.
    #[serde(default)]
    pub iterations: Option<u64>,
    /// The client's time in unix seconds; the server's counts when they are five minutes or more apart.
    pub now: f64,
    /// At least how often the client will report, in seconds, up to a day. A run that is silent for three times this is lost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reports_every: Option<u64>,
}

/// What moves a trace on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Update {
    /// The bar.
    pub pbar_name: String,
    /// The trace.
    pub trace_uid: String,
    /// The step; one with another name than the current begins here.
    pub step_name: String,
    /// The iterations completed so far; `None` for a one-off step.
    #[serde(default)]
    pub iteration: Option<u64>,
    /// How many iterations the step has; `None` for a one-off step.
    #[serde(default)]
    pub iterations: Option<u64>,
    /// Whether this ends the trace.
    pub done: bool,
    /// The client's time in unix seconds; the server's counts when they are five minutes or more apart.
    pub now: f64,
}

/// A trace as it stands.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Trace {
    /// When it began, in unix seconds.
    pub created_at: f64,
    /// When the last update came.
    pub last_updated_at: f64,
    /// Whether it is completed.
    pub done: bool,
    /// Its steps so far; the last is the current one. Never empty.
    pub steps: Vec<TraceStep>,
    /// How its run failed, if it has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<TraceFailure>,
    /// How often its process reports, in seconds, if it has promised to. One that is silent for three times this is lost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reports_every: Option<u64>,
}

/// How a run failed.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct TraceFailure {
    /// When, in unix seconds.
    pub at: f64,
    /// The exit code of its process.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<u64>,
    /// The number of the signal that ended its process.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signal: Option<u64>,
}

/// Which run failed, and how.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct FailedTrace {
    /// The bar.
    pub pbar_name: String,
    /// The trace.
    pub trace_uid: String,
    /// The exit code of its process.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<u64>,
    /// The number of the signal that ended its process.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signal: Option<u64>,
    /// The client's time in unix seconds, as in [`NewTrace`].
    pub now: f64,
}

/// How a run stands.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Outcome {
    /// It goes on.
    Running,
    /// It is completed.
    Done,
    /// It has failed.
    Failed(TraceFailure),
    /// Its process has not reported for three times as long as it promised to.
    Lost {
        /// When it reported last, in unix seconds.
        reported_at: f64,
    },
}

/// A process that has missed this many reports is lost.
const REPORTS_MISSED_MAX: f64 = 3.0;

/// A step of a trace.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct TraceStep {
    /// Its name.
    pub step_name: String,
    /// The iterations completed so far; 0 for a one-off step.
    pub iteration: u64,
    /// How many there are; 0 for a one-off step.
    pub iterations: u64,
    /// When it began.
    pub started_at: f64,
    /// When it ended, if it has.
    pub finished_at: Option<f64>,
    /// When some of its iterations were reported.
    #[serde(skip)]
    pub marks: Marks,
}

impl Trace {
    /// The step started last.
    ///
    /// # Panics
    /// Never for a trace that was read: it has a step from the start.
    pub fn current(&self) -> &TraceStep {
        self.steps.last().expect("a trace has a step from the start")
    }

    /// How the run stands at a time in unix seconds.
    pub fn outcome(&self, now: f64) -> Outcome {
        match (self.done, self.failure, self.lost_at()) {
            (true, ..) => Outcome::Done,
            (false, Some(failure), _) => Outcome::Failed(failure),
            (false, None, Some(at)) if now >= at => {
                Outcome::Lost { reported_at: self.last_updated_at }
            }
            (false, None, _) => Outcome::Running,
        }
    }

    /// Whether the run goes on at a time in unix seconds.
    pub fn is_running(&self, now: f64) -> bool {
        self.outcome(now) == Outcome::Running
    }

    /// When the run counts as lost unless it reports before; never for one that promised no reports, or has ended.
    pub fn lost_at(&self) -> Option<f64> {
        let every = self.reports_every.filter(|_| !self.done && self.failure.is_none())?;
        Some(self.last_updated_at + REPORTS_MISSED_MAX * every as f64)
    }

    /// The last moment that counts for how long the run took.
    pub fn until(&self, now: f64) -> f64 {
        match self.outcome(now) {
            Outcome::Running => now,
            Outcome::Done => self.last_updated_at,
            Outcome::Failed(failure) => failure.at,
            Outcome::Lost { reported_at } => reported_at,
        }
    }
}

impl std::fmt::Display for Outcome {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Outcome::Running => f.write_str("running"),
            Outcome::Done => f.write_str("completed"),
            Outcome::Failed(TraceFailure { signal: Some(signal), .. }) => {
                write!(f, "failed: ended by signal {signal}")
            }
            Outcome::Failed(TraceFailure { exit_code: Some(code), .. }) => {
                write!(f, "failed with exit code {code}")
            }
            Outcome::Failed(_) => f.write_str("failed"),
            Outcome::Lost { .. } => f.write_str("lost: its process no longer reports"),
        }
    }
}

impl TraceStep {
    /// Whether it has iterations.
    pub fn iterated(&self) -> bool {
        self.iterations > 0
    }
}

/// Refuses numbers of iterations that no step has.
fn check_iterations(iterations: Option<u64>) -> Result<(), Error> {
    if iterations.is_none_or(|iterations| (1..=ITERATIONS_MAX).contains(&iterations)) {
        return Ok(());
    }
    let reason =
        format!("it is out of range; use 1 to {ITERATIONS_MAX}, or none for a one-off step");
    Err(Error::invalid("iterations", reason))
}
