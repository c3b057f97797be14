//! Learning how much each signal counts: logistic regression on pairs of posts, one of which a user liked.
//!
//! What was learned before is a normal distribution around the old weights, and new pairs move it. So nothing of the past has to
//! be kept but the weights and how sure they are.

use crate::online::{N_SIGNALS, Signals, Weights};

/// Steps of Newton's method; it has settled after fewer.
const STEPS: usize = 12;

/// How sure the built-in weights are, in pairs with a difference of 1: about a night of an app with many likes. Weights that follow
/// a few likes by chance are worse than the built-in ones.
const PRECISION_AT_FIRST: f64 = 300.0;

/// What is left of old certainty after a day, so that an app that changes is learned anew: a half after three weeks.
const KEPT: f64 = 0.97;

/// The signals of the liked post less those of the other, and how much the pair counts.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pair {
    pub(crate) difference: Signals,
    pub(crate) weight: f64,
}

/// Weights and how sure they are.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Belief {
    pub(crate) weights: Weights,
    /// A matrix row by row.
    pub(crate) precision: [[f64; N_SIGNALS]; N_SIGNALS],
}

impl Belief {
    /// What is believed before anything was learned.
    pub(crate) fn at_first(weights: Weights) -> Belief {
        let mut precision = [[0.0; N_SIGNALS]; N_SIGNALS];
        (0..N_SIGNALS).for_each(|at| precision[at][at] = PRECISION_AT_FIRST);
        Belief { weights, precision }
    }

    /// What is believed after the pairs of a day.
    pub(crate) fn after(&self, pairs: &[Pair]) -> Belief {
        let before = self.precision.map(|row| row.map(|cell| KEPT * cell));
        let mut weights = self.weights.0;
        let mut precision = before;
        for _ in 0..STEPS {
            let moved: Signals = std::array::from_fn(|at| weights[at] - self.weights.0[at]);
            let mut slope: Signals = std::array::from_fn(|row| dot(&before[row], &moved));
            precision = before;
            for Pair { difference, weight } in pairs {
                let likely = 1.0 / (1.0 + (-dot(&weights, difference)).exp());
                for (row, signal) in difference.iter().enumerate() {
                    slope[row] -= weight * (1.0 - likely) * signal;
                    for (column, other) in difference.iter().enumerate() {
                        precision[row][column] += weight * likely * (1.0 - likely) * signal * other;
                    }
                }
            }
            let step = solve(precision, slope);
            weights.iter_mut().zip(step).for_each(|(weight, step)| *weight -= step);
        }
        if weights.iter().all(|weight| weight.is_finite()) {
            Belief { weights: Weights(weights), precision }
        } else {
            self.clone()
        }
    }
}

fn dot(a: &Signals, b: &Signals) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Solves `matrix * x = right` for a matrix that is symmetric and positive, as the old precision makes it.
fn solve(mut matrix: [[f64; N_SIGNALS]; N_SIGNALS], mut right: Signals) -> Signals {
    for at in 0..N_SIGNALS {
        for below in at + 1..N_SIGNALS {
            let factor = matrix[below][at] / matrix[at][at];
            let above = matrix[at];
            matrix[below].iter_mut().zip(above).for_each(|(cell, above)| *cell -= factor * above);
            right[below] -= factor * right[at];
        }
    }
    let mut x = [0.0; N_SIGNALS];
    for at in (0..N_SIGNALS).rev() {
        let known: f64 = (at + 1..N_SIGNALS).map(|later| matrix[at][later] * x[later]).sum();
        x[at] = (right[at] - known) / matrix[at][at];
    }
    x
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    fn pairs(n: usize, truth: &Signals, dice: &mut Random) -> Vec<Pair> {
        let mut pair = |_| {
            let mut difference: Signals = [0.0; N_SIGNALS].map(|_: f64| dice.normal());
            let likely = 1.0 / (1.0 + (-dot(truth, &difference)).exp());
            if !dice.chance(likely) {
                difference = difference.map(|signal| -signal);
            }
            Pair { difference, weight: 1.0 }
        };
        (0..n).map(&mut pair).collect()
    }

    #[test]
    fn the_weights_behind_reactions_are_found_night_by_night() {
        let mut dice = Random::new(1);
        let truth = [2.0, 0.0, 1.0, 0.0, 0.5, 0.0, 0.0, 0.0, 0.0];
        let mut belief = Belief::at_first(Weights::default());
        for _ in 0..60 {
            belief = belief.after(&pairs(300, &truth, &mut dice));
        }
        let found = belief.weights.0;
        let off = found.iter().zip(truth).map(|(found, truth)| (found - truth).abs());
        assert!(off.fold(0.0, f64::max) < 0.2, "{found:?}");
    }

    #[test]
    fn a_night_without_pairs_changes_no_weight() {
        let belief = Belief::at_first(Weights::default());
        assert_eq!(belief.after(&[]).weights, belief.weights);
        let same = Pair { difference: [0.0; N_SIGNALS], weight: 1.0 };
        assert_eq!(belief.after(&[same; 3]).weights, belief.weights);
    }
}
