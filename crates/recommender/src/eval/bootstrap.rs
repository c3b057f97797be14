//! How sure a figure is: the same figure over users drawn again and again.

use crate::random::Random;

/// Draws; enough for two digits of the bounds.
const DRAWS: usize = 1000;

/// A figure with the bounds between which it lies with 95 % confidence.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize, serde::Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = ListInterval))]
pub struct Interval {
    /// The figure.
    pub value: f64,
    /// The lower bound.
    pub low: f64,
    /// The upper bound.
    pub high: f64,
}

/// The mean of a figure over users.
pub(super) fn mean(values: &[f64], seed: u64) -> Interval {
    interval(values.len(), seed, |users| {
        users.map(|user| values[user]).sum::<f64>() / values.len() as f64
    })
}

/// The ratio of the means of two figures of the same users.
pub(super) fn ratio(ours: &[f64], theirs: &[f64], seed: u64) -> Interval {
    let n = ours.len().min(theirs.len());
    interval(n, seed, |users| {
        let sums =
            users.fold((0.0, 0.0), |sums, user| (sums.0 + ours[user], sums.1 + theirs[user]));
        sums.0 / sums.1.max(f64::MIN_POSITIVE)
    })
}

fn interval(
    n: usize,
    seed: u64,
    figure: impl Fn(&mut dyn Iterator<Item = usize>) -> f64,
) -> Interval {
    if n == 0 {
        return Interval { value: 0.0, low: 0.0, high: 0.0 };
    }
    let mut dice = Random::new(seed);
    let value = figure(&mut (0..n));
    let draw = |_| figure(&mut (0..n).map(|_| dice.below(n)).collect::<Vec<_>>().into_iter());
    let mut drawn: Vec<f64> = (0..DRAWS).map(draw).collect();
    drawn.sort_by(f64::total_cmp);
    Interval { value, low: drawn[DRAWS / 40], high: drawn[DRAWS - 1 - DRAWS / 40] }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_hold_the_truth_and_narrow_with_more_users() {
        let values = |n: usize| -> Vec<f64> { (0..n).map(|user| (user % 2) as f64).collect() };
        let (few, many) = (mean(&values(20), 1), mean(&values(2000), 1));
        assert_eq!((few.value, many.value), (0.5, 0.5));
        assert!(few.low < 0.5 && few.high > 0.5);
        assert!(many.high - many.low < (few.high - few.low) / 5.0);
    }

    #[test]
    fn equal_figures_have_the_ratio_1() {
        let values = [0.1, 0.5, 0.9];
        let same = ratio(&values, &values, 1);
        assert_eq!((same.value, same.low, same.high), (1.0, 1.0, 1.0));
        assert_eq!(mean(&[], 1).value, 0.0);
    }
}
