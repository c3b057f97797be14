//! Learning how much each signal counts: logistic regression on what users did with what they looked at.

use crate::online::{N_SIGNALS, Signals, Weights};

/// Steps of the descent; the figures no longer move after fewer.
const STEPS: usize = 400;
const RATE: f64 = 0.8;

/// Keeps weights of signals that hardly ever occur from growing without end.
const RIDGE: f64 = 1e-3;

/// The weights by which the signals of looks tell best which of them became reactions. Signals are all good news, so no weight
/// is negative.
pub(super) fn fit(looks: &[(Signals, bool)]) -> Weights {
    let mut weights = [0.0; N_SIGNALS];
    let mut offset = 0.0;
    let n = looks.len().max(1) as f64;
    for _ in 0..STEPS {
        let mut slope = [0.0; N_SIGNALS];
        let mut offset_slope = 0.0;
        for (signals, reacted) in looks {
            let sum: f64 =
                weights.iter().zip(signals).map(|(weight, signal)| weight * signal).sum();
            let error = 1.0 / (1.0 + (-(sum + offset)).exp()) - f64::from(u8::from(*reacted));
            offset_slope += error;
            slope.iter_mut().zip(signals).for_each(|(slope, signal)| *slope += error * signal);
        }
        offset -= RATE * offset_slope / n;
        for (weight, slope) in weights.iter_mut().zip(slope) {
            *weight = (*weight - RATE * (slope / n + RIDGE * *weight)).max(0.0);
        }
    }
    Weights(weights)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dice::Dice;

    #[test]
    fn the_weights_behind_reactions_are_found() {
        let mut dice = Dice::new(1);
        let mut look = |_| {
            let signals: Signals = [0.0; N_SIGNALS].map(|_: f64| 2.0 * dice.share());
            let likely = 1.0 / (1.0 + (-(2.0 * signals[0] + signals[2] - 3.0)).exp());
            (signals, dice.chance(likely))
        };
        let looks: Vec<(Signals, bool)> = (0..4000).map(&mut look).collect();
        let Weights(found) = fit(&looks);
        assert!((1.5..2.4).contains(&found[0]), "{found:?}");
        assert!((0.7..1.3).contains(&found[2]), "{found:?}");
        assert!([1, 3, 4, 5, 6].iter().all(|at| found[*at] < 0.25), "{found:?}");
    }
}
