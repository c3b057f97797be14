//! Values in a form that sorts as text: what a bucket's smallest and largest values are found by.
//!
//! A member of the ordered set is the bucket's number and the value, separated by a space. A value is its sign, the place of
//! its point, and its digits; for a negative one each digit is what is missing to nine, so that more is less.

use num_bigint::Sign;

use crate::decimal::Decimal;

/// Added to the place of the point, so that it is not negative; values have at most 100 digits on either side.
const PLACE_ZERO: i64 = 500;

/// What all members of a bucket begin with.
pub(crate) fn bucket_prefix(number: u64) -> String {
    format!("{number:012} ")
}

/// The member for a value in the form that [`encode`] gives it.
pub(crate) fn member(number: u64, code: &str) -> String {
    format!("{number:012} {code}")
}

/// The value of a member.
pub(crate) fn value_of(member: &str) -> Option<Decimal> {
    decode(member.split(' ').nth(1)?)
}

/// The value as text: equal values have equal texts, and texts are in the order of values.
pub(crate) fn encode(value: &Decimal) -> String {
    let (sign, digits, place) = value.significant();
    match sign {
        Sign::NoSign => "5".to_owned(),
        Sign::Plus => format!("6{:03}{digits}", PLACE_ZERO + place),
        // The sign at the end makes -1.2 come before -1.
        Sign::Minus => format!("4{}~", nines(&format!("{:03}{digits}", PLACE_ZERO + place))),
    }
}

fn decode(text: &str) -> Option<Decimal> {
    let (sign, rest) = match text.split_at_checked(1)? {
        ("5", "") => return Some(Decimal::default()),
        ("6", rest) => ("", rest.to_owned()),
        ("4", rest) => ("-", nines(rest.strip_suffix('~')?)),
        _ => return None,
    };
    let (place, digits) = rest.split_at_checked(3)?;
    let exponent = place.parse::<i64>().ok()? - PLACE_ZERO - digits.len() as i64;
    format!("{sign}{digits}e{exponent}").parse().ok()
}

/// What is missing to nine, digit by digit.
fn nines(digits: &str) -> String {
    let missing =
        |digit: char| digit.to_digit(10).map_or(digit, |digit| char::from(b'9' - digit as u8));
    digits.chars().map(missing).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_in_the_order_of_values() {
        let in_order = [
            "-1e99", "-120", "-100.5", "-100", "-99.9", "-1.2", "-1", "-0.5", "-0.05", "-1e-99",
            "0", "1e-99", "0.05", "0.5", "1", "1.2", "12", "99.9", "100", "100.5", "120", "1e99",
        ];
        let texts: Vec<String> =
            in_order.iter().map(|text| member(7, &encode(&text.parse().unwrap()))).collect();
        assert!(texts.is_sorted(), "{texts:#?}");
        for (member, text) in texts.iter().zip(in_order) {
            assert_eq!(value_of(member), Some(text.parse().unwrap()), "{member}");
        }
    }

    #[test]
    fn equal_values_have_equal_texts() {
        let code = |text: &str| encode(&text.parse().unwrap());
        assert_eq!(code("7.0"), code("7"));
        assert_eq!(code("1e3"), code("1000"));
        assert_eq!(code("-0"), code("0.00"));
    }
}
