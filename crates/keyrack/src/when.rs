//! Moments for people.

use std::time::Duration;

use jiff::{Timestamp, Zoned, tz::TimeZone};
use keyrack_http::human;

/// How long ago a moment was: `3 min 4 s`. Clocks that differ a little make it no future.
pub(crate) fn age(at_ms: u64, now_ms: u64) -> String {
    short(Duration::from_millis(now_ms.saturating_sub(at_ms)))
}

/// A length of time with the unit that suits it: `12 ms`, `3.4 s`, `2 min 5 s`.
pub(crate) fn short(time: Duration) -> String {
    match time.as_millis() {
        ms @ 0..1_000 => format!("{ms} ms"),
        1_000..60_000 => format!("{:.1} s", time.as_secs_f64()),
        _ => human::duration(time.as_secs()),
    }
}

/// A moment by the clock on the wall, to the millisecond: `2026-11-15 08:13:42.125`.
pub(crate) fn date_time(at_ms: u64) -> String {
    local(at_ms).strftime("%Y-%m-%d %H:%M:%S%.3f").to_string()
}

/// The same without milliseconds, for moments that have none.
pub(crate) fn date_time_to_the_second(at_ms: u64) -> String {
    local(at_ms).strftime("%Y-%m-%d %H:%M:%S").to_string()
}

/// A moment of today: `08:13:42`.
pub(crate) fn time_of_day(at_ms: u64) -> String {
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
    fn lengths_have_the_unit_that_suits_them() {
        let told = [7, 999, 1_000, 59_949, 125_000].map(|ms| short(Duration::from_millis(ms)));
        assert_eq!(told, ["7 ms", "999 ms", "1.0 s", "59.9 s", "2 min 5 s"]);
    }

    #[test]
    fn a_moment_that_is_ahead_of_our_clock_is_now() {
        assert_eq!(age(2_000, 1_000), "0 ms");
        assert_eq!(age(1_000, 91_000), "1 min 30 s");
    }

    #[test]
    fn a_moment_beyond_the_calendar_is_its_last() {
        assert_eq!(date_time(u64::MAX)[..4], *"9999");
    }
}
