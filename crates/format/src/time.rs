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
    in_zone(at_ms, TimeZone::system())
}

fn in_zone(at_ms: u64, zone: TimeZone) -> Zoned {
    let at = i64::try_from(at_ms).ok().and_then(|ms| Timestamp::from_millisecond(ms).ok());
    at.unwrap_or(Timestamp::MAX).to_zoned(zone)
}

/// A time zone in which somebody reads times.
#[derive(Debug, Clone, PartialEq)]
pub struct Zone(TimeZone);

impl Default for Zone {
    fn default() -> Zone {
        Zone(TimeZone::UTC)
    }
}

impl Zone {
    /// The zone of this name, such as `Europe/Berlin`; nothing if there is none.
    pub fn named(name: &str) -> Option<Zone> {
        TimeZone::get(name).ok().map(Zone)
    }

    /// A moment as date and time: `2023-11-14 23:13:20 CET`.
    pub fn time(&self, at_ms: u64) -> String {
        self.at(at_ms).strftime("%Y-%m-%d %H:%M:%S %Z").to_string()
    }

    /// The same, with UTC unless that is the zone: `2023-11-14 23:13:20 CET (22:13:20 UTC)`.
    pub fn exact(&self, at_ms: u64) -> String {
        let time = self.time(at_ms);
        if time == utc(at_ms) {
            return time;
        }
        let day = |text: &str| text.get(..10).map(str::to_owned);
        let utc = utc(at_ms);
        match day(&utc) == day(&time) {
            true => format!("{time} ({})", utc.get(11..).unwrap_or_default()),
            false => format!("{time} ({utc})"),
        }
    }

    /// The time of day of a moment: `23:13`.
    pub fn clock(&self, at_ms: u64) -> String {
        self.at(at_ms).strftime("%H:%M").to_string()
    }

    /// The day of a moment: `14 Nov`.
    pub fn day(&self, at_ms: u64) -> String {
        self.at(at_ms).strftime("%-d %b").to_string()
    }

    /// How far the zone is ahead of UTC at a moment, in milliseconds.
    pub fn offset_ms(&self, at_ms: u64) -> i64 {
        i64::from(self.at(at_ms).offset().seconds()) * 1_000
    }

    /// What the zone is called at a moment: `CET`.
    pub fn name(&self, at_ms: u64) -> String {
        self.at(at_ms).strftime("%Z").to_string()
    }

    fn at(&self, at_ms: u64) -> Zoned {
        in_zone(at_ms, self.0.clone())
    }
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
    fn a_zone_tells_its_own_time() {
        let zone = Zone::named("Europe/Berlin").expect("a zone");
        assert_eq!(zone.time(1_700_000_000_000), "2023-11-14 23:13:20 CET");
        assert_eq!(
            [zone.clock(1_700_000_000_000), zone.day(1_700_007_200_000)],
            ["23:13", "15 Nov"]
        );
        assert_eq!(zone.exact(1_700_000_000_000), "2023-11-14 23:13:20 CET (22:13:20 UTC)");
        let next_day = "2023-11-15 00:10:00 CET (2023-11-14 23:10:00 UTC)";
        assert_eq!(zone.exact(1_700_003_400_000), next_day);
        assert_eq!(Zone::default().exact(1_700_000_000_000), "2023-11-14 22:13:20 UTC");
        assert_eq!(zone.offset_ms(1_690_000_000_000), 7_200_000, "summer");
        assert_eq!(Zone::default().time(1_700_000_000_000), utc(1_700_000_000_000));
        assert_eq!(Zone::named("Europe/Nowhere"), None);
    }

    #[test]
    fn a_moment_beyond_the_calendar_is_its_last() {
        assert_eq!(local_ms(u64::MAX)[..4], *"9999");
    }
}
