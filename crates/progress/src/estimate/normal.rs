//! The normal distribution, exact enough far out in its tail: runs that take longer than any before are judged there.

use std::f64::consts::PI;

/// Where the tail's series is better than the formula for the middle.
const FAR: f64 = 6.0;

/// The logarithm of the probability of more than `z`.
pub(super) fn ln_above(z: f64) -> f64 {
    if z < -FAR {
        return -ln_above(-z).exp();
    }
    if z < FAR {
        return above(z).ln();
    }
    // The asymptotic series; its next term is below 1e-4 here.
    let square = z * z;
    -square / 2.0 - (z * (2.0 * PI).sqrt()).ln()
        + (1.0 - 1.0 / square + 3.0 / (square * square)).ln()
}

/// The value that is exceeded with this probability, to 0.0005 (Abramowitz and Stegun, formula 26.2.23).
pub(super) fn exceeded_with_ln(ln_probability: f64) -> f64 {
    let ln_probability = ln_probability.clamp(-1e6, -1e-14);
    if ln_probability > -std::f64::consts::LN_2 {
        return -exceeded_with_ln((-ln_probability.exp_m1()).ln());
    }
    let t = (-2.0 * ln_probability).sqrt();
    let above = 2.515_517 + t * (0.802_853 + t * 0.010_328);
    let below = 1.0 + t * (1.432_788 + t * (0.189_269 + t * 0.001_308));
    t - above / below
}

/// The probability of more than `z`, by a continued fraction in the tail and a series around zero.
fn above(z: f64) -> f64 {
    let density = (-z * z / 2.0).exp() / (2.0 * PI).sqrt();
    if z.abs() < 2.5 {
        let (mut term, mut sum) = (z, z);
        for k in 1..40 {
            term *= z * z / f64::from(2 * k + 1);
            sum += term;
        }
        return 0.5 - density * sum;
    }
    let mut fraction = z.abs();
    for k in (1..40).rev() {
        fraction = z.abs() + f64::from(k) / fraction;
    }
    let tail = density / fraction;
    if z > 0.0 { tail } else { 1.0 - tail }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn probabilities_are_those_of_the_tables() {
        for (z, probability) in [
            (-7.0, 0.999_999_999_998_72),
            (-1.0, 0.841_344_746_068_543),
            (0.0, 0.5),
            (1.281_551_565_544_6, 0.1),
            (2.499, 0.006_227_215_6),
            (2.501, 0.006_192_158_9),
            (5.0, 2.866_515_719e-7),
            (8.0, 6.220_960_574e-16),
        ] {
            let found = ln_above(z).exp();
            assert!((found / probability - 1.0).abs() < 1e-4, "{z}: {found}, not {probability}");
        }
    }

    #[test]
    fn values_and_their_probabilities_belong_together() {
        for z in [-5.0, -2.0, -0.1, 0.0, 0.5, 3.0, 5.9, 6.1, 20.0, 200.0] {
            let back = exceeded_with_ln(ln_above(z));
            assert!((back - z).abs() < 1e-3, "{z} became {back}");
        }
    }
}
