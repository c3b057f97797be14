//! Moments in unix milliseconds: in UTC for pages, in local time for terminals.

use jiff::{Timestamp, Zoned, tz::TimeZone};

use crate::duration::age;

/// A moment as date and time in UTC: `2023-11-14 22:13:20 UTC`.
pub fn utc(at_ms: u64) -> String {
    let at = i64::try_from(at_ms).ok().and_then(|ms| Timestamp::from_millisecond(ms).ok());
    at.map_or_else(|| "not a time".into(), |at| at.strftime("%Y-%m-%d %H:%M:%S UTC").to_string())
}

/// The time of day of a moment in UTC: `22:13:20`.
pub fn utc_clock(at_ms: u64) -> String {
    utc(at_ms).split(' ').nth(1).unwrap_or_default().to_owned()
}

/// A moment as seen from another: `3 min ago`, `in 5 s`, `now`.
pub fn relative(at_ms: u64, now_ms: u64) -> String {
    match at_ms.abs_diff(now_ms) {
        0..1_000 => "now".into(),
        away if at_ms < now_ms => format!("{} ago", age(away)),
        away => format!("in {}", age(away)),
    }
}

/// A moment in local time, to the millisecond: `2026-11-15 08:13:42.125`.
pub fn local_ms(at_ms: u64) -> String {
    local(at_ms).strftime("%Y-%m-%d %H:%M:%S%.3f").to_string()
}

/// The same to the second, for moments that have no milliseconds.
pub fn local_s(at_ms: u64) -> String {
    local(at_ms).strftime("%Y-%m-%d %H:%M:%S").to_string()
}

/// The time of day of a moment in local time: `08:13:42`.
pub fn local_clock(at_ms: u64) -> String {
    local(at_ms).strftime("%H:%M:%S").to_string()
}

fn local(at_ms: u64) -> Zoned {
    let at = i64::try_from(at_ms).ok().and_then(|ms| Timestamp::from_millisecond(ms).ok());
    at.unwrap_or(Timestamp::MAX).to_zoned(TimeZone::system())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_told_as_seen_from_now() {
        assert_eq!(relative(10_000, 70_000), "1 min ago");
        assert_eq!(relative(75_000, 70_000), "in 5 s");
        assert_eq!(relative(70_500, 70_000), "now");
        assert_eq!(utc(1_700_000_000_000), "2023-11-14 22:13:20 UTC");
        assert_eq!(utc_clock(1_700_000_000_000), "22:13:20");
        assert_eq!(utc(u64::MAX), "not a time");
    }

    #[test]
    fn a_moment_beyond_the_calendar_is_its_last() {
        assert_eq!(local_ms(u64::MAX)[..4], *"9999");
    }
}
