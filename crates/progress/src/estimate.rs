//! How long a run will still take, as a range: what past runs say, corrected by how this one goes.
//!
#![doc = include_str!("docs/estimate.md")]

mod covariance;
mod growth;
mod mixture;
mod model;
mod normal;
mod remaining;
mod remaining_steps;
mod replay;
mod shape;
mod steady;
mod step;
mod stored;

pub use model::{Model, RUNS_MAX};
pub use steady::Steady;

#[cfg(test)]
mod tests;

use self::{mixture::Point, step::PastDuration};
use crate::pace::Marks;

/// One step of a run, finished.
#[derive(Debug, Clone, PartialEq)]
pub struct FinishedStep {
    /// Its name.
    pub name: String,
    /// How many iterations it had; none for a one-off step.
    pub iterations: Option<u64>,
    /// How long it took.
    pub seconds: f64,
    /// The thousandths of its time after which [`SHARES`](crate::SHARES) of its iterations were done; empty if not known.
    pub pace: Vec<u16>,
}

impl FinishedStep {
    fn taken(&self) -> PastDuration<'_> {
        let n = self.iterations.unwrap_or(1).max(1) as f64;
        PastDuration { n, seconds: self.seconds, pace: &self.pace }
    }
}

/// A run that was completed.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PastRun {
    /// Its steps in order.
    pub steps: Vec<FinishedStep>,
}

impl PastRun {
    fn seconds(&self) -> f64 {
        self.steps.iter().map(|step| step.seconds).sum()
    }

    fn makes_sense(&self) -> bool {
        !self.steps.is_empty() && self.steps.iter().all(|step| is_time(step.seconds))
    }

    fn has_the_steps_of(&self, other: &PastRun) -> bool {
        self.steps.len() == other.steps.len()
            && self
                .steps
                .iter()
                .zip(&other.steps)
                .all(|(a, b)| a.name == b.name && a.iterations.is_some() == b.iterations.is_some())
    }
}

/// A run that is under way.
#[derive(Debug, Clone, PartialEq)]
pub struct Running {
    /// The steps it is through with, in order.
    pub finished: Vec<FinishedStep>,
    /// The step it is in.
    pub current: Current,
}

/// The step that a run is in.
#[derive(Debug, Clone, PartialEq)]
pub struct Current {
    /// Its name.
    pub name: String,
    /// How many iterations it has; none for a one-off step.
    pub iterations: Option<u64>,
    /// How many of them are done.
    pub iteration: u64,
    /// How long after the step's start that was reported.
    pub reported_s: f64,
    /// How long ago the step started.
    pub elapsed_s: f64,
    /// When some of its iterations were reported.
    pub marks: Marks,
}

/// Longer times are taken for this, about 30 years: nothing is known about them, and sums stay finite.
const SECONDS_MAX: f64 = 1e9;

fn is_time(seconds: f64) -> bool {
    (0.0..=SECONDS_MAX).contains(&seconds)
}

fn tidy(seconds: f64) -> f64 {
    if seconds.is_nan() { 0.0 } else { seconds.clamp(0.0, SECONDS_MAX) }
}

impl Current {
    /// How long ago something was last seen of the step: its last iterations, or its start.
    fn since_report(&self) -> f64 {
        let reported_s = if self.iteration > 0 { self.reported_s } else { 0.0 };
        self.elapsed_s - reported_s
    }
}

impl Running {
    /// The same with times and counts that make sense.
    fn tidy(&self) -> Running {
        let mut tidied = self.clone();
        for step in &mut tidied.finished {
            step.seconds = tidy(step.seconds);
        }
        let current = &mut tidied.current;
        current.elapsed_s = tidy(current.elapsed_s);
        current.reported_s = tidy(current.reported_s).min(current.elapsed_s);
        current.iterations = current.iterations.map(|n| n.max(1));
        current.iteration = current.iteration.min(current.iterations.unwrap_or(0));
        tidied
    }

    /// How long it has gone on.
    fn spent(&self) -> f64 {
        self.finished.iter().map(|step| step.seconds).sum::<f64>() + self.current.elapsed_s
    }

    /// The steps that were begun: name and iterations.
    fn begun(&self) -> Vec<(&str, Option<u64>)> {
        let finished = self.finished.iter().map(|step| (step.name.as_str(), step.iterations));
        finished.chain([(self.current.name.as_str(), self.current.iterations)]).collect()
    }
}

/// How long a run will still take, in seconds.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize, serde::Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Estimate {
    /// It is through in less than this in one of ten cases.
    pub p10: f64,
    /// It is through in less than this in half of all cases.
    pub p50: f64,
    /// It is through in less than this in nine of ten cases.
    pub p90: f64,
    /// The share of the whole run that is not in doubt, from 0 to 1: the range's width by the run's length at `p90`,
    /// taken from 1.
    pub sureness: f64,
}

impl Estimate {
    fn of(points: Vec<Point>, spent: f64) -> Estimate {
        Estimate::from_quantiles(mixture::quantiles(points, [0.1, 0.5, 0.9]), spent)
    }

    fn from_quantiles([p10, p50, p90]: [f64; 3], spent: f64) -> Estimate {
        let whole = spent + p90;
        let sureness = if whole > 0.0 { 1.0 - (p90 - p10) / whole } else { 0.0 };
        Estimate { p10, p50, p90, sureness }
    }
}
