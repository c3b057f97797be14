//! A run as it looks from outside at some moment, and what others would say then.

use keyrack_progress::{
    Marks,
    estimate::{Current, FinishedStep, PastRun, Running},
};

use super::workload::{Piece, Run};

/// What can be seen of a run at some moment, and what is only known later.
pub(super) struct Moment {
    pub(super) running: Running,
    /// Seconds since the run started.
    pub(super) elapsed: f64,
    /// Seconds until its end.
    pub(super) remaining: f64,
    /// How much of the run is done by a count of all iterations, one-off steps counting one each.
    by_items: f64,
    /// How much is done when every step counts the same.
    by_steps: f64,
}

impl Moment {
    /// The moment at which this share of a run's work is done.
    pub(super) fn at(run: &Run, share: f64) -> Moment {
        let mut left = share * run.steps.iter().map(|step| step.nominal).sum::<f64>();
        let mut at = 0;
        let (iteration, reported_s, elapsed_s) = loop {
            let step = &run.steps[at];
            match see(step, left) {
                Some(seen) => break seen,
                None if at + 1 == run.steps.len() => break see(step, 0.0).unwrap_or_default(),
                None => (left, at) = ((left - step.nominal).max(0.0), at + 1),
            }
        };
        let (finished, current) = (&run.steps[..at], &run.steps[at]);
        let before: f64 = finished.iter().map(Piece::seconds).sum();
        let iterations = current.iterations;
        let marks = marks(current, iteration);
        let current =
            Current { name: name(at), iterations, iteration, reported_s, elapsed_s, marks };
        let inside = iterations.map_or(0.0, |n| iteration as f64 / n as f64);
        let units = |steps: &[Piece]| -> f64 {
            steps.iter().map(|step| step.iterations.unwrap_or(1) as f64).sum()
        };
        let elapsed = before + elapsed_s;
        Moment {
            elapsed,
            remaining: run.seconds() - elapsed,
            by_items: (units(finished) + iteration as f64) / units(&run.steps),
            by_steps: (at as f64 + inside) / run.steps.len() as f64,
            running: Running { finished: finished_steps(finished), current },
        }
    }

    /// What a bar says that has one pace for everything: so much is done in so much time, so the rest takes so much. There are
    /// two ways of counting for it. Where nothing is counted yet, half a unit is.
    pub(super) fn linear(&self, run: &Run) -> [f64; 2] {
        let items: u64 = run.steps.iter().map(|step| step.iterations.unwrap_or(1)).sum();
        let done = [
            self.by_items.max(0.5 / items as f64),
            self.by_steps.max(0.5 / run.steps.len() as f64),
        ];
        done.map(|done| self.elapsed * (1.0 - done) / done)
    }

    /// What a countdown says that starts at the 75th percentile of past runs, and stops at 0.
    pub(super) fn countdown(&self, past: &[f64]) -> f64 {
        let mut past = past.to_vec();
        past.sort_unstable_by(f64::total_cmp);
        let at = (0.75 * past.len() as f64) as usize;
        (past[at] - self.elapsed).max(0.0)
    }
}

/// What is seen of a step once so much of its work is done: the iterations that were reported, when, and its age; nothing if
/// it is over by then. Before the first iteration, and in a one-off step, work cannot be seen, so the clock decides: a moment
/// that were chosen by the length which the step will turn out to have would tell that length.
fn see(step: &Piece, work: f64) -> Option<(u64, f64, f64)> {
    if work < step.nominal_set_up && work < step.set_up {
        return Some((0, 0.0, work));
    }
    let n = step.iterations?;
    let each = (step.nominal - step.nominal_set_up) / n as f64;
    let done = ((work - step.nominal_set_up) / each).max(0.0);
    let whole = done as usize;
    let last = step.times.get(whole)?;
    let reported = step.set_up + step.times[..whole].iter().sum::<f64>();
    let reported_s = if whole == 0 { 0.0 } else { reported };
    Some((whole as u64, reported_s, reported + (done - whole as f64) * last))
}

/// A run as it is kept once it is through.
pub(super) fn past(run: &Run) -> PastRun {
    PastRun { steps: finished_steps(&run.steps) }
}

fn finished_steps(steps: &[Piece]) -> Vec<FinishedStep> {
    let step = |(at, step): (usize, &Piece)| FinishedStep {
        name: name(at),
        iterations: step.iterations,
        seconds: step.seconds(),
        pace: step.iterations.map_or_else(Vec::new, |n| marks(step, n - 1).pace(n, step.seconds())),
    };
    steps.iter().enumerate().map(step).collect()
}

/// When the first iterations of a step were done, as a store keeps it.
fn marks(step: &Piece, iterations: u64) -> Marks {
    let (mut marks, mut seconds) = (Marks::default(), step.set_up);
    for (at, time) in (1..=iterations).zip(&step.times) {
        seconds += time;
        marks.add(at, step.iterations.unwrap_or(1), seconds);
    }
    marks
}

fn name(at: usize) -> String {
    format!("step {at}")
}
