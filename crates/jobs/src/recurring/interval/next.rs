//! The next moment that passes an interval's filters.
//!
//! Between two changes of a zone's clock, the wall clock runs evenly, so the search is one of dates and times of day without
//! any zone. What it finds counts if it lies before the next change; otherwise the search begins again at that change.

use jiff::{
    Timestamp, ToSpan as _,
    civil::{Date, DateTime, Time},
    tz::Offset,
};

use super::{Interval, values::Values};

pub(super) fn next_after(interval: &Interval, after: Timestamp) -> Option<Timestamp> {
    let mut from = Timestamp::from_second(whole_seconds(after).checked_add(1)?).ok()?;
    let mut changes = interval.zone.following(after);
    loop {
        let offset = interval.zone.to_offset(from);
        let until =
            changes.find(|change| change.timestamp() > from).map(|change| change.timestamp());
        let found =
            next_civil(interval, offset.to_datetime(from)).and_then(|at| moment(at, offset));
        match (found, until) {
            (Some(found), None) => return Some(found),
            (Some(found), Some(until)) if found < until => return Some(found),
            (_, Some(until)) => from = until,
            (None, None) => return None,
        }
    }
}

/// Seconds since the epoch, rounded down.
fn whole_seconds(at: Timestamp) -> i64 {
    at.as_second() - i64::from(at.subsec_nanosecond() < 0)
}

fn moment(at: DateTime, offset: Offset) -> Option<Timestamp> {
    offset.to_timestamp(at).ok()
}

/// The first date and time from `from` on that passes; `None` when the calendar ends.
fn next_civil(interval: &Interval, from: DateTime) -> Option<DateTime> {
    let (mut date, mut time) = (from.date(), from.time());
    loop {
        date = match (month_passes(interval, date), day_passes(interval, date)) {
            (true, true) => match next_time(interval, time) {
                Some(time) => return Some(date.to_datetime(time)),
                None => date.tomorrow().ok()?,
            },
            (true, false) => date.tomorrow().ok()?,
            (false, _) => date.first_of_month().checked_add(1.month()).ok()?,
        };
        time = Time::midnight();
    }
}

fn month_passes(interval: &Interval, date: Date) -> bool {
    passes(interval.months, date.month())
}

fn day_passes(interval: &Interval, date: Date) -> bool {
    passes(interval.days_of_month, date.day())
        && passes(interval.days_of_week, date.weekday().to_monday_zero_offset())
}

fn passes(values: Option<Values>, value: i8) -> bool {
    values.is_none_or(|values| values.contains(value.unsigned_abs()))
}

/// The first time of day from `from` on that passes; `None` when that day has none left.
fn next_time(interval: &Interval, from: Time) -> Option<Time> {
    let [hour, minute, second] =
        [from.hour(), from.minute(), from.second()].map(|unit| unit.unsigned_abs());
    // Each line stays in the unit of the one before it, or moves on in it and begins anew below.
    let same_minute = || Some((hour, minute, at_least(interval.seconds, second, 59)?));
    let same_hour =
        || Some((hour, at_least(interval.minutes, minute + 1, 59)?, first(interval.seconds)));
    let later = || {
        let hour = at_least(interval.hours, hour + 1, 23)?;
        Some((hour, first(interval.minutes), first(interval.seconds)))
    };
    let hour_passes = at_least(interval.hours, hour, 23) == Some(hour);
    let minute_passes = hour_passes && at_least(interval.minutes, minute, 59) == Some(minute);
    let (hour, minute, second) = None
        .or_else(|| if minute_passes { same_minute() } else { None })
        .or_else(|| if hour_passes { same_hour() } else { None })
        .or_else(later)?;
    Time::new(hour as i8, minute as i8, second as i8, 0).ok()
}

fn at_least(values: Option<Values>, from: u8, max: u8) -> Option<u8> {
    match values {
        Some(values) => values.at_least(from),
        None => (from <= max).then_some(from),
    }
}

fn first(values: Option<Values>) -> u8 {
    values.map_or(0, Values::first)
}
