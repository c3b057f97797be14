//! How good estimates were for runs that followed each other, ours and others'.

use anyhow::Result;
use keyrack_progress::estimate::{Estimate, Model, PastRun, Steady};

use super::{recorded::Recorded, tqdm};

/// The bar is looked at in every hundredth of a run.
const LOOKS: u32 = 100;
/// Every so many looks, from a tenth of the run on, what it says is compared with the truth.
const COMPARED_EVERY: u32 = 5;
const COMPARED_FROM: u32 = 10;

/// Sums over the moments of a kind of work. Errors are shares of the run's whole length.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Verdict {
    pub(super) runs: f64,
    moments: f64,
    ours: f64,
    /// By each way of counting.
    linear: [f64; 2],
    mean: f64,
    tqdm: f64,
    indicatif: f64,
    indicatif_moments: f64,
    within: f64,
    /// The widest move of the expected end between two looks in the same step.
    pub(super) jump: f64,
}

impl Verdict {
    pub(super) fn ours(&self) -> f64 {
        self.ours / self.moments
    }

    /// The error of the linear bar, counting in the way that errs less.
    pub(super) fn linear(&self) -> f64 {
        self.linear[0].min(self.linear[1]) / self.moments
    }

    pub(super) fn mean(&self) -> f64 {
        self.mean / self.moments
    }

    pub(super) fn tqdm(&self) -> f64 {
        self.tqdm / self.moments
    }

    /// Nothing where it did not run beside.
    pub(super) fn indicatif(&self) -> Option<f64> {
        (self.indicatif_moments > 0.0).then(|| self.indicatif / self.indicatif_moments)
    }

    /// How often the truth was between `p10` and `p90`.
    pub(super) fn within(&self) -> f64 {
        self.within / self.moments
    }

    /// The error by that of the best of the linear bar, the mean of past runs, and tqdm.
    pub(super) fn by_best(&self) -> f64 {
        self.ours() / self.linear().min(self.mean()).min(self.tqdm())
    }

    pub(super) fn by_linear(&self) -> f64 {
        self.ours() / self.linear()
    }
}

/// Runs of one bar in the order in which they ran; those from a place on are tested, each with so many before it as its past.
pub(super) struct Series<'a> {
    pub(super) runs: &'a [Recorded],
    pub(super) tested_from: usize,
    pub(super) past: usize,
}

/// What was said at a moment of a run.
struct Said {
    at: f64,
    estimate: Estimate,
}

/// Judges the tested runs of some bars.
pub(super) fn judge(all: &[Series<'_>]) -> Result<Verdict> {
    let mut verdict = Verdict::default();
    let mut looked: Vec<(&Recorded, f64, Vec<Said>)> = Vec::new();
    for series in all {
        let past: Vec<PastRun> = series.runs.iter().map(Recorded::past).collect();
        for at in series.tested_from..series.runs.len() {
            let before = at - series.past..at;
            let total: f64 = series.runs[before.clone()].iter().map(Recorded::seconds).sum();
            let model = Model::learn(&past[before]);
            let run = &series.runs[at];
            looked.push((run, total / series.past as f64, look(run, &model, &mut verdict.jump)));
        }
    }
    let moments: Vec<Vec<f64>> =
        looked.iter().map(|(_, _, said)| said.iter().map(|said| said.at).collect()).collect();
    let asked: Vec<(&Recorded, &[f64])> =
        looked.iter().zip(&moments).map(|((run, ..), at)| (*run, &at[..])).collect();
    let tqdm = tqdm::ask(&asked)?;
    for ((run, mean, said), tqdm) in looked.iter().zip(tqdm) {
        verdict.runs += 1.0;
        said.iter().zip(tqdm).for_each(|(said, tqdm)| verdict.add(run, *mean, said, tqdm));
    }
    Ok(verdict)
}

/// Looks at a run again and again, as whoever shows it does, and returns the moments to compare.
fn look(run: &Recorded, model: &Model, jump: &mut f64) -> Vec<Said> {
    let (mut steady, mut last) = (Steady::default(), None);
    let mut said = Vec::new();
    for look in 1..LOOKS - LOOKS / 20 + 1 {
        let at = run.seconds() * f64::from(look) / f64::from(LOOKS);
        let running = run.at(at);
        let estimate = model.estimate(&running).expect("there are past runs");
        let estimate = steady.next(&running, estimate);
        let (step, end) = (running.finished.len(), at + estimate.p50);
        if let Some((_, before)) = last.filter(|(before, _)| *before == step) {
            *jump = f64::max(*jump, f64::abs(end - before) / run.seconds());
        }
        last = Some((step, end));
        if look >= COMPARED_FROM && look.is_multiple_of(COMPARED_EVERY) {
            said.push(Said { at, estimate });
        }
    }
    said
}

impl Verdict {
    fn add(&mut self, run: &Recorded, mean: f64, said: &Said, tqdm: Option<f64>) {
        let left = run.seconds() - said.at;
        let error = |said: f64| (said - left).abs() / run.seconds();
        let linear = run.linear(said.at);
        self.moments += 1.0;
        self.ours += error(said.estimate.p50);
        self.linear[0] += error(linear[0]);
        self.linear[1] += error(linear[1]);
        self.mean += error((mean - said.at).max(0.0));
        // While it says nothing it is no worse than a linear bar.
        self.tqdm += error(tqdm.unwrap_or(linear[0]));
        if let Some(said) = run.indicatif(said.at) {
            self.indicatif += error(said);
            self.indicatif_moments += 1.0;
        }
        let is_within = (said.estimate.p10..=said.estimate.p90).contains(&left);
        self.within += f64::from(u8::from(is_within));
    }
}
