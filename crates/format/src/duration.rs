//! Durations: as they are printed, `59.9 s`, and as people type them, `1h30m`.
//!
//! Below a second in milliseconds; below a minute in seconds, with a tenth unless it is 0; above, in the two largest units.
//! Nothing is rounded up: what is printed has passed.

use std::time::Duration;

/// A duration: `340 ms`, `1.2 s`, `59.9 s`, `5 min 3 s`, `3 d 4 h`.
pub fn duration(time: Duration) -> String {
    duration_ms(u64::try_from(time.as_millis()).unwrap_or(u64::MAX))
}

/// The same of milliseconds.
pub fn duration_ms(ms: u64) -> String {
    let s = ms / 1_000;
    match s {
        0 if ms > 0 => format!("{ms} ms"),
        0..60 => match ms % 1_000 / 100 {
            0 => format!("{s} s"),
            tenths => format!("{s}.{tenths} s"),
        },
        60..3_600 => format!("{} min {} s", s / 60, s % 60),
        3_600..86_400 => format!("{} h {} min", s / 3_600, s % 3_600 / 60),
        _ => format!("{} d {} h", s / 86_400, s % 86_400 / 3_600),
    }
}

/// The same of whole seconds.
pub fn duration_s(s: u64) -> String {
    duration_ms(s.saturating_mul(1_000))
}

/// The same of seconds; what is no time is 0.
pub fn duration_seconds(seconds: f64) -> String {
    // A cast takes what is too large for the largest, and what is no number for zero.
    duration_ms((seconds * 1_000.0).round() as u64)
}

/// An estimated duration in seconds, without digits that mean nothing.
pub fn about(seconds: f64) -> String {
    let seconds = seconds.clamp(0.0, 1e12);
    match seconds {
        ..1.0 => "1 s".to_owned(),
        ..60.0 => format!("{:.0} s", seconds.ceil()),
        _ => duration_s(seconds.round() as u64),
    }
}

/// Milliseconds in one unit, for narrow columns: `12 s`, `5 min`, `3 h`.
pub fn age(ms: u64) -> String {
    let s = ms / 1_000;
    match s {
        0..60 => format!("{s} s"),
        60..3_600 => format!("{} min", s / 60),
        3_600..172_800 => format!("{} h", s / 3_600),
        _ => format!("{} d", s / 86_400),
    }
}

/// The longest that can be given: ten years, as long as a job may be put off.
const MAX: Duration = Duration::from_secs(10 * 365 * 86_400);

/// The units, each with its milliseconds.
const UNITS: [(&str, u64); 5] =
    [("ms", 1), ("s", 1_000), ("m", 60_000), ("h", 3_600_000), ("d", 86_400_000)];

/// Reads a duration: numbers with units, the largest unit first.
///
/// # Errors
/// A sentence that says what to write instead.
pub fn parse(text: &str) -> Result<Duration, String> {
    let wrong = || "write a number and a unit, such as 250ms, 5s, 2m, 1h30m or 7d".to_owned();
    if text == "0" {
        return Ok(Duration::ZERO);
    }
    if text.starts_with('-') {
        return Err("less than 0; give a length of time such as 5s".into());
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
        length if length > MAX => Err("more than ten years; give at most 3650d".into()),
        length => Ok(length),
    }
}

/// Reads a duration that is more than 0.
///
/// # Errors
/// A sentence that says what to write instead.
pub fn parse_positive(text: &str) -> Result<Duration, String> {
    match parse(text)? {
        Duration::ZERO => Err("no time at all; give more than 0, such as 5s".into()),
        length => Ok(length),
    }
}

/// A duration as [`parse`] reads it: `1h30m`.
pub fn typed(length: Duration) -> String {
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
    fn durations_have_the_units_that_matter() {
        let printed = [0, 7, 999, 1_000, 1_250, 59_949, 59_999, 303_000].map(duration_ms);
        let expected = ["0 s", "7 ms", "999 ms", "1 s", "1.2 s", "59.9 s", "59.9 s", "5 min 3 s"];
        assert_eq!(printed, expected);
        let printed = [60, 3_599, 3_660, 90_000, 10_000_000].map(|s| duration_ms(s * 1_000));
        assert_eq!(printed, ["1 min 0 s", "59 min 59 s", "1 h 1 min", "1 d 1 h", "115 d 17 h"]);
        assert_eq!(duration(Duration::from_millis(1_500)), duration_seconds(1.5));
        assert_eq!([duration_seconds(-1.0), duration_seconds(f64::NAN)], ["0 s", "0 s"]);
        assert_eq!(age(59_999), "59 s");
        assert_eq!([61_000, 7_200_000, 200_000_000].map(age), ["1 min", "2 h", "2 d"]);
    }

    #[test]
    fn estimates_have_no_digits_that_mean_nothing() {
        let printed = [-1.0, 0.2, 1.2, 59.2, 61.4, 3_700.0, f64::INFINITY].map(about);
        assert_eq!(printed[..5], ["1 s", "1 s", "2 s", "60 s", "1 min 1 s"]);
        assert_eq!(printed[5], "1 h 1 min");
        assert!(printed[6].ends_with(" h"), "{printed:?}");
    }

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
    fn what_is_printed_for_typing_reads_back() {
        for text in ["0", "250ms", "5s", "2m", "1h30m", "7d", "1d2h3m4s5ms"] {
            assert_eq!(typed(parse(text).expect("a length")), text);
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
