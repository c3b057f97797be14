//! Calendar days: which day it is where the users live, and where a day stands in the ring of days.

use jiff::{
    Timestamp,
    civil::{Date, DateTime},
    tz::TimeZone,
};

/// The calendar day of a moment.
pub(crate) fn day_of(ms: u64, zone: &TimeZone) -> Date {
    let at = i64::try_from(ms).ok().and_then(|ms| Timestamp::from_millisecond(ms).ok());
    at.unwrap_or(Timestamp::MAX).to_zoned(zone.clone()).date()
}

/// The calendar day of a moment as a database writes it: with an offset, or in the database's own zone.
pub(crate) fn day_of_text(text: &str, database: &TimeZone, zone: &TimeZone) -> Option<Date> {
    let text = text.trim();
    let at = match text.parse::<Timestamp>() {
        Ok(at) => at,
        Err(_) => {
            let civil: DateTime = text.parse().ok()?;
            database.to_ambiguous_timestamp(civil).compatible().ok()?
        }
    };
    Some(at.to_zoned(zone.clone()).date())
}

/// How many days lie between two; negative when `to` is before `from`.
pub(crate) fn days_between(from: Date, to: Date) -> i64 {
    from.until(to).map_or(0, |span| i64::from(span.get_days()))
}

/// The day so many days later, if the calendar has it.
pub(crate) fn days_later(day: Date, days: u32) -> Option<Date> {
    day.checked_add(jiff::Span::new().try_days(i64::from(days)).ok()?).ok()
}

/// The day so many days earlier; the first that the calendar has when it has none so early.
pub(crate) fn days_earlier(day: Date, days: u64) -> Date {
    let days = i64::try_from(days).unwrap_or(i64::MAX);
    let span = jiff::Span::new().try_days(days);
    span.ok().and_then(|span| day.checked_sub(span).ok()).unwrap_or(Date::MIN)
}

/// Where the day `age` days before `index` stands in a ring of so many days.
pub(crate) fn slot(index: u64, age: u64, ring: u64) -> u64 {
    (index + ring - age % ring) % ring
}

/// How many days ago a slot was today.
pub(crate) fn age(index: u64, slot: u64, ring: u64) -> u64 {
    (index + ring - slot % ring) % ring
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sydney() -> TimeZone {
        TimeZone::get("Australia/Sydney").expect("a zone of the bundled database")
    }

    #[track_caller]
    fn check(moment: &str, day: &str) {
        let at: Timestamp = moment.parse().expect("a moment");
        let ms = u64::try_from(at.as_millisecond()).expect("after 1970");
        assert_eq!(day_of(ms, &sydney()).to_string(), day, "{moment}");
        let without_zone = moment.trim_end_matches('Z').replace('T', " ");
        let day_read = day_of_text(&without_zone, &TimeZone::UTC, &sydney());
        assert_eq!(day_read.map(|day| day.to_string()).as_deref(), Some(day), "{without_zone}");
    }

    #[test]
    fn a_day_ends_at_midnight_in_sydney_in_winter_and_in_summer() {
        check("2024-07-01T13:59:59Z", "2024-07-01");
        check("2024-07-01T14:00:00Z", "2024-07-02");
        check("2024-01-12T12:59:59Z", "2024-01-12");
        check("2024-01-12T13:00:00Z", "2024-01-13");
    }

    #[test]
    fn days_of_23_and_25_hours_are_one_day_each() {
        // Clocks go back on 7 April 2024 and forward on 6 October.
        check("2024-04-06T13:00:00Z", "2024-04-07");
        check("2024-04-07T13:59:59Z", "2024-04-07");
        check("2024-04-07T14:00:00Z", "2024-04-08");
        check("2024-10-05T14:00:00Z", "2024-10-06");
        check("2024-10-06T12:59:59Z", "2024-10-06");
        check("2024-10-06T13:00:00Z", "2024-10-07");
    }

    #[test]
    fn moments_are_read_as_databases_write_them() {
        let read = |text| day_of_text(text, &TimeZone::UTC, &sydney()).map(|day| day.to_string());
        assert_eq!(read("2024-01-12 13:00:00.123456").as_deref(), Some("2024-01-13"));
        assert_eq!(read("2024-01-12 13:00:00+11").as_deref(), Some("2024-01-12"));
        assert_eq!(read("2024-01-12").as_deref(), Some("2024-01-12"));
        assert_eq!(read("yesterday"), None);
    }

    #[test]
    fn slot_and_age_undo_each_other() {
        for ring in 1..9 {
            for index in 0..ring {
                for days in 0..ring {
                    assert_eq!(age(index, slot(index, days, ring), ring), days);
                }
            }
        }
    }
}
