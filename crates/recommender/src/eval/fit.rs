//! Learning how much each signal counts: logistic regression on which candidates users reacted to later.

use crate::online::{N_SIGNALS, Signals, Weights};

/// Steps of Newton's method; it has settled after fewer.
const STEPS: usize = 15;

/// Keeps weights of signals that hardly ever occur from growing without end.
const RIDGE: f64 = 1e-3;

/// The signals and a constant.
const N: usize = N_SIGNALS + 1;

/// The weights by which the signals of posts tell best which of them became reactions. Signals are all good news, so no weight
/// is negative.
pub(super) fn fit(posts: &[(Signals, bool)]) -> Weights {
    let mut weights = [0.0; N];
    let n = posts.len().max(1) as f64;
    for _ in 0..STEPS {
        let mut slope = weights.map(|weight| RIDGE * weight);
        let mut bend = [[0.0; N]; N];
        (0..N).for_each(|at| bend[at][at] = RIDGE);
        for (signals, reacted) in posts {
            let mut row = [1.0; N];
            row[..N_SIGNALS].copy_from_slice(signals);
            let sum: f64 = weights.iter().zip(row).map(|(weight, signal)| weight * signal).sum();
            let likely = 1.0 / (1.0 + (-sum).exp());
            let error = likely - f64::from(u8::from(*reacted));
            for (a, signal) in row.iter().enumerate() {
                slope[a] += error * signal / n;
                for (b, other) in row.iter().enumerate() {
                    bend[a][b] += likely * (1.0 - likely) * signal * other / n;
                }
            }
        }
        let step = solve(bend, slope);
        weights.iter_mut().zip(step).for_each(|(weight, step)| *weight -= step);
    }
    let mut found = [0.0; N_SIGNALS];
    found.iter_mut().zip(weights).for_each(|(found, weight)| *found = weight.max(0.0));
    Weights(found)
}

/// Solves `matrix * x = right` for a matrix that is symmetric and positive, as the ridge makes it.
fn solve(mut matrix: [[f64; N]; N], mut right: [f64; N]) -> [f64; N] {
    for at in 0..N {
        for below in at + 1..N {
            let factor = matrix[below][at] / matrix[at][at];
            let above = matrix[at];
            matrix[below].iter_mut().zip(above).for_each(|(cell, above)| *cell -= factor * above);
            right[below] -= factor * right[at];
        }
    }
    let mut x = [0.0; N];
    for at in (0..N).rev() {
        let known: f64 = (at + 1..N).map(|later| matrix[at][later] * x[later]).sum();
        x[at] = (right[at] - known) / matrix[at][at];
    }
    x
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    #[test]
    fn the_weights_behind_reactions_are_found() {
        let mut dice = Random::new(1);
        let mut post = |_| {
            let signals: Signals = [0.0; N_SIGNALS].map(|_: f64| 2.0 * dice.share());
            let likely = 1.0 / (1.0 + (-(2.0 * signals[0] + signals[2] - 3.0)).exp());
            (signals, dice.chance(likely))
        };
        let posts: Vec<(Signals, bool)> = (0..4000).map(&mut post).collect();
        let Weights(found) = fit(&posts);
        assert!((1.5..2.4).contains(&found[0]), "{found:?}");
        assert!((0.7..1.3).contains(&found[2]), "{found:?}");
        assert!([1, 3, 4, 5, 6].iter().all(|at| found[*at] < 0.25), "{found:?}");
    }

    #[test]
    fn nothing_to_learn_from_gives_no_weights() {
        assert_eq!(fit(&[]), Weights([0.0; N_SIGNALS]));
        let silent = fit(&[([0.0; N_SIGNALS], false); 3]);
        assert!(silent.0.iter().all(|weight| weight.is_finite()), "{silent:?}");
    }
}
