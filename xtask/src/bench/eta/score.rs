//! How far off estimates were, ours and others'.

use keyrack_progress::estimate::Estimate;

use super::{moment::Moment, workload::Run};

/// Sums over many moments. An error is a share of the run's whole length, so that long runs do not outweigh short ones.
#[derive(Clone, Copy, Default)]
pub(super) struct Score {
    moments: f64,
    ours: f64,
    /// By each way of counting.
    linear: [f64; 2],
    countdown: f64,
    within: f64,
}

impl Score {
    /// Adds what was said at a moment of a run, and by a countdown from the lengths of past ones.
    pub(super) fn add(&mut self, run: &Run, moment: &Moment, estimate: &Estimate, past: &[f64]) {
        let error = |said: f64| (said - moment.remaining).abs() / run.seconds();
        let linear = moment.linear(run);
        self.moments += 1.0;
        self.ours += error(estimate.p50);
        self.linear[0] += error(linear[0]);
        self.linear[1] += error(linear[1]);
        self.countdown += error(moment.countdown(past));
        let is_within = (estimate.p10..=estimate.p90).contains(&moment.remaining);
        self.within += f64::from(u8::from(is_within));
    }

    /// Adds another with the same weight, however many moments it has.
    pub(super) fn add_mean(&mut self, other: &Score) {
        self.moments += 1.0;
        self.ours += other.ours();
        // Whichever way of counting suits a kind of work better is the one that is compared with.
        self.linear = self.linear.map(|sum| sum + other.linear());
        self.countdown += other.countdown();
        self.within += other.within();
    }

    pub(super) fn ours(&self) -> f64 {
        self.ours / self.moments
    }

    /// The error of the linear bar, counting in the way that errs less.
    pub(super) fn linear(&self) -> f64 {
        self.linear[0].min(self.linear[1]) / self.moments
    }

    pub(super) fn countdown(&self) -> f64 {
        self.countdown / self.moments
    }

    /// How often the truth was between `p10` and `p90`.
    pub(super) fn within(&self) -> f64 {
        self.within / self.moments
    }

    pub(super) fn by_linear(&self) -> f64 {
        self.ours() / self.linear()
    }

    pub(super) fn by_countdown(&self) -> f64 {
        self.ours() / self.countdown()
    }
}

#[cfg(test)]
mod tests {
    use super::super::{
        dice::Dice,
        workload::{Bar, Kind},
    };
    use super::*;

    #[test]
    fn errors_are_shares_of_the_run() {
        let mut dice = Dice::new(1);
        let run = Bar::new(Kind::PlainLoop, &mut dice).run(&mut dice);
        let moment = Moment::at(&run, 0.5);
        let off = 0.25 * run.seconds();
        let p50 = moment.remaining + off;
        let (p10, p90) = (moment.remaining - 1.0, moment.remaining + 1.0);
        let mut score = Score::default();
        score.add(&run, &moment, &Estimate { p10, p50, p90, sureness: 0.5 }, &[run.seconds()]);
        score.add(&run, &moment, &Estimate { p10: p50, p50, p90, sureness: 0.5 }, &[run.seconds()]);
        assert!((score.ours() - 0.25).abs() < 1e-9);
        assert!(score.countdown() < 1e-9, "the countdown knew the length");
        assert_eq!(score.within(), 0.5);
    }
}
