//! Numbers as Redis reads and writes them.

/// The integer that `text` is, if it is written the one way Redis accepts: no sign but `-`, no leading zero, no spaces.
pub(crate) fn parse_int(text: &[u8]) -> Option<i64> {
    let (negative, digits) = match text.split_first()? {
        (b'-', rest) => (true, rest),
        _ => (false, text),
    };
    match digits {
        [b'0'] if !negative => return Some(0),
        [b'1'..=b'9', ..] if digits.len() <= 19 => {}
        _ => return None,
    }
    let mut n: u64 = 0;
    for digit in digits {
        if !digit.is_ascii_digit() {
            return None;
        }
        n = n * 10 + u64::from(digit - b'0');
    }
    if negative { 0i64.checked_sub_unsigned(n) } else { i64::try_from(n).ok() }
}

/// The text of an integer.
pub(crate) fn format_int(n: i64) -> Vec<u8> {
    itoa::Buffer::new().format(n).as_bytes().to_vec()
}

/// The float that `text` is, by the rules of C's `strtod` as Redis applies them: the whole text, no spaces in front,
/// no NaN, no overflow; `inf` and hexadecimal are fine.
pub(crate) fn parse_float(text: &[u8]) -> Option<f64> {
    let text = std::str::from_utf8(text).ok()?;
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    if unsigned.len() > 1 && unsigned.as_bytes()[..2].eq_ignore_ascii_case(b"0x") {
        let magnitude = parse_hex_float(&unsigned[2..])?;
        return Some(if text.starts_with('-') { -magnitude } else { magnitude });
    }
    let n: f64 = text.parse().ok()?;
    let says_infinity = unsigned.starts_with(['i', 'I']);
    (!n.is_nan() && (n.is_finite() || says_infinity)).then_some(n)
}

/// The end of a score range, by the looser rules Redis has for it: spaces in front are fine, nothing at all is 0, what is
/// too large is infinite, and a zero byte ends the text.
pub(crate) fn parse_bound(text: &[u8]) -> Option<f64> {
    let text = text.split(|byte| *byte == 0).next().unwrap_or_default();
    if text.is_empty() {
        return Some(0.0);
    }
    let is_space = |byte: &u8| matches!(byte, b' ' | b'\t'..=b'\r');
    let text = &text[text.iter().take_while(|byte| is_space(byte)).count()..];
    parse_float(text).or_else(|| {
        let n: f64 = std::str::from_utf8(text).ok()?.parse().ok()?;
        n.is_infinite().then_some(n)
    })
}

/// `A.8p3`: hexadecimal digits with an optional binary exponent.
fn parse_hex_float(text: &str) -> Option<f64> {
    let (digits, exponent) = match text.split_once(['p', 'P']) {
        Some((digits, exponent)) => (digits, exponent.parse::<i32>().ok()?),
        None => (text, 0),
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    if whole.is_empty() && fraction.is_empty() {
        return None;
    }
    let mut magnitude = 0.0f64;
    for digit in whole.chars().chain(fraction.chars()) {
        magnitude = magnitude * 16.0 + f64::from(digit.to_digit(16)?);
    }
    let n = magnitude * 2f64.powi(exponent.saturating_sub(4 * fraction.len() as i32));
    n.is_finite().then_some(n)
}

/// A float with up to `digits` significant digits, like C's `%.{digits}g`.
pub(crate) fn format_general(n: f64, digits: usize) -> String {
    if n.is_nan() {
        return if n.is_sign_negative() { "-nan" } else { "nan" }.into();
    }
    if n.is_infinite() {
        return if n > 0.0 { "inf" } else { "-inf" }.into();
    }
    let scientific = format!("{:.*e}", digits - 1, n);
    let (mantissa, exponent) = scientific.split_once('e').expect("the e format has an exponent");
    let exponent: i32 = exponent.parse().expect("the exponent is an integer");
    if exponent < -4 || exponent >= digits as i32 {
        let sign = if exponent < 0 { '-' } else { '+' };
        return format!("{}e{sign}{:02}", trim_zeros(mantissa), exponent.abs());
    }
    let decimals = (digits as i32 - 1 - exponent).max(0) as usize;
    trim_zeros(&format!("{n:.decimals$}")).to_owned()
}

fn trim_zeros(text: &str) -> &str {
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { text }
}

/// A score or other double as replies carry it: 17 significant digits, integers plain.
pub(crate) fn format_double(n: f64) -> String {
    if n == n.trunc() && n.abs() < 1e15 && !(n == 0.0 && n.is_sign_negative()) {
        return itoa::Buffer::new().format(n as i64).to_owned();
    }
    format_general(n, 17)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_have_one_spelling() {
        for good in ["0", "1", "-1", "9223372036854775807", "-9223372036854775808"] {
            let n = parse_int(good.as_bytes()).expect(good);
            assert_eq!(format_int(n), good.as_bytes());
        }
        for bad in ["", "-", "-0", "01", "+1", " 1", "1 ", "9223372036854775808", "1.0", "a"] {
            assert_eq!(parse_int(bad.as_bytes()), None, "{bad}");
        }
    }

    #[test]
    fn floats_follow_strtod() {
        assert_eq!(parse_float(b"0x1.8p1"), Some(3.0));
        assert_eq!(parse_float(b"-0xA"), Some(-10.0));
        assert_eq!(parse_float(b"+inf"), Some(f64::INFINITY));
        assert_eq!(parse_float(b"5."), Some(5.0));
        for bad in ["", " 1", "1 ", "nan", "1e999", "0x", "1_0", "e5"] {
            assert_eq!(parse_float(bad.as_bytes()), None, "{bad}");
        }
    }

    #[test]
    fn general_format_matches_c() {
        let cases: [(f64, usize, &str); 9] = [
            (2.1, 17, "2.1000000000000001"),
            (0.1, 14, "0.1"),
            (1e20, 17, "1e+20"),
            (1e-7, 17, "9.9999999999999995e-08"),
            (123456789.0, 17, "123456789"),
            (1e17, 17, "1e+17"),
            (1e16, 17, "10000000000000000"),
            (-0.0, 17, "-0"),
            (100.0, 14, "100"),
        ];
        for (n, digits, text) in cases {
            assert_eq!(format_general(n, digits), text);
        }
    }
}
