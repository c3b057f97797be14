//! A length of time as a mixture of lognormal bells: one for each past run, so that the past's own shape, skewed or with two
//! humps, is kept, and what is seen of the present makes some of them likelier.

use super::normal;

/// A mixture of normal bells over the logarithm of a time.
#[derive(Debug, Clone, Default)]
pub(super) struct Mixture {
    bells: Vec<Component>,
}

/// One bell; weights are logarithms, as evidence can make them very small.
#[derive(Debug, Clone, Copy)]
struct Component {
    ln_weight: f64,
    mean: f64,
    deviation: f64,
}

/// A value with its share of the whole.
pub(super) type Point = (f64, f64);

impl Mixture {
    pub(super) fn add(&mut self, weight: f64, mean: f64, deviation: f64) {
        self.bells.push(Component { ln_weight: weight.ln(), mean, deviation: deviation.max(1e-6) });
    }

    /// Adds the bells of another, as far as that is probable.
    pub(super) fn append(&mut self, other: Mixture, probability: f64) {
        let ln = probability.ln();
        self.bells.extend(
            other
                .bells
                .into_iter()
                .map(|bell| Component { ln_weight: bell.ln_weight + ln, ..bell }),
        );
    }

    /// Multiplies the time.
    pub(super) fn shift(&mut self, ln: f64) {
        for bell in &mut self.bells {
            bell.mean += ln;
        }
    }

    /// Widens every bell by an error of its own.
    pub(super) fn blur(&mut self, deviation: f64) {
        for bell in &mut self.bells {
            bell.deviation = bell.deviation.hypot(deviation);
        }
    }

    /// Some points that stand for the mixture, given that the value is above `ln_elapsed`; likelier bells have more of them.
    pub(super) fn points_above(&self, ln_elapsed: f64) -> Vec<Point> {
        let survivals: Vec<f64> = self.bells.iter().map(|bell| bell.ln_above(ln_elapsed)).collect();
        let ln_weights = self.bells.iter().zip(&survivals).map(|(bell, ln)| bell.ln_weight + ln);
        let top = top(ln_weights.clone());
        let weights: Vec<f64> = ln_weights.map(|ln| (ln - top).exp()).collect();
        let all: f64 = weights.iter().sum();
        let mut points = Vec::with_capacity(POINTS + self.bells.len());
        for ((bell, weight), ln_above) in self.bells.iter().zip(&weights).zip(&survivals) {
            let share = weight / all;
            // What weighs less than this moves no quantile.
            if share < 1e-7 {
                continue;
            }
            let slices = (share * POINTS as f64).ceil();
            for slice in 0..slices as usize {
                let above = 1.0 - (slice as f64 + 0.5) / slices;
                let z = normal::exceeded_with_ln(ln_above + above.ln());
                let value = bell.mean + bell.deviation * z;
                points.push((value.max(ln_elapsed), share / slices));
            }
        }
        points
    }
}

/// About how many points stand for a mixture. The expected end must not flicker while a run waits: with fewer, it does.
const POINTS: usize = 600;

impl Component {
    fn ln_above(&self, value: f64) -> f64 {
        normal::ln_above((value - self.mean) / self.deviation)
    }
}

fn top(ln_weights: impl Iterator<Item = f64>) -> f64 {
    ln_weights.fold(f64::NEG_INFINITY, f64::max)
}

/// As few points as `count`, of equal weight, in place of many.
pub(super) fn thin(mut points: Vec<Point>, count: usize) -> Vec<Point> {
    if points.len() <= count {
        return points;
    }
    points.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
    let shares = (0..count).map(|at| (at as f64 + 0.5) / count as f64);
    let values = sorted_quantiles(&points, shares);
    values.into_iter().map(|value| (value, 1.0)).collect()
}

/// The values below which these shares of the whole lie; shares ascend.
pub(super) fn quantiles<const N: usize>(mut points: Vec<Point>, shares: [f64; N]) -> [f64; N] {
    points.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
    let values = sorted_quantiles(&points, shares.into_iter());
    std::array::from_fn(|at| values.get(at).copied().unwrap_or(0.0))
}

/// Each point stands in the middle of its share; between two points values go straight.
fn sorted_quantiles(points: &[Point], shares: impl Iterator<Item = f64>) -> Vec<f64> {
    let total: f64 = points.iter().map(|point| point.1).sum();
    let (mut at, mut before) = (0, 0.0);
    let mut values = Vec::new();
    for share in shares {
        let wanted = share * total;
        let middle = |at: usize, before: f64| before + points[at].1 / 2.0;
        while at + 1 < points.len() && middle(at + 1, before + points[at].1) < wanted {
            before += points[at].1;
            at += 1;
        }
        let (left, right) = (middle(at, before), at + 1);
        let value = match points.get(right) {
            Some(next) if wanted > left => {
                let width = middle(right, before + points[at].1) - left;
                points[at].0 + (next.0 - points[at].0) * ((wanted - left) / width).clamp(0.0, 1.0)
            }
            _ => points[at].0,
        };
        values.push(value);
    }
    values
}
