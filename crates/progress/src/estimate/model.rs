//! All that is learned from the past runs of a bar.

use super::{
    PastRun,
    covariance::StepCovariance,
    remaining::LEAST,
    step::{PastDuration, StepModel},
};

/// What the past runs of a bar say, ready for any number of estimates.
#[derive(Debug, Clone, Default)]
pub struct Model {
    pub(super) steps: Vec<StepModel>,
    /// How far surprises of each step go.
    pub(super) deviations: Vec<f64>,
    pub(super) together: StepCovariance,
    /// The iterations of each step in each run, for steps whose number is not known yet.
    pub(super) counts: Vec<Vec<f64>>,
    /// Below this, times are not told apart.
    pub(super) floor: f64,
    /// How many past runs the model rests on.
    runs: usize,
}

/// Older runs than these are not looked at: more change no figure, and learning takes time for each.
pub const RUNS_MAX: usize = 512;
/// How far runs are thought to differ when nothing else is known: about a third up or down.
pub(super) const DEVIATION: f64 = 0.35;
/// How many runs the other steps' deviations are worth for a step.
const POOL: f64 = 2.0;
/// Runs are never thought to be more alike than this.
const DEVIATION_MIN: f64 = 1e-4;
/// Times are told apart above this share of a run, and above a millisecond: less is noise of clocks.
const FLOOR_SHARE: f64 = 0.001;
const FLOOR_SECONDS: f64 = 0.001;

impl Model {
    /// Learns from past runs, oldest first. Runs with other steps than the newest are left out, as are those with times that
    /// make no sense.
    pub fn learn(past: &[PastRun]) -> Model {
        let past: Vec<&PastRun> = past.iter().filter(|run| run.makes_sense()).collect();
        let Some(newest) = past.last() else { return Model::default() };
        let alike: Vec<&PastRun> =
            past.iter().copied().filter(|run| run.has_the_steps_of(newest)).collect();
        let alike = &alike[alike.len().saturating_sub(RUNS_MAX)..];
        let runs = alike.len();
        let total: f64 = alike.iter().map(|run| run.seconds()).sum();
        let floor = (total / runs as f64 * FLOOR_SHARE).max(FLOOR_SECONDS);
        let steps = newest.steps.iter().enumerate().map(|(k, step)| {
            let taken: Vec<PastDuration> = alike.iter().map(|run| run.steps[k].taken()).collect();
            StepModel::learn(&step.name, step.iterations.is_some(), &taken, floor)
        });
        let steps: Vec<StepModel> = steps.collect();
        let deviations = deviations(&steps, runs - 1);
        let surprises: Vec<&[f64]> = steps.iter().map(|step| &step.surprises[..]).collect();
        let together = StepCovariance::learn(&surprises, &deviations);
        let counts = alike.iter().map(|run| run.steps.iter().map(|step| step.taken().n).collect());
        Model { deviations, together, counts: counts.collect(), floor, runs, steps }
    }

    /// A time of a step, which was learned with the floor added, as it is.
    pub(super) fn without_floor(&self, seconds: f64) -> f64 {
        (seconds - self.floor).max(self.floor * LEAST)
    }

    /// How many past runs it rests on.
    pub fn runs(&self) -> usize {
        self.runs
    }
}

/// The deviation of each step's surprises; with few runs, steps borrow from each other. The guess is all there is before the
/// second run, and nothing after it: runs that hardly differ are not to be thought to.
fn deviations(steps: &[StepModel], surprises: usize) -> Vec<f64> {
    if surprises == 0 {
        return vec![DEVIATION; steps.len()];
    }
    let squares = |step: &StepModel| step.surprises.iter().map(|one| one * one).sum::<f64>();
    let all: f64 = steps.iter().map(squares).sum();
    let count = surprises as f64;
    let pooled = all / steps.len() as f64 / count;
    let one = |step| ((squares(step) + POOL * pooled) / (count + POOL)).sqrt().max(DEVIATION_MIN);
    steps.iter().map(one).collect()
}
