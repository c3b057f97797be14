//! JSON numbers: where they end, and how ECMAScript would write them.

use super::Error;

/// The position after the number that begins at `start`.
pub(super) fn end(text: &str, start: usize) -> Result<usize, Error> {
    let bytes = text.as_bytes();
    let mut at = start + usize::from(bytes[start] == b'-');
    let whole = at;
    at = digits_end(bytes, at)?;
    if bytes[whole] == b'0' && at > whole + 1 {
        return Err(Error::NotJson { expected: "a number without leading zeros", at: whole });
    }
    // A double holds any number of up to 308 digits.
    let mut maybe_large = at - whole > 308;
    if bytes.get(at) == Some(&b'.') {
        at = digits_end(bytes, at + 1)?;
    }
    if let Some(b'e' | b'E') = bytes.get(at) {
        let signed = matches!(bytes.get(at + 1), Some(b'+' | b'-'));
        at = digits_end(bytes, at + 1 + usize::from(signed))?;
        maybe_large = true;
    }
    if maybe_large && text[start..at].parse::<f64>().is_ok_and(f64::is_infinite) {
        return Err(Error::NumberTooLarge { at: start });
    }
    Ok(at)
}

fn digits_end(bytes: &[u8], at: usize) -> Result<usize, Error> {
    match bytes[at..].iter().take_while(|byte| byte.is_ascii_digit()).count() {
        0 => Err(Error::NotJson { expected: "a digit", at }),
        count => Ok(at + count),
    }
}

/// The length of the checked number that `text` begins with.
pub(super) fn length(text: &str) -> usize {
    let of_number = |byte: &u8| matches!(byte, b'-' | b'+' | b'.' | b'e' | b'E' | b'0'..=b'9');
    text.as_bytes().iter().take_while(|byte| of_number(byte)).count()
}

/// Writes a checked number as ECMAScript does, from its text.
///
/// A decimal of up to 15 digits is the shortest that reads as its double, so in the range of normal doubles the digits
/// of the text are the digits that ECMAScript would choose. Those beyond are kept: no double is needed for either.
pub(super) fn spell(out: &mut String, text: &str) {
    let (sign, size) = match text.strip_prefix('-') {
        Some(size) => ("-", size),
        None => ("", text),
    };
    // Most numbers are short and whole, and stay as they are.
    if size != "0" && size.len() <= 21 && size.bytes().all(|byte| byte.is_ascii_digit()) {
        return out.extend([sign, size]);
    }
    let mut decimal = Decimal::parse(size);
    if decimal.point < NORMAL_POINT_MIN && decimal.digits.len() <= CJSON_DIGITS {
        decimal = decimal.through_cjson();
    }
    if decimal.digits.is_empty() {
        return out.push('0');
    }
    out.push_str(sign);
    place_point(out, &decimal.digits, decimal.point);
}

/// The digits that cjson writes.
const CJSON_DIGITS: usize = 14;

/// Numbers with the point further to the left have fewer digits in a double than in their text.
const NORMAL_POINT_MIN: i64 = -306;

/// The number `0.DIGITS * 10^point`; zero has no digits.
struct Decimal {
    digits: String,
    point: i64,
}

impl Decimal {
    fn parse(text: &str) -> Decimal {
        let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let written = [whole, fraction].concat();
        let leading_zeros = written.len() - written.trim_start_matches('0').len();
        // Larger exponents than this can only be negative: no checked number is that large.
        let exponent = exponent.parse::<i64>().unwrap_or(i64::MIN / 2);
        let point = exponent.saturating_add(whole.len() as i64 - leading_zeros as i64);
        Decimal { digits: written.trim_matches('0').to_owned(), point }
    }

    /// The number that is read from what cjson writes for it.
    fn through_cjson(&self) -> Decimal {
        let double = |text: String| text.parse::<f64>().unwrap_or_default();
        let decoded = double(format!("0.{}e{}", self.digits, self.point));
        let encoded = double(format!("{decoded:.precision$e}", precision = CJSON_DIGITS - 1));
        Decimal::parse(&format!("{encoded:e}"))
    }
}

/// Writes `0.DIGITS * 10^point`.
fn place_point(out: &mut String, digits: &str, point: i64) {
    let length = digits.len() as i64;
    match point {
        _ if length <= point && point <= 21 => {
            out.push_str(digits);
            push_zeros(out, point - length);
        }
        1..=21 => {
            let (whole, fraction) = digits.split_at(point as usize);
            out.extend([whole, ".", fraction]);
        }
        -5..=0 => {
            out.push_str("0.");
            push_zeros(out, -point);
            out.push_str(digits);
        }
        _ => {
            let (first, rest) = digits.split_at(1);
            out.push_str(first);
            if !rest.is_empty() {
                out.extend([".", rest]);
            }
            let exponent = point.saturating_sub(1);
            out.push_str(if exponent < 0 { "e" } else { "e+" });
            out.push_str(&exponent.to_string());
        }
    }
}

fn push_zeros(out: &mut String, count: i64) {
    out.extend(std::iter::repeat_n('0', count as usize));
}
