//! From samples to times. Pure.

use super::{Eta, StepEta};
use crate::{
    bar::{Bar, Step},
    retained::{Sample, SampleStep, Samples},
    stats::{Fit, line, summary},
    technique::Technique,
};

impl Eta {
    /// What the samples of a bar say.
    pub fn from_samples(samples: &Samples) -> Eta {
        let steps = samples.steps.get(1..).unwrap_or_default();
        match work_out(&samples.bar, steps, &samples.traces) {
            Some((overall, fits)) => Eta::of(&samples.bar, steps, overall, &fits),
            None => Eta::nothing_known(&samples.bar, steps),
        }
    }

    /// The answer while a bar has no samples.
    pub(super) fn nothing_known(bar: &Bar, steps: &[Step]) -> Eta {
        let fits: Vec<Fit> = steps.iter().map(|step| Fit::nothing(step.method())).collect();
        Eta::of(bar, steps, 0.0, &fits)
    }

    /// An overall time and the fit of each real step.
    pub(super) fn of(bar: &Bar, steps: &[Step], overall: f64, fits: &[Fit]) -> Eta {
        let method = bar.default_step_config.method(false);
        let steps = steps.iter().zip(fits).map(|(step, fit)| StepEta {
            step_name: step.name.clone(),
            iterated: step.iterated,
            technique: step.method().technique,
            percentile: step.method().percentile(),
            eta_a: fit.a,
            eta_b: fit.b,
        });
        Eta {
            technique: method.technique,
            percentile: method.percentile(),
            eta: overall,
            version: i64::try_from(bar.version).unwrap_or(i64::MAX),
            steps: steps.collect(),
        }
    }
}

/// The overall time and the fit of each real step; `None` when the samples say nothing of the overall time.
pub(super) fn work_out(bar: &Bar, steps: &[Step], samples: &[Sample]) -> Option<(f64, Vec<Fit>)> {
    let method = bar.default_step_config.method(false);
    let overall = summary(method, samples.iter().filter_map(overall_seconds))?;
    let fits = steps.iter().zip(0..).map(|(step, place)| {
        let taken = samples.iter().filter_map(|sample| sample.steps.get(place));
        fit(step, taken).unwrap_or_else(|| Fit::nothing(step.method()))
    });
    Some((overall, fits.collect()))
}

fn overall_seconds(sample: &Sample) -> Option<f64> {
    Some(sample.steps.last()?.finished_at - sample.created_at)
}

fn fit<'a>(step: &Step, taken: impl Iterator<Item = &'a SampleStep>) -> Option<Fit> {
    let method = step.method();
    if method.technique == Technique::BestFitLinear {
        return line(taken.map(|taken| (taken.iterations.unwrap_or(0), taken.duration())));
    }
    // Seconds per iteration of an iterated step, seconds of a one-off one.
    let seconds = taken.map(|taken| taken.duration() / taken.iterations.unwrap_or(1) as f64);
    Some(Fit { a: summary(method, seconds)?, b: None })
}
