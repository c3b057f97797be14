//! The numbers that a watcher of a running trace sees.

use serde::{Deserialize, Serialize};

use crate::{eta::Eta, trace::Trace};

/// The name of the step before the trace of an unknown bar begins.
pub const PREPARING: &str = "preparing";

/// The numbers that a watcher sees. What remains is negative when a trace takes longer than expected.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Live {
    /// How long the whole trace takes.
    pub overall_eta_seconds: f64,
    /// What remains of that.
    pub remaining_eta_seconds: f64,
    /// The current step.
    pub step_name: String,
    /// How long the current step takes.
    pub step_overall_eta_seconds: f64,
    /// What remains of that.
    pub step_remaining_eta_seconds: f64,
}

impl Live {
    /// The numbers at a time in unix seconds; `trace` is `None` before it begins.
    ///
    /// An `eta` without steps, or of other steps than the trace has, is as good as none.
    pub fn at(now: f64, eta: &Eta, trace: Option<&Trace>) -> Live {
        let Some(trace) = trace else { return Live::before(eta) };
        let step = trace.current();
        let (overall, in_step) = if eta.fits(trace) {
            (eta.eta, eta.steps[trace.steps.len() - 1].seconds(step.iterations))
        } else {
            (0.0, 0.0)
        };
        Live {
            overall_eta_seconds: overall,
            remaining_eta_seconds: overall - (now - trace.created_at),
            step_name: step.step_name.clone(),
            step_overall_eta_seconds: in_step,
            step_remaining_eta_seconds: in_step - (now - step.started_at),
        }
    }

    fn before(eta: &Eta) -> Live {
        let first = eta.steps.first();
        let (overall, in_step) = first.map_or((0.0, 0.0), |first| (eta.eta, first.eta_a));
        Live {
            overall_eta_seconds: overall,
            remaining_eta_seconds: overall,
            step_name: first.map_or(PREPARING, |first| &first.step_name).to_owned(),
            step_overall_eta_seconds: in_step,
            step_remaining_eta_seconds: in_step,
        }
    }
}

impl Eta {
    /// Whether the steps of a trace so far are those of the bar.
    pub fn fits(&self, trace: &Trace) -> bool {
        let known = self.steps.iter().map(|step| (&step.step_name, step.iterated));
        trace.steps.len() <= self.steps.len()
            && trace
                .steps
                .iter()
                .map(|step| (&step.step_name, step.iterated()))
                .eq(known.take(trace.steps.len()))
    }
}

#[cfg(test)]
mod tests;
