//! How long a new trace of a bar will take, overall and step by step.

mod cache;
mod work_out;

use serde::{Deserialize, Serialize};

use crate::technique::Technique;

/// How long a new trace of a bar will take.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Eta {
    /// The technique for the overall time.
    pub technique: Technique,
    /// Its percentile, if it has one.
    pub percentile: Option<f64>,
    /// The overall time in seconds; 0 while nothing is known.
    pub eta: f64,
    /// The version of the bar; -1 when there is no bar.
    pub version: i64,
    /// The bar's steps, from position 1.
    pub steps: Vec<StepEta>,
}

/// From what a step's time follows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct StepEta {
    /// The step.
    pub step_name: String,
    /// Whether it has iterations.
    pub iterated: bool,
    /// The technique.
    pub technique: Technique,
    /// Its percentile, if it has one.
    pub percentile: Option<f64>,
    /// Seconds; per iteration for an iterated step, the slope for `best_fit.linear`.
    pub eta_a: f64,
    /// The intercept, for `best_fit.linear` only.
    pub eta_b: Option<f64>,
}

impl Eta {
    /// What is known of a bar that is not there.
    pub fn unknown() -> Eta {
        // The original answers with this percentile, and so do we.
        let (technique, percentile) = (Technique::Percentile, Some(0.5));
        Eta { technique, percentile, eta: 0.0, version: -1, steps: Vec::new() }
    }
}

impl StepEta {
    /// How long the step will take with so many iterations; 0 of them for a one-off step.
    pub fn seconds(&self, iterations: u64) -> f64 {
        if self.iterated {
            self.eta_a * iterations as f64 + self.eta_b.unwrap_or_default()
        } else {
            self.eta_a
        }
    }
}
