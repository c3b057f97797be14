//! Moments and times for people.

use jiff::Timestamp;

/// Milliseconds in the one or two units that matter: `340 ms`, `1.2 s`, `5 min 3 s`.
pub(super) fn span(ms: u64) -> String {
    match ms {
        0..1_000 => format!("{ms} ms"),
        1_000..10_000 => format!("{}.{} s", ms / 1_000, ms % 1_000 / 100),
        _ => crate::human::duration(ms / 1_000),
    }
}

/// Milliseconds in one unit, for tables: `12 s`, `5 min`, `3 h`.
pub(super) fn age(ms: u64) -> String {
    let s = ms / 1_000;
    match s {
        0..60 => format!("{s} s"),
        60..3_600 => format!("{} min", s / 60),
        3_600..172_800 => format!("{} h", s / 3_600),
        _ => format!("{} d", s / 86_400),
    }
}

/// A moment in unix milliseconds as date and time, in UTC.
pub(super) fn stamp(ms: u64) -> String {
    let at = i64::try_from(ms).ok().and_then(|ms| Timestamp::from_millisecond(ms).ok());
    at.map_or_else(|| "not a time".into(), |at| at.strftime("%Y-%m-%d %H:%M:%S UTC").to_string())
}

/// The time of day of a moment, in UTC.
pub(super) fn clock(ms: u64) -> String {
    stamp(ms).split(' ').nth(1).unwrap_or_default().to_owned()
}

/// A moment as seen from another: `3 min ago`, `in 5 s`, `now`.
pub(super) fn relative(ms: u64, now: u64) -> String {
    match ms.abs_diff(now) {
        0..1_000 => "now".into(),
        away if ms < now => format!("{} ago", age(away)),
        away => format!("in {}", age(away)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_told_in_the_units_that_matter() {
        let told = [0, 999, 1_250, 59_999, 303_000].map(span);
        assert_eq!(told, ["0 ms", "999 ms", "1.2 s", "59 s", "5 min 3 s"]);
        let told = [0, 59_000, 61_000, 7_200_000, 200_000_000].map(age);
        assert_eq!(told, ["0 s", "59 s", "1 min", "2 h", "2 d"]);
    }

    #[test]
    fn moments_are_told_as_seen_from_now() {
        assert_eq!(relative(10_000, 70_000), "1 min ago");
        assert_eq!(relative(75_000, 70_000), "in 5 s");
        assert_eq!(relative(70_500, 70_000), "now");
        assert_eq!(stamp(1_700_000_000_000), "2023-11-14 22:13:20 UTC");
        assert_eq!(clock(1_700_000_000_000), "22:13:20");
        assert_eq!(stamp(u64::MAX), "not a time");
    }
}
