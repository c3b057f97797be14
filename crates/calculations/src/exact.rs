//! From exact fractions to floating-point numbers, rounded once.

use num_bigint::{BigInt, BigUint, Sign};
use num_integer::Integer;

/// The floating-point number nearest to `p / q`. `q` is not zero.
pub(crate) fn ratio(p: &BigInt, q: &BigInt) -> f64 {
    let negative = (p.sign() == Sign::Minus) != (q.sign() == Sign::Minus);
    let nearest = unsigned_ratio(p.magnitude(), q.magnitude());
    // A zero has no sign, so that equal results have equal texts.
    if negative && nearest != 0.0 { -nearest } else { nearest }
}

fn unsigned_ratio(p: &BigUint, q: &BigUint) -> f64 {
    if p.bits() == 0 {
        return 0.0;
    }
    if p.bits() <= 53 && q.bits() <= 53 {
        // Both are exact as they are, and so one division rounds once.
        return small(p) / small(q);
    }
    // Shift until the quotient has 64 or 65 bits: more than the 53 that count, so what is cut off only breaks ties.
    let shift = 64 + q.bits() as i64 - p.bits() as i64;
    let (p, q) = if shift >= 0 {
        (p << shift.unsigned_abs(), q.clone())
    } else {
        (p.clone(), q << shift.unsigned_abs())
    };
    let (mut quotient, rest) = p.div_rem(&q);
    let mut inexact = rest.bits() > 0;
    let mut exponent = -shift;
    while quotient.bits() > 64 {
        inexact |= quotient.bit(0);
        quotient >>= 1u8;
        exponent += 1;
    }
    let top = quotient.iter_u64_digits().next().unwrap_or(0) | u64::from(inexact);
    scale(top as f64, exponent)
}

fn small(n: &BigUint) -> f64 {
    n.iter_u64_digits().next().unwrap_or(0) as f64
}

/// `number` times two to the power of `exponent`, in steps that each stay in range.
fn scale(mut number: f64, mut exponent: i64) -> f64 {
    while exponent > 0 {
        let step = exponent.min(512);
        number *= 2f64.powi(step as i32);
        exponent -= step;
    }
    while exponent < 0 {
        let step = (-exponent).min(512);
        number /= 2f64.powi(step as i32);
        exponent += step;
    }
    number
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(p: &str, q: &str, expected: f64) {
        assert_eq!(ratio(&p.parse().unwrap(), &q.parse().unwrap()), expected, "{p} / {q}");
    }

    #[test]
    fn fractions_round_to_the_nearest() {
        check("1", "3", 1.0 / 3.0);
        check("-2", "3", -2.0 / 3.0);
        check("0", "-7", 0.0);
        check("100000000000000000000000000000000000001", "10", 1e37);
        check("1", "1000000000000000000000000000000000000000000", 1e-42);
        check("1797693134862315700000000000000000000", "1000000000000", 1.7976931348623157e24);
        // A tie that only the last cut-off bit breaks.
        check("9007199254740993000000000000001", "1000000000000000", 9007199254740994.0 / 1.0);
    }

    #[test]
    fn parsing_decimals_agrees_with_the_standard_library() {
        for text in ["0.1", "123456789.123456789123456789", "-98765432109876543210.5", "4.35e-30"] {
            let decimal: crate::Decimal = text.parse().unwrap();
            assert_eq!(decimal.to_f64(), text.parse::<f64>().unwrap(), "{text}");
        }
    }
}
