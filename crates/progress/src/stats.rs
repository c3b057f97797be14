//! The statistics: samples in, one number or one line out. Pure.

use crate::technique::{Method, Technique};

/// A line through durations over iterations, or a plain number of seconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Fit {
    /// Seconds, or seconds per iteration; the slope of a line.
    pub(crate) a: f64,
    /// The intercept of a line.
    pub(crate) b: Option<f64>,
}

impl Fit {
    /// What stands for a fit while nothing is known.
    pub(crate) fn nothing(method: Method) -> Fit {
        Fit { a: 0.0, b: (method.technique == Technique::BestFitLinear).then_some(0.0) }
    }
}

/// What a technique makes of samples; `None` when there are none. `best_fit.linear` is for [`line`].
pub(crate) fn summary(method: Method, samples: impl IntoIterator<Item = f64>) -> Option<f64> {
    let samples: Vec<f64> = samples.into_iter().filter(is_duration).collect();
    let count = samples.len() as f64;
    if samples.is_empty() {
        return None;
    }
    match method.technique {
        Technique::Percentile => Some(percentile(samples, method.percentile)),
        // A zero makes the logarithm or the inverse infinite, and the mean zero, as it should be.
        Technique::HarmonicMean => Some(count / samples.iter().map(|x| 1.0 / x).sum::<f64>()),
        Technique::GeometricMean => {
            Some((samples.iter().map(|x| x.ln()).sum::<f64>() / count).exp())
        }
        Technique::ArithmeticMean => Some(samples.iter().sum::<f64>() / count),
        Technique::BestFitLinear => None,
    }
}

/// The sample at the place that so many percent of all are before. The largest for 100, which the original has no answer to.
fn percentile(mut samples: Vec<f64>, percentile: f64) -> f64 {
    samples.sort_unstable_by(f64::total_cmp);
    // In this order, or some places come out one too low.
    let place = (percentile / 100.0 * samples.len() as f64) as usize;
    samples[place.min(samples.len() - 1)]
}

/// The line through durations over iterations by least squares; `None` with fewer than two of them.
///
/// With always the same number of iterations, the line through the origin.
pub(crate) fn line(samples: impl IntoIterator<Item = (u64, f64)>) -> Option<Fit> {
    let samples = samples.into_iter().filter(|(n, t)| *n > 0 && is_duration(t));
    let samples: Vec<(f64, f64)> = samples.map(|(n, t)| (n as f64, t)).collect();
    if samples.len() < 2 {
        return None;
    }
    let count = samples.len() as f64;
    let mean_n = samples.iter().map(|(n, _)| n).sum::<f64>() / count;
    let mean_t = samples.iter().map(|(_, t)| t).sum::<f64>() / count;
    if samples.iter().all(|(n, _)| *n == samples[0].0) {
        return Some(Fit { a: mean_t / samples[0].0, b: Some(0.0) });
    }
    // Around the means, so that large numbers do not cancel each other out.
    let spread: f64 = samples.iter().map(|(n, _)| (n - mean_n) * (n - mean_n)).sum();
    let together: f64 = samples.iter().map(|(n, t)| (n - mean_n) * (t - mean_t)).sum();
    let slope = together / spread;
    Some(Fit { a: slope, b: Some(mean_t - slope * mean_n) })
}

/// Clocks that were set in between make durations that say nothing.
fn is_duration(seconds: &f64) -> bool {
    seconds.is_finite() && *seconds >= 0.0
}

#[cfg(test)]
mod tests;
