//! Lengths of time as people type them: `5s`, `250ms`, `1h30m`.

use std::time::Duration;

/// The longest that can be given: ten years, as long as a job may be put off.
const MAX: Duration = Duration::from_secs(10 * 365 * 86_400);

/// The units, each with its milliseconds.
const UNITS: [(&str, u64); 5] =
    [("ms", 1), ("s", 1_000), ("m", 60_000), ("h", 3_600_000), ("d", 86_400_000)];

/// Reads a length of time: numbers with units, the largest unit first.
pub(crate) fn parse(text: &str) -> Result<Duration, String> {
    let wrong = || "write a number and a unit, such as 250ms, 5s, 2m, 1h30m or 7d".to_owned();
    if text == "0" {
        return Ok(Duration::ZERO);
    }
    if text.starts_with('-') {
        return Err("less than 0; give a length of time from now on".into());
    }
    let mut rest = text;
    let mut total_ms: u64 = 0;
    let mut smaller_than = u64::MAX;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        let number: u64 = rest[..digits].parse().map_err(|_| wrong())?;
        rest = &rest[digits..];
        let letters = rest.find(|c: char| c.is_ascii_digit()).unwrap_or(rest.len());
        let unit = UNITS.iter().find(|(name, _)| *name == &rest[..letters]);
        let unit_ms = unit.map(|(_, ms)| *ms).filter(|ms| *ms < smaller_than).ok_or_else(wrong)?;
        (rest, smaller_than) = (&rest[letters..], unit_ms);
        total_ms = total_ms.saturating_add(number.saturating_mul(unit_ms));
    }
    match Duration::from_millis(total_ms) {
        _ if text.is_empty() => Err(wrong()),
        length if length > MAX => Err("more than ten years".into()),
        length => Ok(length),
    }
}

/// Reads a length of time that is more than none.
pub(crate) fn parse_positive(text: &str) -> Result<Duration, String> {
    match parse(text)? {
        Duration::ZERO => Err("give more than 0".into()),
        length => Ok(length),
    }
}

/// A length of time as [`parse`] reads it: `1h30m`.
pub(crate) fn shown(length: Duration) -> String {
    let mut rest = u64::try_from(length.as_millis()).unwrap_or(u64::MAX);
    let mut text = String::new();
    for (unit, unit_ms) in UNITS.into_iter().rev() {
        if rest >= unit_ms {
            text += &format!("{}{unit}", rest / unit_ms);
            rest %= unit_ms;
        }
    }
    if text.is_empty() { "0".into() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_add_up_from_the_largest_to_the_smallest() {
        for (text, ms) in [
            ("0", 0),
            ("0s", 0),
            ("250ms", 250),
            ("5s", 5_000),
            ("2m", 120_000),
            ("1h30m", 5_400_000),
            ("7d", 604_800_000),
            ("1d2h3m4s5ms", 93_784_005),
        ] {
            assert_eq!(parse(text), Ok(Duration::from_millis(ms)), "{text}");
        }
    }

    #[test]
    fn what_is_shown_reads_back() {
        for text in ["0", "250ms", "5s", "2m", "1h30m", "7d", "1d2h3m4s5ms"] {
            assert_eq!(shown(parse(text).expect("a length")), text);
        }
    }

    #[test]
    fn everything_else_is_refused() {
        let all = ["", "5", "s", "-5s", "5 s", "1.5s", "5x", "5s2m", "5s5s", "30m1h", "ü", "5µs"];
        for text in all.into_iter().chain(["99999999999999999999s", "3651d"]) {
            assert!(parse(text).is_err(), "{text}");
        }
        assert!(parse_positive("0s").is_err());
    }
}
