//! Progress bars: what they are, what was retained of past traces, and reporting traces.
//!
//! Everything here is the caller's own: whose things are meant is never said in a request but follows from its token.

pub(super) mod bars;
pub(super) mod examples;
pub(super) mod steps;
pub(super) mod traces;

use keyrack_progress::{Error, StepConfig, Technique};
use keyrack_web::Problem;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The problem of a request about a bar as a whole, in which an unknown bar is `not_found`.
fn of_bar(error: Error) -> Problem {
    match error {
        error @ Error::BarNotFound { .. } => Problem::from(error).with_kind("not_found"),
        error => error.into(),
    }
}

/// How a step's times are to be estimated.
#[derive(Debug, Clone, Copy, Deserialize, Serialize, ToSchema)]
#[serde(default)]
pub(super) struct Techniques {
    /// For a step without iterations; any but `best_fit.linear`.
    one_off_technique: Technique,
    /// From 0 to 100.
    one_off_percentile: f64,
    /// For a step with iterations.
    iterated_technique: Technique,
    /// From 0 to 100.
    iterated_percentile: f64,
}

impl Default for Techniques {
    fn default() -> Techniques {
        StepConfig::default().into()
    }
}

impl From<StepConfig> for Techniques {
    fn from(config: StepConfig) -> Techniques {
        Techniques {
            one_off_technique: config.one_off_technique,
            one_off_percentile: config.one_off_percentile,
            iterated_technique: config.iterated_technique,
            iterated_percentile: config.iterated_percentile,
        }
    }
}

impl From<Techniques> for StepConfig {
    fn from(techniques: Techniques) -> StepConfig {
        StepConfig {
            one_off_technique: techniques.one_off_technique,
            one_off_percentile: techniques.one_off_percentile,
            iterated_technique: techniques.iterated_technique,
            iterated_percentile: techniques.iterated_percentile,
        }
    }
}
