//! Quantiles of Student's t, for the confidence intervals.

use std::sync::OnceLock;

use statrs::distribution::{ContinuousCDF as _, StudentsT};

/// Up to here the distribution itself is asked; above, the expansion around the normal quantile is closer and faster.
const DF_MAX: usize = 1000;

/// The quantiles at 0.95, 0.975 and 0.995 of a t distribution with `df` degrees of freedom: those of two-sided intervals
/// at 90, 95 and 99 percent.
pub(crate) fn student_t(df: u64) -> [f64; 3] {
    static TABLE: [OnceLock<[f64; 3]>; DF_MAX + 1] = [const { OnceLock::new() }; DF_MAX + 1];
    match usize::try_from(df).ok().and_then(|df| TABLE.get(df)) {
        Some(cell) => *cell.get_or_init(|| [0.95, 0.975, 0.995].map(|p| by_search(df as f64, p))),
        None => NORMAL.map(|z| expansion(z, df as f64)),
    }
}

/// The normal quantiles at the same places.
const NORMAL: [f64; 3] = [1.644_853_626_951_472_7, 1.959_963_984_540_054, 2.575_829_303_548_900_4];

/// The library's inverse, improved by Newton steps on its distribution function.
fn by_search(df: f64, p: f64) -> f64 {
    let Ok(distribution) = StudentsT::new(0.0, 1.0, df) else { return f64::NAN };
    use statrs::distribution::Continuous as _;
    let mut t = distribution.inverse_cdf(p);
    for _ in 0..3 {
        let slope = distribution.pdf(t);
        t -= (distribution.cdf(t) - p) / slope;
    }
    t
}

/// Cornish and Fisher's expansion; its next term is below 1e-13 from 1000 degrees of freedom.
fn expansion(z: f64, df: f64) -> f64 {
    let z2 = z * z;
    let g1 = z * (z2 + 1.0) / 4.0;
    let g2 = z * ((5.0 * z2 + 16.0) * z2 + 3.0) / 96.0;
    let g3 = z * (((3.0 * z2 + 19.0) * z2 + 17.0) * z2 - 15.0) / 384.0;
    let g4 = z * ((((79.0 * z2 + 776.0) * z2 + 1482.0) * z2 - 1920.0) * z2 - 945.0) / 92_160.0;
    z + (g1 + (g2 + (g3 + g4 / df) / df) / df) / df
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn close(found: f64, expected: f64) {
        assert!((found / expected - 1.0).abs() < 1e-11, "{found} is not {expected}");
    }

    #[test]
    fn known_quantiles() {
        let [a, b, c] = student_t(4);
        close(a, 2.1318467863266495);
        close(b, 2.7764451051977934);
        close(c, 4.604094871349992);
        close(student_t(1)[1], 12.706204736174694);
    }

    #[test]
    fn the_two_ways_meet() {
        for (at, p) in [0.95, 0.975, 0.995].into_iter().enumerate() {
            close(expansion(NORMAL[at], 1000.0), by_search(1000.0, p));
        }
    }
}
