//! Exact decimals: what values are, and what sums are kept in.
//!
//! A sum of decimals is the same in any order; a sum of floating-point numbers is not. Everything that is stored is
//! therefore added up here, and becomes a floating-point number once, at the very end.

use std::{
    cmp::Ordering,
    fmt,
    ops::{Add, AddAssign, Mul, Sub},
    str::FromStr,
    sync::LazyLock,
};

use num_bigint::{BigInt, Sign};

/// The most digits a value may have on either side of the point: beyond any measurement, and squares still fit into
/// floating-point numbers.
pub const DIGITS_MAX: usize = 100;

/// A decimal number of any length.
#[derive(Debug, Clone, Default)]
pub struct Decimal {
    digits: BigInt,
    /// How many of the digits stand after the point.
    scale: usize,
}

/// Why a text is no value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{reason}; give a decimal number such as \"7.07\"")]
pub struct DecimalError {
    reason: String,
}

/// Powers of ten as far as scales usually go.
static TENS: LazyLock<Vec<BigInt>> = LazyLock::new(|| {
    let ten = BigInt::from(10);
    let powers = std::iter::successors(Some(BigInt::from(1)), |power| Some(power * &ten));
    powers.take(2 * DIGITS_MAX + 2).collect()
});

/// Ten to the power of `n`.
pub(crate) fn ten_to(n: usize) -> BigInt {
    TENS.get(n).cloned().unwrap_or_else(|| BigInt::from(10).pow(n as u32))
}

impl Decimal {
    /// Is it less than nothing?
    pub fn is_negative(&self) -> bool {
        self.digits.sign() == Sign::Minus
    }

    /// Is it nothing?
    pub fn is_zero(&self) -> bool {
        self.digits.sign() == Sign::NoSign
    }

    /// How many digits stand after the point.
    pub(crate) fn scale(&self) -> usize {
        self.scale
    }

    /// The number times ten to the power of `scale`, which is not less than its own.
    pub(crate) fn scaled_to(&self, scale: usize) -> BigInt {
        match scale - self.scale {
            0 => self.digits.clone(),
            more => &self.digits * ten_to(more),
        }
    }

    /// The nearest floating-point number.
    pub fn to_f64(&self) -> f64 {
        crate::exact::ratio(&self.digits, &ten_to(self.scale))
    }

    /// Divided by a whole number other than 0, to the nearest floating-point number.
    pub(crate) fn per(&self, n: u64) -> f64 {
        crate::exact::ratio(&self.digits, &(ten_to(self.scale) * n))
    }

    /// Times a whole number.
    pub(crate) fn times(&self, n: u64) -> Decimal {
        Decimal { digits: &self.digits * n, scale: self.scale }
    }

    /// Sign, digits without zeros at either end, and where the point is: 0.0120 is (12, -1), or 0.12 times ten to that.
    pub(crate) fn significant(&self) -> (Sign, String, i64) {
        let text = self.digits.magnitude().to_string();
        let exponent = text.len() as i64 - self.scale as i64;
        let digits = text.trim_end_matches('0').to_owned();
        (self.digits.sign(), digits, exponent)
    }
}

impl Decimal {
    /// Reads a sum as it was stored: plain digits, as many as there are.
    pub(crate) fn stored(text: &str) -> Result<Decimal, DecimalError> {
        let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
        let digits = if fraction.is_empty() {
            BigInt::parse_bytes(whole.as_bytes(), 10)
        } else {
            BigInt::parse_bytes(format!("{whole}{fraction}").as_bytes(), 10)
        };
        let digits = digits
            .ok_or_else(|| DecimalError { reason: format!("\"{}\" is no sum", short(text)) })?;
        Ok(Decimal { digits, scale: fraction.len() })
    }
}

impl FromStr for Decimal {
    type Err = DecimalError;

    /// Reads `7`, `-7.07`, `+.5` and `1.5e-3`.
    fn from_str(text: &str) -> Result<Decimal, DecimalError> {
        let error = |reason: &str| DecimalError { reason: format!("\"{}\" {reason}", short(text)) };
        let not_a_number = || error("is no number");
        let (mantissa, exponent) = match text.split_once(['e', 'E']) {
            Some((mantissa, exponent)) => {
                (mantissa, exponent.parse::<i32>().map_err(|_| not_a_number())?)
            }
            None => (text, 0),
        };
        let unsigned = mantissa.strip_prefix(['-', '+']).unwrap_or(mantissa);
        let (whole, fraction) = unsigned.split_once('.').unwrap_or((unsigned, ""));
        let is_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        if whole.len() + fraction.len() == 0 || !is_digits(whole) || !is_digits(fraction) {
            return Err(not_a_number());
        }
        let fraction_kept = fraction.trim_end_matches('0');
        let whole_len = whole.trim_start_matches('0').len() as i64 + i64::from(exponent);
        let scale = fraction_kept.len() as i64 - i64::from(exponent);
        if whole.len() > 2 * DIGITS_MAX
            || fraction.len() > 2 * DIGITS_MAX
            || whole_len > DIGITS_MAX as i64
            || scale > DIGITS_MAX as i64
        {
            return Err(error("has more than 100 digits before or after the point"));
        }
        let digits = format!("{whole}{fraction_kept}");
        let digits = BigInt::parse_bytes(digits.as_bytes(), 10).unwrap_or_default();
        let digits = if mantissa.starts_with('-') { -digits } else { digits };
        match usize::try_from(scale) {
            Ok(scale) => Ok(Decimal { digits, scale }),
            Err(_) => {
                Ok(Decimal { digits: digits * ten_to(scale.unsigned_abs() as usize), scale: 0 })
            }
        }
    }
}

/// The text for an error message.
fn short(text: &str) -> String {
    text.chars().take(40).flat_map(char::escape_debug).collect()
}

/// Plain digits without needless zeros: `219`, `12.12`, `-0.5`.
impl fmt::Display for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = self.digits.magnitude().to_string();
        let sign = if self.is_negative() { "-" } else { "" };
        if self.scale == 0 {
            return write!(f, "{sign}{digits}");
        }
        let padded = format!("{digits:0>width$}", width = self.scale + 1);
        let (whole, fraction) = padded.split_at(padded.len() - self.scale);
        match fraction.trim_end_matches('0') {
            "" => write!(f, "{sign}{whole}"),
            fraction => write!(f, "{sign}{whole}.{fraction}"),
        }
    }
}

/// Both numbers as whole ones, and the scale at which they are that.
fn aligned(a: &Decimal, b: &Decimal) -> (BigInt, BigInt, usize) {
    let scale = a.scale.max(b.scale);
    (a.scaled_to(scale), b.scaled_to(scale), scale)
}

impl Add for &Decimal {
    type Output = Decimal;

    fn add(self, other: &Decimal) -> Decimal {
        if self.scale == other.scale {
            return Decimal { digits: &self.digits + &other.digits, scale: self.scale };
        }
        let (a, b, scale) = aligned(self, other);
        Decimal { digits: a + b, scale }
    }
}

impl Sub for &Decimal {
    type Output = Decimal;

    fn sub(self, other: &Decimal) -> Decimal {
        if self.scale == other.scale {
            return Decimal { digits: &self.digits - &other.digits, scale: self.scale };
        }
        let (a, b, scale) = aligned(self, other);
        Decimal { digits: a - b, scale }
    }
}

impl Mul for &Decimal {
    type Output = Decimal;

    fn mul(self, other: &Decimal) -> Decimal {
        Decimal { digits: &self.digits * &other.digits, scale: self.scale + other.scale }
    }
}

impl AddAssign<&Decimal> for Decimal {
    fn add_assign(&mut self, other: &Decimal) {
        if self.scale == other.scale {
            self.digits += &other.digits;
        } else {
            *self = &*self + other;
        }
    }
}

impl Ord for Decimal {
    fn cmp(&self, other: &Decimal) -> Ordering {
        if self.scale == other.scale {
            return self.digits.cmp(&other.digits);
        }
        let (a, b, _) = aligned(self, other);
        a.cmp(&b)
    }
}

impl PartialOrd for Decimal {
    fn partial_cmp(&self, other: &Decimal) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Decimal {
    fn eq(&self, other: &Decimal) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Decimal {}

#[cfg(test)]
mod tests {
    use super::*;

    fn decimal(text: &str) -> Decimal {
        text.parse().expect("a decimal")
    }

    #[test]
    fn numbers_are_written_without_needless_zeros() {
        for (given, shown) in [
            ("7.070", "7.07"),
            ("-0.50", "-0.5"),
            ("219.0", "219"),
            ("+.5", "0.5"),
            ("5.", "5"),
            ("-0", "0"),
            ("1.5e3", "1500"),
            ("15E-3", "0.015"),
            ("100e-2", "1"),
            ("000120", "120"),
        ] {
            assert_eq!(decimal(given).to_string(), shown, "{given}");
        }
    }

    #[test]
    fn texts_that_are_no_number_are_refused() {
        for text in ["", "-", ".", "1,5", "NaN", "inf", "0x10", "1e", "1e9999999999", "1 ", "--1"] {
            assert!(text.parse::<Decimal>().is_err(), "{text:?}");
        }
        assert!("1e100".parse::<Decimal>().is_err());
        assert!("1e-101".parse::<Decimal>().is_err());
        assert!("1e99".parse::<Decimal>().is_ok());
        assert!("1e2147483647".parse::<Decimal>().is_err());
    }

    #[test]
    fn sums_and_products_are_exact() {
        let sum = &decimal("0.1") + &decimal("0.2");
        assert_eq!(sum, decimal("0.3"));
        assert_eq!((&sum - &decimal("0.3")).to_string(), "0");
        assert_eq!((&decimal("1.5") * &decimal("-0.02")).to_string(), "-0.03");
        assert!(decimal("-2") < decimal("-1.9"));
        assert_eq!(decimal("0.1").to_f64(), 0.1);
    }
}
