//! The steps after the current one, as one time.

use super::{
    covariance::dot,
    mixture::{self, Point},
    remaining::View,
    shape::Shape,
    step::StepModel,
};

/// The steps after the current one.
pub(super) struct RemainingSteps {
    /// Possible times of all of them, when the current step goes as usual.
    pub(super) points: Vec<Point>,
    /// How much of a surprise in the current step to expect in them.
    likeness: f64,
}

/// Points that stand for all of them.
const POINTS: usize = 48;
/// Steps are thought to be no more alike than this; a current step that takes long makes later ones no shorter.
const LIKENESS_MAX: f64 = 1.5;
/// A proportion has to vary this much less than a number itself to be believed.
const PROPORTION: f64 = 0.5;

/// A step that is to come.
struct UpcomingStep<'a> {
    step: &'a StepModel,
    position: usize,
    /// What it has in common with the steps before it, the current one last.
    told: Vec<f64>,
    /// The logarithm of how much longer than usual it takes, by what the finished steps tell.
    expected: f64,
}

impl RemainingSteps {
    /// Replays every past run with what is known of this one; nothing if the current step is the last.
    pub(super) fn new(view: &View) -> Option<RemainingSteps> {
        let coming = view.coming();
        if coming.is_empty() {
            return None;
        }
        let counts = view.counts();
        let (mut all, mut pull) = (0.0, 0.0);
        let mut logs = Vec::with_capacity(counts.len());
        for (run, counts) in counts.iter().enumerate() {
            let mut sum = 0.0;
            for UpcomingStep { step, position, told, expected } in &coming {
                let usual = step.usual_by(step.line_of_run(run), counts[*position]);
                let time = usual * expected.exp();
                all += time;
                pull += time * told[view.at];
                // The first run was no surprise, as nothing was expected of it.
                let own = run.checked_sub(1).map_or(0.0, |run| {
                    step.surprises[run] - view.model.together.expected(told, run)
                });
                sum += view.model.without_floor(time * (own * step.level_doubt).exp());
            }
            logs.push(sum.ln());
        }
        let likeness = (pull / all).clamp(0.0, LIKENESS_MAX);
        Some(RemainingSteps { points: view.spread(&logs), likeness })
    }

    /// By how much they take longer because of a surprise in the current step.
    pub(super) fn slower(&self, surprise: f64) -> f64 {
        (self.likeness * surprise).exp()
    }
}

impl View<'_> {
    fn coming(&self) -> Vec<UpcomingStep<'_>> {
        let steps = self.model.steps.iter().enumerate().skip(self.at + 1);
        let coming = steps.map(|(position, step)| {
            let told = self.model.together.told_by_first(self.at + 1, position);
            let expected = dot(&told, &self.seen);
            UpcomingStep { step, position, told, expected }
        });
        coming.collect()
    }

    /// A distribution of which the logarithms of some values are known, one from each past run.
    fn spread(&self, logs: &[f64]) -> Vec<Point> {
        let mean = logs.iter().sum::<f64>() / logs.len() as f64;
        let surprises: Vec<f64> = logs[1..].iter().map(|log| log - mean).collect();
        let deviations = &self.model.deviations[self.at + 1..];
        let squares: f64 = deviations.iter().map(|one| one * one).sum();
        let shape = Shape::of(&surprises, (squares / deviations.len() as f64).sqrt());
        let points = shape.mixture(mean, 1.0).points_above(f64::NEG_INFINITY);
        let points = mixture::thin(points, POINTS);
        points.into_iter().map(|(ln, weight)| (ln.exp(), weight)).collect()
    }

    /// The iterations of every step as they may be in this run, one guess from each past run. Where a number usually stands in
    /// a proportion to one that is known, it is thought to do so again.
    fn counts(&self) -> Vec<Vec<f64>> {
        let past = &self.model.counts;
        let begun = self.running.begun();
        let mut counts = past.clone();
        for k in self.at + 1..self.model.steps.len() {
            if !self.model.steps[k].is_iterated {
                continue;
            }
            let mut least = variance(past, |run| run[k].ln()) * PROPORTION;
            for (c, (_, n)) in begun.iter().enumerate() {
                let Some(n) = n else { continue };
                let apart = variance(past, |run| (run[k] / run[c]).ln());
                if apart < least {
                    least = apart;
                    for (guess, run) in counts.iter_mut().zip(past) {
                        guess[k] = (run[k] / run[c] * *n as f64).max(1.0);
                    }
                }
            }
        }
        counts
    }
}

fn variance(runs: &[Vec<f64>], value: impl Fn(&[f64]) -> f64) -> f64 {
    let count = runs.len() as f64;
    let mean = runs.iter().map(|run| value(run)).sum::<f64>() / count;
    runs.iter().map(|run| (value(run) - mean).powi(2)).sum::<f64>() / count
}
