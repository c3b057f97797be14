//! All that is learned from the past runs of a bar.

use super::{
    PastRun,
    covariance::StepCovariance,
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
/// How many runs the guess of [`DEVIATION`] is worth.
const GUESS: f64 = 0.1;
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

    /// How many past runs it rests on.
    pub fn runs(&self) -> usize {
        self.runs
    }
}

/// The deviation of each step's surprises; with few runs, steps borrow from each other.
fn deviations(steps: &[StepModel], surprises: usize) -> Vec<f64> {
    let squares = |step: &StepModel| step.surprises.iter().map(|one| one * one).sum::<f64>();
    let guess = GUESS * DEVIATION * DEVIATION;
    let all: f64 = steps.iter().map(squares).sum();
    let count = surprises as f64;
    let pooled = (all / steps.len().max(1) as f64 + guess) / (count + GUESS);
    let one = |step| ((squares(step) + POOL * pooled) / (count + POOL)).sqrt();
    steps.iter().map(one).collect()
}
