//! A trace under way: one run through a bar, as a client reports it.

mod create;
mod read;
mod recount;
mod update;

use serde::{Deserialize, Serialize};

use crate::error::Error;

pub(crate) use self::create::{civil_of, month_of};

/// How long a trace lives without a word from its client: a day.
pub(crate) const TTL_SECONDS: u64 = 86_400;
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
}

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
}

impl Trace {
    /// The step started last.
    ///
    /// # Panics
    /// Never for a trace that was read: it has a step from the start.
    pub fn current(&self) -> &TraceStep {
        self.steps.last().expect("a trace has a step from the start")
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
