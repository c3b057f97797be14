//! Intervals: filters on the wall clock of a time zone, and the next moment that passes them all.

mod next;
mod values;

use jiff::{Timestamp, tz::TimeZone};
use serde::{Deserialize, Serialize};

use self::values::Values;
use super::error::ScheduleError;

/// Which moments an interval lets pass. A list that is absent lets every value pass; those given must all hold.
///
/// ```
/// use keyrack_jobs::recurring::{Filters, Interval};
///
/// let daily = Filters {
///     hours: Some(vec![0]),
///     minutes: Some(vec![0]),
///     seconds: Some(vec![0]),
///     ..Filters::default()
/// };
/// let interval = Interval::new("UTC", &daily)?;
/// let next = interval.next_after("2022-11-06T12:30:00Z".parse()?);
/// assert_eq!(next, Some("2022-11-07T00:00:00Z".parse()?));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Filters {
    /// Months, 1 to 12.
    pub months: Option<Vec<u8>>,
    /// Days of the month, 1 to 31.
    pub days_of_month: Option<Vec<u8>>,
    /// Days of the week.
    pub days_of_week: Option<Vec<Weekday>>,
    /// Hours, 0 to 23.
    pub hours: Option<Vec<u8>>,
    /// Minutes, 0 to 59.
    pub minutes: Option<Vec<u8>>,
    /// Seconds, 0 to 59.
    pub seconds: Option<Vec<u8>>,
}

/// A day of the week, as it is written in an interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "lowercase")]
pub enum Weekday {
    /// Monday
    Mon,
    /// Tuesday
    Tue,
    /// Wednesday
    Wed,
    /// Thursday
    Thu,
    /// Friday
    Fri,
    /// Saturday
    Sat,
    /// Sunday
    Sun,
}

impl Weekday {
    const ALL: [Weekday; 7] = [
        Weekday::Mon,
        Weekday::Tue,
        Weekday::Wed,
        Weekday::Thu,
        Weekday::Fri,
        Weekday::Sat,
        Weekday::Sun,
    ];
    const WORDS: [&str; 7] = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"];
}

/// Filters that passed every check, in a time zone.
///
/// A moment is a run when the zone's clock shows a time that passes all filters. So a time that the clock skips in
/// spring has no run, and one that it shows twice in autumn has two; cron schedules keep to once a day instead.
#[derive(Debug, Clone)]
pub struct Interval {
    pub(super) zone: TimeZone,
    zone_name: String,
    months: Option<Values>,
    days_of_month: Option<Values>,
    /// Monday is 0.
    days_of_week: Option<Values>,
    hours: Option<Values>,
    minutes: Option<Values>,
    seconds: Option<Values>,
}

impl Interval {
    /// Checks filters for a zone of the IANA database, such as `Europe/Berlin` or `UTC`.
    ///
    /// # Errors
    /// When the zone is unknown or the filters break one of the rules; the message says which.
    pub fn new(zone: &str, filters: &Filters) -> Result<Interval, ScheduleError> {
        let weekdays: Option<Vec<u8>> =
            filters.days_of_week.as_ref().map(|days| days.iter().map(|day| *day as u8).collect());
        let read = |unit, given: &Option<Vec<u8>>, min, max| {
            given.as_ref().map(|values| Values::new(unit, values, min, max)).transpose()
        };
        let interval = Interval {
            zone: find_zone(zone)?,
            zone_name: zone.to_owned(),
            months: read("months", &filters.months, 1, 12)?,
            days_of_month: read("days_of_month", &filters.days_of_month, 1, 31)?,
            days_of_week: read("days_of_week", &weekdays, 0, 6)?,
            hours: read("hours", &filters.hours, 0, 23)?,
            minutes: read("minutes", &filters.minutes, 0, 59)?,
            seconds: read("seconds", &filters.seconds, 0, 59)?,
        };
        interval.check()?;
        Ok(interval)
    }

    /// The rules that concern several filters at once.
    fn check(&self) -> Result<(), ScheduleError> {
        if self.units().iter().all(|(_, values)| values.is_none()) {
            return Err(ScheduleError::NoFilter);
        }
        if self.days_of_month.is_some() && self.days_of_week.is_some() {
            return Err(ScheduleError::BothDays);
        }
        // Smallest unit first: what stands before a given filter has to be given as well.
        let units = self.units();
        let time_of_day = &units[..3];
        for (at, (unit, values)) in units.iter().enumerate() {
            let needs = &time_of_day[..at.min(time_of_day.len())];
            if values.is_some()
                && let Some((missing, _)) = needs.iter().find(|(_, values)| values.is_none())
            {
                return Err(ScheduleError::Needs { unit, missing });
            }
        }
        match self.days_of_month.map(|days| days.first()) {
            Some(day) if !self.has_day(day) => Err(ScheduleError::NoSuchDay { day }),
            _ => Ok(()),
        }
    }

    /// Whether some month that may be has this day.
    fn has_day(&self, day: u8) -> bool {
        const LONGEST: [u8; 12] = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
        (1..=12).zip(LONGEST).any(|(month, days)| {
            self.months.is_none_or(|months| months.contains(month)) && day <= days
        })
    }

    /// The first whole second after `after` that passes all filters; `None` when time ends before.
    pub fn next_after(&self, after: Timestamp) -> Option<Timestamp> {
        next::next_after(self, after)
    }

    /// The zone as it was given.
    pub fn zone_name(&self) -> &str {
        &self.zone_name
    }

    /// The filters as they were given.
    pub(super) fn filters(&self) -> Filters {
        let list = |values: Option<Values>| values.map(|values| values.iter().collect::<Vec<u8>>());
        let days = list(self.days_of_week);
        Filters {
            months: list(self.months),
            days_of_month: list(self.days_of_month),
            days_of_week: days
                .map(|days| days.into_iter().map(|day| Weekday::ALL[usize::from(day)]).collect()),
            hours: list(self.hours),
            minutes: list(self.minutes),
            seconds: list(self.seconds),
        }
    }

    /// All filters in the order in which a digest takes them.
    fn units(&self) -> [(&'static str, Option<Values>); 6] {
        [
            ("seconds", self.seconds),
            ("minutes", self.minutes),
            ("hours", self.hours),
            ("days_of_week", self.days_of_week),
            ("days_of_month", self.days_of_month),
            ("months", self.months),
        ]
    }

    /// What the digest takes in of each filter: its values, with weekdays as words.
    pub(super) fn digested(&self) -> impl Iterator<Item = Option<Vec<Digested>>> {
        self.units().into_iter().map(|(unit, values)| {
            let as_digested = |value: u8| match unit {
                "days_of_week" => Digested::Word(Weekday::WORDS[usize::from(value)]),
                _ => Digested::Number(value),
            };
            Some(values?.iter().map(as_digested).collect())
        })
    }
}

/// A value of a filter as the digest sees it.
pub(super) enum Digested {
    Number(u8),
    Word(&'static str),
}

/// Looks a zone up by its name.
pub(super) fn find_zone(name: &str) -> Result<TimeZone, ScheduleError> {
    TimeZone::get(name).map_err(|_| ScheduleError::UnknownZone { zone: name.to_owned() })
}

impl std::fmt::Display for Interval {
    /// `hours 0, minutes 0, seconds 0 in US/Pacific`
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut units = self.units();
        units.reverse();
        let mut comma = "";
        for (unit, values) in units {
            let Some(values) = values else { continue };
            let values: Vec<String> = values
                .iter()
                .map(|value| match unit {
                    "days_of_week" => Weekday::WORDS[usize::from(value)].to_owned(),
                    _ => value.to_string(),
                })
                .collect();
            write!(f, "{comma}{unit} {}", values.join(" "))?;
            comma = ", ";
        }
        write!(f, " in {}", self.zone_name)
    }
}

#[cfg(test)]
mod tests;
