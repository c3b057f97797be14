//! How the time of a step grows with its iterations: a set-up, and so much for each.
//!
//! From a few runs the two are hard to tell apart, so that several lines are kept, each with its probability. How a run goes
//! makes some of them likelier.

use super::step::PastDuration;

/// What the past says about a step's set-up and iterations.
#[derive(Debug, Clone)]
pub(super) struct Growth {
    /// The line in the middle of all.
    pub(super) likely: LinearDuration,
    /// The lines that may be true, with their probabilities.
    pub(super) lines: Vec<(f64, LinearDuration)>,
}

/// Seconds as a set-up and so much for each iteration.
#[derive(Debug, Clone, Copy)]
pub(super) struct LinearDuration {
    set_up: f64,
    each: f64,
}

/// A set-up is thought to be within this share of the step, before anything is known.
const SHARE: f64 = 0.5;
/// Rounds of fitting; each weighs errors by the last fit, and little changes after the third.
const ROUNDS: usize = 4;
/// The relative error of a time, before anything is known, and how many runs that is worth.
const ERROR: f64 = 0.3;
const ERROR_RUNS: f64 = 1.0;
/// A normal error as three equally likely ones.
const CASES: [f64; 3] = [-1.22, 0.0, 1.22];
/// How likely it is that something has nothing to do with the line.
const UNEXPLAINED: f64 = 0.01;
/// Factors beyond these count as if they were there: one stuck run must not tilt the line.
const OUTLIER: f64 = 4.0;

impl LinearDuration {
    pub(super) fn seconds(self, n: f64) -> f64 {
        self.set_up + self.each * n
    }

    /// The share of the set-up in the time of so many iterations.
    pub(super) fn set_up_share(self, n: f64) -> f64 {
        self.set_up / self.seconds(n)
    }
}

impl Growth {
    /// That of a step without iterations.
    pub(super) fn one_off() -> Growth {
        let line = LinearDuration { set_up: 1.0, each: 0.0 };
        Growth { likely: line, lines: vec![(1.0, line)] }
    }

    /// The middle of all lines, when something was seen that each makes so likely.
    pub(super) fn seen(&self, likelihood: impl Fn(LinearDuration) -> f64) -> LinearDuration {
        let (mut all, mut middle) = (0.0, LinearDuration { set_up: 0.0, each: 0.0 });
        for (probability, line) in &self.lines {
            // Something that no line explains makes none of them likelier.
            let weight = probability * (likelihood(*line) + UNEXPLAINED);
            all += weight;
            middle.set_up += weight * line.set_up;
            middle.each += weight * line.each;
        }
        LinearDuration { set_up: middle.set_up / all, each: middle.each / all }
    }

    /// The lines with the least relative errors; long runs would decide everything otherwise.
    pub(super) fn fit(taken: &[PastDuration], floor: f64) -> Growth {
        let per_iteration = taken.iter().map(|one| ((one.seconds + floor) / one.n).ln());
        let each = (per_iteration.sum::<f64>() / taken.len() as f64).exp();
        let mut growth = Growth { likely: LinearDuration { set_up: 0.0, each }, lines: Vec::new() };
        for _ in 0..ROUNDS {
            growth = Sums::of(taken, floor, growth.likely).growth();
        }
        growth
    }
}

/// The sums of weighted least squares, of times `t` for `n` iterations.
#[derive(Default)]
struct Sums {
    count: f64,
    w: f64,
    wn: f64,
    wnn: f64,
    wt: f64,
    wnt: f64,
    /// Squares of relative errors.
    errors: f64,
}

impl Sums {
    /// Weighs times by what a line expects of them.
    fn of(taken: &[PastDuration], floor: f64, line: LinearDuration) -> Sums {
        let mut sums = Sums { count: taken.len() as f64, ..Sums::default() };
        for PastDuration { n, seconds, .. } in taken {
            let expected = line.seconds(*n);
            let ratio = ((seconds + floor) / expected).clamp(1.0 / OUTLIER, OUTLIER);
            let (weight, t) = (expected.powi(-2), ratio * expected);
            sums.w += weight;
            sums.wn += weight * n;
            sums.wnn += weight * n * n;
            sums.wt += weight * t;
            sums.wnt += weight * n * t;
            sums.errors += (ratio - 1.0).powi(2);
        }
        sums
    }

    /// There is no set-up, or there is one around that of the best fit. The second is doubted as far as times vary: as if
    /// a run without iterations had been seen to take no time, give or take the share that is thought possible.
    fn growth(&self) -> Growth {
        let without = LinearDuration { set_up: 0.0, each: self.wnt / self.wnn };
        let free = (self.count - 2.0).max(0.0) + ERROR_RUNS;
        let variance = (self.errors + ERROR_RUNS * ERROR * ERROR) / free;
        let usual = (self.count / self.w).sqrt();
        let w = self.w + variance / (SHARE * usual).powi(2);
        let determinant = w * self.wnn - self.wn * self.wn;
        let set_up = ((self.wt * self.wnn - self.wn * self.wnt) / determinant).max(0.0);
        let error = (variance * self.wnn / determinant).sqrt();
        if !(set_up.is_finite() && error.is_finite() && error > 0.0) {
            return Growth { likely: without, lines: vec![(1.0, without)] };
        }
        // How much likelier no set-up has become than it was before the past was seen (Savage and Dickey).
        let odds = SHARE * usual / error * (-(set_up / error).powi(2) / 2.0).exp();
        let none = odds / (1.0 + odds);
        // A longer set-up leaves less for the iterations of the same runs; some is always left.
        let line = |set_up: f64| LinearDuration {
            set_up,
            each: ((self.wnt - set_up * self.wn) / self.wnn).max(without.each * 1e-6),
        };
        let cases = CASES.map(|off| ((1.0 - none) / 3.0, line((set_up + off * error).max(0.0))));
        let lines = [(none, without)].into_iter().chain(cases).collect();
        Growth { likely: line(set_up * (1.0 - none)), lines }
    }
}
