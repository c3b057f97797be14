//! When a recurring job runs: by filters on the wall clock, by a cron expression, at equal distances, or once.

mod every;

use std::fmt;

use croner::{
    Cron,
    parser::{CronParser, Seconds, Year},
};
use jiff::{Timestamp, tz::TimeZone};

pub use self::every::Every;
use super::{
    error::ScheduleError,
    interval::{Interval, find_zone},
};

/// When a job runs.
#[derive(Debug, Clone)]
pub enum Schedule {
    /// By filters on the wall clock.
    Interval(Interval),
    /// By a cron expression.
    Cron(CronSchedule),
    /// At equal distances.
    Every(Every),
    /// Once, at this moment.
    Once(Timestamp),
}

/// A cron expression in a time zone.
///
/// Five fields, or six with seconds in front. A fixed time that the clock skips in spring runs right after the gap, and one
/// that it shows twice in autumn runs the first time only; expressions with a wildcard hour follow the clock.
#[derive(Debug, Clone)]
pub struct CronSchedule {
    expression: String,
    zone_name: String,
    zone: TimeZone,
    cron: Box<Cron>,
}

impl CronSchedule {
    /// Reads an expression for a zone of the IANA database.
    ///
    /// # Errors
    /// When the zone is unknown, or the expression cannot be understood or names a date that never comes.
    pub fn new(zone: &str, expression: &str) -> Result<CronSchedule, ScheduleError> {
        let parser =
            CronParser::builder().seconds(Seconds::Optional).year(Year::Disallowed).build();
        let cron = parser.parse(expression).map_err(|error| ScheduleError::Cron {
            expression: expression.to_owned(),
            reason: error.to_string().trim_end_matches('.').to_owned(),
        })?;
        let zone_name = zone.to_owned();
        let zone = find_zone(zone)?;
        let (expression_text, cron) = (expression.to_owned(), Box::new(cron));
        let schedule = CronSchedule { expression: expression_text, zone_name, zone, cron };
        // Whether a date exists does not depend on the year asked from: any eight years hold a 29 February.
        if schedule.next_after(Timestamp::UNIX_EPOCH).is_none() {
            return Err(ScheduleError::NeverRuns { expression: expression.to_owned() });
        }
        Ok(schedule)
    }

    /// The first moment after `after` for which the expression holds.
    pub fn next_after(&self, after: Timestamp) -> Option<Timestamp> {
        let from = after.to_zoned(self.zone.clone());
        let next = self.cron.find_next_occurrence(&from, false).ok()?.timestamp();
        Timestamp::from_second(next.as_second()).ok()
    }

    /// The expression as it was given.
    pub fn expression(&self) -> &str {
        &self.expression
    }

    /// The zone as it was given.
    pub fn zone_name(&self) -> &str {
        &self.zone_name
    }
}

impl Schedule {
    /// The first run after `after`, a whole second; `None` when there is none.
    pub fn next_after(&self, after: Timestamp) -> Option<Timestamp> {
        match self {
            Schedule::Interval(interval) => interval.next_after(after),
            Schedule::Cron(cron) => cron.next_after(after),
            Schedule::Every(every) => every.next_after(after),
            Schedule::Once(at) => (*at > after).then_some(*at),
        }
    }
}

impl From<Interval> for Schedule {
    fn from(interval: Interval) -> Schedule {
        Schedule::Interval(interval)
    }
}

impl From<CronSchedule> for Schedule {
    fn from(cron: CronSchedule) -> Schedule {
        Schedule::Cron(cron)
    }
}

impl From<Every> for Schedule {
    fn from(every: Every) -> Schedule {
        Schedule::Every(every)
    }
}

impl fmt::Display for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Schedule::Interval(interval) => interval.fmt(f),
            Schedule::Cron(cron) => write!(f, "cron {} in {}", cron.expression, cron.zone_name),
            Schedule::Every(every) => write!(f, "every {}", every.period_text()),
            Schedule::Once(at) => write!(f, "once at {at}"),
        }
    }
}

#[cfg(test)]
mod tests;
