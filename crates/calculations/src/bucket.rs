//! Buckets: which one a moment falls into, what it is called, and which comes next.

use std::fmt::Write as _;

use jiff::{
    ToSpan as _,
    civil::{Date, DateTime, date},
};

use crate::{keys::Interval, settings::Labels};

/// The first Monday there is; days and weeks are counted from here.
const FIRST_DAY: Date = date(1, 1, 1);

/// A bucket of an interval, by its number: buckets that follow each other have numbers that do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Bucket {
    interval: Interval,
    number: u64,
}

impl Bucket {
    /// The bucket that a wall clock's time falls into.
    pub fn of(interval: Interval, wall: DateTime) -> Bucket {
        let days = || days_before(wall.date());
        let hours = || days() * 24 + wall.hour() as u64;
        let minutes = || hours() * 60 + wall.minute() as u64;
        let number = match interval {
            Interval::Seconds => minutes() * 60 + wall.second() as u64,
            Interval::Minutes => minutes(),
            Interval::Hours => hours(),
            Interval::Days => days(),
            Interval::Weeks => days() / 7,
            Interval::Months => wall.year() as u64 * 12 + wall.month() as u64 - 1,
            Interval::Years => wall.year() as u64,
        };
        Bucket { interval, number }
    }

    /// The bucket of this number; `None` after the year 9999.
    pub(crate) fn numbered(interval: Interval, number: u64) -> Option<Bucket> {
        (number <= last_number(interval)).then_some(Bucket { interval, number })
    }

    /// Its number.
    pub(crate) fn number(self) -> u64 {
        self.number
    }

    /// Its name: the beginning of the time's text, but for weeks, which are those of ISO 8601.
    pub fn label(self, labels: Labels) -> String {
        let start = self.start();
        let mut label = String::with_capacity("0000-00-00 00:00:00".len());
        let (year, month, day) = (start.year(), start.month(), start.day());
        let (hour, minute, second) = (start.hour(), start.minute(), start.second());
        let written = match self.interval {
            Interval::Years => write!(label, "{year:04}"),
            Interval::Months => write!(label, "{year:04}-{month:02}"),
            Interval::Weeks => {
                let week = start.date().iso_week_date();
                write!(label, "{:04}-W{:02}", week.year(), week.week())
            }
            Interval::Days => write!(label, "{year:04}-{month:02}-{day:02}"),
            Interval::Hours => write!(label, "{year:04}-{month:02}-{day:02} {hour:02}"),
            Interval::Minutes => {
                write!(label, "{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}")
            }
            Interval::Seconds => {
                write!(label, "{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}")
            }
        };
        debug_assert!(written.is_ok(), "a text has room for a label");
        match labels {
            Labels::Prefix => label,
            Labels::Compact => label.replace(['-', ' ', ':'], ""),
        }
    }

    /// The bucket that a label names, in either form.
    pub fn named(interval: Interval, label: &str) -> Option<Bucket> {
        let parse = |label: &str| -> Option<DateTime> {
            let digits: String = label.chars().filter(char::is_ascii_digit).collect();
            let part = |from: usize, to: usize| digits.get(from..to)?.parse::<i16>().ok();
            let part_or = |from: usize, to: usize, or: i16| {
                if digits.len() > from { part(from, to) } else { Some(or) }
            };
            if interval == Interval::Weeks {
                let week = jiff::civil::ISOWeekDate::new(
                    part(0, 4)?,
                    part(4, 6)? as i8,
                    jiff::civil::Weekday::Monday,
                );
                return Some(week.ok()?.date().to_datetime(jiff::civil::Time::midnight()));
            }
            let (month, day) = (part_or(4, 6, 1)?, part_or(6, 8, 1)?);
            let (hour, minute, second) =
                (part_or(8, 10, 0)?, part_or(10, 12, 0)?, part_or(12, 14, 0)?);
            DateTime::new(
                part(0, 4)?,
                month as i8,
                day as i8,
                hour as i8,
                minute as i8,
                second as i8,
                0,
            )
            .ok()
        };
        let bucket = Bucket::of(interval, parse(label).filter(|wall| wall.year() > 0)?);
        let is_its_name =
            [Labels::Prefix, Labels::Compact].iter().any(|form| bucket.label(*form) == label);
        is_its_name.then_some(bucket)
    }

    /// How long it lasts, by the calendar.
    pub fn seconds(self) -> u64 {
        let days = |from: Date, to: Date| {
            to.since(from).map_or(1, |span| u64::from(span.get_days().unsigned_abs()))
        };
        let start = self.start().date();
        match self.interval {
            Interval::Seconds => 1,
            Interval::Minutes => 60,
            Interval::Hours => 3_600,
            Interval::Days => 86_400,
            Interval::Weeks => 7 * 86_400,
            Interval::Months => 86_400 * start.days_in_month() as u64,
            Interval::Years => 86_400 * (days(start, start.last_of_year()) + 1),
        }
    }

    /// The wall clock at its beginning.
    pub fn start(self) -> DateTime {
        let per_day = match self.interval {
            Interval::Seconds => 86_400,
            Interval::Minutes => 1_440,
            Interval::Hours => 24,
            Interval::Days | Interval::Weeks | Interval::Months | Interval::Years => 1,
        };
        let day = match self.interval {
            Interval::Years => return date(self.number as i16, 1, 1).at(0, 0, 0, 0),
            Interval::Months => {
                let (year, month) = (self.number / 12, self.number % 12 + 1);
                return date(year as i16, month as i8, 1).at(0, 0, 0, 0);
            }
            Interval::Weeks => self.number * 7,
            Interval::Seconds | Interval::Minutes | Interval::Hours | Interval::Days => {
                self.number / per_day
            }
        };
        let second = if per_day == 1 { 0 } else { self.number % per_day * (86_400 / per_day) };
        let start = FIRST_DAY.checked_add((day as i64).days()).unwrap_or(Date::MAX);
        let [hour, minute, second] =
            [second / 3_600, second / 60 % 60, second % 60].map(|part| part as i8);
        start.at(hour, minute, second, 0)
    }
}

/// How many days lie between the first day of the year 1 and this one. Each value asks for seven buckets, and a span of the
/// calendar library takes ten times as long.
fn days_before(date: Date) -> u64 {
    // Years before 1 are refused where times are read, so this is not negative.
    let years = (date.year().max(1) - 1) as u64;
    years * 365 + years / 4 - years / 100 + years / 400 + date.day_of_year() as u64 - 1
}

/// The last bucket there is, at the end of the year 9999.
pub(crate) fn last_number(interval: Interval) -> u64 {
    Bucket::of(interval, DateTime::MAX).number
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bucket(interval: Interval, wall: &str) -> Bucket {
        Bucket::of(interval, wall.parse().unwrap())
    }

    #[track_caller]
    fn check(interval: Interval, wall: &str, label: &str, seconds: u64) {
        let bucket = bucket(interval, wall);
        assert_eq!(bucket.label(Labels::Prefix), label);
        assert_eq!(bucket.seconds(), seconds);
        assert_eq!(Bucket::of(interval, bucket.start()), bucket);
        for labels in [Labels::Prefix, Labels::Compact] {
            assert_eq!(Bucket::named(interval, &bucket.label(labels)), Some(bucket));
        }
    }

    #[test]
    fn labels_are_the_beginning_of_the_time() {
        let wall = "2014-10-17T21:34:07";
        check(Interval::Years, wall, "2014", 365 * 86_400);
        check(Interval::Months, wall, "2014-10", 31 * 86_400);
        check(Interval::Weeks, wall, "2014-W42", 7 * 86_400);
        check(Interval::Days, wall, "2014-10-17", 86_400);
        check(Interval::Hours, wall, "2014-10-17 21", 3_600);
        check(Interval::Minutes, wall, "2014-10-17 21:34", 60);
        check(Interval::Seconds, wall, "2014-10-17 21:34:07", 1);
        assert_eq!(bucket(Interval::Weeks, wall).label(Labels::Compact), "2014W42");
        assert_eq!(bucket(Interval::Minutes, wall).label(Labels::Compact), "201410172134");
    }

    #[test]
    fn weeks_belong_to_the_year_of_their_thursday() {
        check(Interval::Weeks, "2014-12-29T00:00:00", "2015-W01", 7 * 86_400);
        check(Interval::Weeks, "2014-12-28T23:59:59", "2014-W52", 7 * 86_400);
        check(Interval::Weeks, "2021-01-03T12:00:00", "2020-W53", 7 * 86_400);
        check(Interval::Weeks, "0001-01-01T00:00:00", "0001-W01", 7 * 86_400);
    }

    #[test]
    fn days_are_counted_as_the_calendar_has_them() {
        let mut day = FIRST_DAY;
        for n in (0..3_652_059_i64).step_by(97) {
            day = FIRST_DAY.checked_add(n.days()).unwrap();
            assert_eq!(days_before(day), n as u64, "{day}");
        }
        assert!(day.year() > 9990);
        assert_eq!(days_before(Date::MAX), 3_652_058);
    }

    #[test]
    fn leap_years_have_their_day() {
        check(Interval::Days, "2016-02-29T23:59:59", "2016-02-29", 86_400);
        check(Interval::Months, "2016-02-29T00:00:00", "2016-02", 29 * 86_400);
        check(Interval::Years, "2016-02-29T00:00:00", "2016", 366 * 86_400);
        check(Interval::Seconds, "9999-12-31T23:59:59", "9999-12-31 23:59:59", 1);
    }

    #[test]
    fn numbers_follow_each_other_as_labels_do() {
        for &interval in Interval::ALL {
            let start = bucket(interval, "1999-12-31T23:59:59");
            let mut last = start.label(Labels::Prefix);
            for step in 1..500 {
                let next = Bucket::numbered(interval, start.number() + step).unwrap();
                let label = next.label(Labels::Prefix);
                assert!(label > last, "{label} comes after {last}");
                assert_eq!(Bucket::of(interval, next.start()), next);
                last = label;
            }
        }
    }

    #[test]
    fn texts_that_name_no_bucket_are_refused() {
        for label in ["", "2014-1", "2014-13", "2014-W54", "14", "2014-10-17 25", "average"] {
            for &interval in Interval::ALL {
                assert_eq!(Bucket::named(interval, label), None, "{label:?} of {interval}");
            }
        }
    }
}
