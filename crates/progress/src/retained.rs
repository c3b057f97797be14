//! Completed traces that were retained as samples.

use serde::{Deserialize, Serialize};

use crate::{
    bar::{Bar, Step},
    pace::{SHARES, WHOLE},
};

/// A completed trace that was retained as a sample.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct RetainedTrace {
    /// Its id, which is not the one that the client chose.
    pub uid: String,
    /// Whose it is.
    pub user_sub: String,
    /// Its bar.
    pub progress_bar_name: String,
    /// When the trace began, in unix seconds.
    pub created_at: f64,
}

/// A step of a retained trace.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct RetainedStep {
    /// Its id.
    pub uid: String,
    /// Whose it is.
    pub user_sub: String,
    /// Its bar.
    pub progress_bar_name: String,
    /// Its trace.
    pub progress_bar_trace_uid: String,
    /// Its name.
    pub progress_bar_step_name: String,
    /// Where it stands in the bar, from 1.
    pub progress_bar_step_position: u64,
    /// How many iterations it had; `None` for a one-off step.
    pub iterations: Option<u64>,
    /// When it began, in unix seconds.
    pub started_at: f64,
    /// When it ended.
    pub finished_at: f64,
}

impl RetainedStep {
    /// How long it took, in seconds.
    pub fn duration(&self) -> f64 {
        self.finished_at - self.started_at
    }

    /// How long it took, per iteration if it had any.
    pub fn normalized_duration(&self) -> f64 {
        self.duration() / self.iterations.unwrap_or(1) as f64
    }
}

/// All that is known about past runs of a bar in its present version.
#[derive(Debug, Clone, PartialEq)]
pub struct Samples {
    /// The bar.
    pub bar: Bar,
    /// Its steps, the default step first.
    pub steps: Vec<Step>,
    /// The retained traces, oldest first.
    pub traces: Vec<Sample>,
}

/// A retained trace with its steps: one past run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Sample {
    /// The id of the retained trace.
    pub uid: String,
    /// When the trace began, in unix seconds.
    pub created_at: f64,
    /// Its steps in order; the first is that at position 1.
    pub steps: Vec<SampleStep>,
}

/// A step of one past run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SampleStep {
    /// The id of the retained step.
    pub uid: String,
    /// How many iterations it had; `None` for a one-off step.
    pub iterations: Option<u64>,
    /// When it began, in unix seconds.
    pub started_at: f64,
    /// When it ended.
    pub finished_at: f64,
    /// The share of its time, in thousandths, after which 1/64, 1/32, 2/32 … 31/32 of its iterations were done; empty if not known.
    #[serde(skip)]
    pub pace: Vec<u16>,
}

impl Sample {
    /// Takes in the pace of each step; of other numbers than a pace has, nothing is taken.
    pub(crate) fn add_paces(&mut self, paces: Vec<Vec<u16>>) {
        for (step, pace) in self.steps.iter_mut().zip(paces) {
            if pace.len() == SHARES.len() && pace.iter().all(|share| *share <= WHOLE) {
                step.pace = pace;
            }
        }
    }

    /// The paces of all steps as they are kept; nothing when none is known.
    pub(crate) fn paces(&self) -> Option<String> {
        let paces: Vec<&[u16]> = self.steps.iter().map(|step| &*step.pace).collect();
        let is_known = paces.iter().any(|pace| !pace.is_empty());
        is_known.then(|| serde_json::to_string(&paces).expect("plain values become JSON"))
    }
}

impl SampleStep {
    /// How long it took, in seconds.
    pub fn duration(&self) -> f64 {
        self.finished_at - self.started_at
    }
}
