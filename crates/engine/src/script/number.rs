//! Numbers as C prints and converts them: `%.Ng` and the truncating casts that scripts can observe.

use std::io::Write as _;

/// Digits after which a double needs no more to be read back exactly; what Redis prints scores and arguments with.
pub(super) const EXACT: usize = 17;

/// Appends `value` as `printf("%.{digits}g")` would.
pub(super) fn append_g(out: &mut Vec<u8>, value: f64, digits: usize) {
    if append_integer(out, value, digits) {
        return;
    }
    if !value.is_finite() {
        out.extend_from_slice(match (value.is_nan(), value.is_sign_negative()) {
            (true, true) => b"-nan".as_slice(),
            (true, false) => b"nan",
            (false, true) => b"-inf",
            (false, false) => b"inf",
        });
        return;
    }
    let digits = digits.max(1);
    let start = out.len();
    // Rust's `{:e}` rounds exactly; C's `%g` is the same digits laid out another way.
    write!(out, "{:.*e}", digits - 1, value).expect("writing to a vector cannot fail");
    let mut text = [0u8; 40];
    let written = &out[start..];
    let length = written.len();
    text[..length].copy_from_slice(written);
    out.truncate(start);
    lay_out(out, &text[..length], digits);
}

/// Appends whole numbers that `%g` prints without an exponent, which are nearly all; says whether it did.
fn append_integer(out: &mut Vec<u8>, value: f64, digits: usize) -> bool {
    let limit = if digits >= 15 { 1e15 } else { 10f64.powi(digits as i32) };
    let whole = value as i64;
    if value.abs() >= limit || whole as f64 != value || (whole == 0 && value.is_sign_negative()) {
        return false;
    }
    out.extend_from_slice(itoa::Buffer::new().format(whole).as_bytes());
    true
}

/// Turns `d.ddde[-]x` into what `%g` prints.
fn lay_out(out: &mut Vec<u8>, text: &[u8], digits: usize) {
    let split = text.iter().position(|&byte| byte == b'e').unwrap_or(text.len());
    let (mantissa, exponent) = text.split_at(split);
    let exponent: i32 = std::str::from_utf8(exponent.get(1..).unwrap_or_default())
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or_default();
    let (sign, mantissa) = match mantissa.strip_prefix(b"-") {
        Some(rest) => (b"-".as_slice(), rest),
        None => (b"".as_slice(), mantissa),
    };
    out.extend_from_slice(sign);
    let mut figures = [0u8; 40];
    let mut n_figures = 0;
    for &byte in mantissa.iter().filter(|byte| byte.is_ascii_digit()) {
        figures[n_figures] = byte;
        n_figures += 1;
    }
    while n_figures > 1 && figures[n_figures - 1] == b'0' {
        n_figures -= 1;
    }
    let figures = &figures[..n_figures];
    if exponent < -4 || exponent >= digits as i32 {
        append_scientific(out, figures, exponent);
    } else if exponent < 0 {
        out.extend_from_slice(b"0.");
        out.extend(std::iter::repeat_n(b'0', (-exponent - 1) as usize));
        out.extend_from_slice(figures);
    } else {
        let whole = exponent as usize + 1;
        out.extend_from_slice(&figures[..whole.min(figures.len())]);
        out.extend(std::iter::repeat_n(b'0', whole.saturating_sub(figures.len())));
        if figures.len() > whole {
            out.push(b'.');
            out.extend_from_slice(&figures[whole..]);
        }
    }
}

fn append_scientific(out: &mut Vec<u8>, figures: &[u8], exponent: i32) {
    out.push(figures[0]);
    if figures.len() > 1 {
        out.push(b'.');
        out.extend_from_slice(&figures[1..]);
    }
    out.extend_from_slice(if exponent < 0 { b"e-" } else { b"e+" });
    write!(out, "{:02}", exponent.unsigned_abs()).expect("writing to a vector cannot fail");
}

/// The cast from double to 64-bit integer as x86-64 does it: towards zero, and the smallest integer for all that does not fit.
pub(super) fn to_i64(value: f64) -> i64 {
    // 2^63 is exact as a double; NaN fails both comparisons.
    if (-9_223_372_036_854_775_808.0..9_223_372_036_854_775_808.0).contains(&value) {
        value as i64
    } else {
        i64::MIN
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(value: f64, digits: usize, expected: &str) {
        let mut out = Vec::new();
        append_g(&mut out, value, digits);
        assert_eq!(String::from_utf8(out).unwrap(), expected);
    }

    #[test]
    fn seventeen_digits_print_as_c_does() {
        check(0.1, 17, "0.10000000000000001");
        check(5.5, 17, "5.5");
        check(1e16, 17, "10000000000000000");
        check(1e17, 17, "1e+17");
        check(12345678901234567.0, 17, "12345678901234568");
        check(-0.0, 17, "-0");
        check(1e300, 17, "1.0000000000000001e+300");
        check(f64::NEG_INFINITY, 17, "-inf");
        check(1e-5, 17, "1.0000000000000001e-05");
        check(0.0001, 17, "0.0001");
    }

    #[test]
    fn fourteen_digits_print_as_c_does() {
        check(0.1 + 0.2, 14, "0.3");
        check(123456789012345.0, 14, "1.2345678901234e+14");
        check(99999999999999.0, 14, "99999999999999");
        check(1e-7, 14, "1e-07");
        check(-1234.5, 14, "-1234.5");
        check(1e100, 14, "1e+100");
        check(9.99999999999999e14, 14, "1e+15");
        check(3.0, 1, "3");
        check(35.0, 1, "4e+01");
        check(0.25, 1, "0.2");
    }

    #[test]
    fn casts_that_do_not_fit_give_the_smallest_integer() {
        assert_eq!(to_i64(3.99), 3);
        assert_eq!(to_i64(-3.99), -3);
        assert_eq!(to_i64(9.3e18), i64::MIN);
        assert_eq!(to_i64(f64::NAN), i64::MIN);
        assert_eq!(to_i64(-9.223372036854775e18), -9223372036854774784);
    }
}
