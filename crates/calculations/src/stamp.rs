//! When an event happened: the text it is stored under, and the wall clock that its bucket goes by.

use std::{fmt, str::FromStr};

use jiff::{
    civil::DateTime,
    tz::{Offset, TimeZone},
};

/// The time of an event: `2014-10-17 21:34:07 -0400`, or with `T`, `Z` or `-04:00`.
///
/// All ways to write one second with one offset are one time, and stored as the first of these.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stamp {
    text: String,
    wall: DateTime,
    offset: Offset,
}

/// Why a text is no time.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("\"{0}\" is no time; give one such as \"2014-10-17 21:34:07 -0400\"")]
pub struct StampError(String);

impl Stamp {
    /// The text it is stored under: `2014-10-17 21:34:07 -0400`, however it was written.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The wall clock of the event's own offset, or of a zone.
    pub(crate) fn wall(&self, zone: Option<&TimeZone>) -> DateTime {
        let Some(zone) = zone else { return self.wall };
        // The ends of the calendar have no instant in every zone; there the event's own clock has to do.
        self.offset.to_timestamp(self.wall).map_or(self.wall, |at| zone.to_datetime(at))
    }
}

impl fmt::Display for Stamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl FromStr for Stamp {
    type Err = StampError;

    fn from_str(text: &str) -> Result<Stamp, StampError> {
        let error = || StampError(text.chars().take(40).flat_map(char::escape_debug).collect());
        let (wall, offset) = parse(text.as_bytes()).ok_or_else(error)?;
        Ok(Stamp { text: written(text, offset), wall, offset })
    }
}

/// The one form in which a time is stored.
fn written(text: &str, offset: Offset) -> String {
    let clock = text.get(..CLOCK_LEN).unwrap_or(text).replacen('T', " ", 1);
    let minutes = offset.seconds() / 60;
    let (sign, minutes) = if minutes < 0 { ('-', -minutes) } else { ('+', minutes) };
    format!("{clock} {sign}{:02}{:02}", minutes / 60, minutes % 60)
}

/// How long date and time are, without the offset.
const CLOCK_LEN: usize = 19;

fn parse(text: &[u8]) -> Option<(DateTime, Offset)> {
    let (clock, rest) = text.split_at_checked(CLOCK_LEN)?;
    let separators = [clock[4], clock[7], clock[13], clock[16]];
    if separators != *b"--::" || !matches!(clock[10], b' ' | b'T') {
        return None;
    }
    let [year, month, day] = [&clock[0..4], &clock[5..7], &clock[8..10]].map(number);
    let [hour, minute, second] = [&clock[11..13], &clock[14..16], &clock[17..19]].map(number);
    // Weeks are counted from the first Monday there is, which is the first day of the year 1.
    let year = year.filter(|&year| year > 0)?;
    let wall =
        DateTime::new(year, month? as i8, day? as i8, hour? as i8, minute? as i8, second? as i8, 0);
    Some((wall.ok()?, offset(rest.strip_prefix(b" ").unwrap_or(rest))?))
}

/// Reads `Z`, `-0400` or `-04:00`.
fn offset(text: &[u8]) -> Option<Offset> {
    let (sign, hours, minutes) = match text {
        b"Z" => return Some(Offset::UTC),
        [sign, h1, h2, m1, m2] | [sign, h1, h2, b':', m1, m2] => (sign, [*h1, *h2], [*m1, *m2]),
        _ => return None,
    };
    let sign = match sign {
        b'+' => 1,
        b'-' => -1,
        _ => return None,
    };
    let (hours, minutes) = (i32::from(number(&hours)?), i32::from(number(&minutes)?));
    if hours > 23 || minutes > 59 {
        return None;
    }
    Offset::from_seconds(sign * (hours * 3600 + minutes * 60)).ok()
}

fn number(digits: &[u8]) -> Option<i16> {
    digits
        .iter()
        .try_fold(0, |n, digit| digit.is_ascii_digit().then(|| n * 10 + i16::from(digit - b'0')))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_written_forms_are_read() {
        for text in [
            "2014-10-17 21:34:07 -0400",
            "2014-10-17T21:34:07-04:00",
            "2014-10-17 21:34:07-0400",
            "2014-10-17T21:34:07 -04:00",
        ] {
            let stamp: Stamp = text.parse().unwrap();
            assert_eq!(stamp.as_str(), "2014-10-17 21:34:07 -0400");
            assert_eq!(stamp.wall(None).to_string(), "2014-10-17T21:34:07");
            assert_eq!(stamp.wall(Some(&TimeZone::UTC)).to_string(), "2014-10-18T01:34:07");
        }
        for text in
            ["2014-10-17T21:34:07Z", "2014-10-17 21:34:07 +0000", "2014-10-17 21:34:07-00:00"]
        {
            assert_eq!(text.parse::<Stamp>().unwrap().as_str(), "2014-10-17 21:34:07 +0000");
        }
        let half = "2014-10-17 21:34:07 -03:30".parse::<Stamp>().unwrap();
        assert_eq!(half.as_str(), "2014-10-17 21:34:07 -0330");
    }

    #[test]
    fn times_that_do_not_exist_are_refused() {
        for text in [
            "",
            "2014-10-17",
            "2014-10-17 21:34:07",
            "2014-02-29 00:00:00 Z",
            "2014-13-01 00:00:00 Z",
            "2014-10-17 24:00:00 Z",
            "2014-10-17 23:59:60 Z",
            "0000-10-17 21:34:07 Z",
            "2014-10-17 21:34:07 0400",
            "2014-10-17 21:34:07 +2400",
            "2014-10-17 21:34:07.5 Z",
            "2014-10-17_21:34:07 Z",
            "2014-10-17 21:34:07  Z",
            "２014-10-17 21:34:07 Z",
        ] {
            assert!(text.parse::<Stamp>().is_err(), "{text:?}");
        }
        assert!("2016-02-29 00:00:00 Z".parse::<Stamp>().is_ok());
    }
}
