//! A run as it was recorded: when each of its iterations and steps ended. Replayed, it looks at any moment as it did then.

use keyrack_progress::{
    Marks,
    estimate::{Current, FinishedStep, PastRun, Running},
};

/// A run with all that happened in it. Times are seconds since its start.
#[derive(Debug, Clone, Default)]
pub(super) struct Recorded {
    pub(super) steps: Vec<RecordedStep>,
    /// When a bar of another kind was asked how long the run will still take, and what it said.
    pub(super) indicatif: Vec<(f64, f64)>,
}

/// A step of it.
#[derive(Debug, Clone)]
pub(super) struct RecordedStep {
    pub(super) start: f64,
    pub(super) end: f64,
    /// When each iteration ended; none for a one-off step.
    pub(super) ticks: Option<Vec<f64>>,
}

impl RecordedStep {
    fn iterations(&self) -> Option<u64> {
        self.ticks.as_ref().map(|ticks| ticks.len() as u64)
    }

    /// How many of a linear bar's units it has: a one-off step is one, which is done at its end.
    fn units(&self) -> &[f64] {
        self.ticks.as_deref().unwrap_or(std::slice::from_ref(&self.end))
    }

    /// When the iterations that had ended by a moment did, as a store keeps it.
    fn marks(&self, until: f64) -> Marks {
        let mut marks = Marks::default();
        let ticks = self.ticks.as_deref().unwrap_or_default();
        let seen = ticks.iter().take_while(|tick| **tick <= until);
        for (at, tick) in (1..).zip(seen) {
            marks.add(at, ticks.len() as u64, tick - self.start);
        }
        marks
    }

    /// As its run sees it, once it is over.
    fn as_seen(&self, position: usize) -> FinishedStep {
        let (seconds, iterations) = (self.end - self.start, self.iterations());
        let name = format!("step {position}");
        FinishedStep { name, iterations, seconds, pace: Vec::new() }
    }

    /// As it is kept.
    fn as_kept(&self, position: usize) -> FinishedStep {
        let mut kept = self.as_seen(position);
        if let Some(n) = kept.iterations {
            kept.pace = self.marks(self.end).pace(n, kept.seconds);
        }
        kept
    }
}

impl Recorded {
    pub(super) fn seconds(&self) -> f64 {
        self.steps.last().map_or(0.0, |step| step.end)
    }

    /// As it is kept once it is through.
    pub(super) fn past(&self) -> PastRun {
        let steps = self.steps.iter().enumerate();
        PastRun { steps: steps.map(|(at, step)| step.as_kept(at)).collect() }
    }

    /// As it looks at a moment.
    pub(super) fn at(&self, now: f64) -> Running {
        let is_over = |step: &&RecordedStep| step.end <= now;
        let over = self.steps.iter().take_while(is_over).count().min(self.steps.len() - 1);
        let step = &self.steps[over];
        let done = step.ticks.iter().flatten().take_while(|tick| **tick <= now).count();
        let reported = done.checked_sub(1).and_then(|at| step.ticks.as_ref()?.get(at).copied());
        let finished = self.steps[..over].iter().enumerate();
        Running {
            finished: finished.map(|(at, step)| step.as_seen(at)).collect(),
            current: Current {
                name: format!("step {over}"),
                iterations: step.iterations(),
                iteration: done as u64,
                reported_s: reported.map_or(0.0, |at| at - step.start),
                elapsed_s: now - step.start,
                marks: step.marks(now),
            },
        }
    }

    /// When the units of a linear bar were done.
    pub(super) fn units(&self) -> impl Iterator<Item = f64> {
        self.steps.iter().flat_map(|step| step.units().iter().copied())
    }

    /// What a bar with one pace for everything says at a moment, counting by items and by steps. Where nothing is counted yet, half a
    /// unit is.
    pub(super) fn linear(&self, now: f64) -> [f64; 2] {
        let items = self.units().filter(|unit| *unit <= now).count() as f64;
        let of_steps = self.steps.iter().map(|step| {
            let units = step.units();
            units.iter().filter(|unit| **unit <= now).count() as f64 / units.len() as f64
        });
        let counts =
            [(items, self.units().count() as f64), (of_steps.sum(), self.steps.len() as f64)];
        counts.map(|(done, of)| {
            let done = done.max(0.5) / of;
            now * (1.0 - done) / done
        })
    }

    /// What indicatif said last before a moment, counted down since.
    pub(super) fn indicatif(&self, now: f64) -> Option<f64> {
        let before = self.indicatif.partition_point(|(at, _)| *at <= now);
        let (at, said) = self.indicatif[..before].last()?;
        Some((said - (now - at)).max(0.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn run_looks_as_it_did() {
        let steps = vec![
            RecordedStep { start: 0.0, end: 4.0, ticks: None },
            RecordedStep { start: 4.0, end: 10.0, ticks: Some(vec![6.0, 7.0, 10.0]) },
        ];
        let run = Recorded { steps, indicatif: vec![(6.0, 5.0), (7.0, 2.0)] };
        let running = run.at(7.5);
        assert_eq!((running.finished.len(), running.finished[0].seconds), (1, 4.0));
        assert_eq!((running.current.iteration, running.current.iterations), (2, Some(3)));
        assert_eq!((running.current.reported_s, running.current.elapsed_s), (3.0, 3.5));
        assert_eq!(run.linear(7.5).map(|left| (left * 10.0).round()), [25.0, 15.0]);
        assert_eq!((run.indicatif(5.0), run.indicatif(7.5)), (None, Some(1.5)));
    }
}
