//! A definition as people write it: in a settings file, over HTTP, and in the store.

use jiff::{Timestamp, civil::DateTime};
use serde::{Deserialize, Deserializer, Serialize, de::Error as _};

use super::{Definition, Target};
use crate::{
    bee::keys::QueueName,
    recurring::{
        error::{DefinitionError, Error, ScheduleError},
        interval::{Filters, Interval, Weekday, find_zone},
        json::Members,
        schedule::{CronSchedule, Every, Schedule},
    },
};

/// A recurring job as it is written, not checked yet. One of `cron`, filters, `every` and `at` says when it runs.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "openapi", schema(as = RecurringDefinition))]
#[serde(deny_unknown_fields)]
pub struct Draft {
    /// The name by which workers of the hot queue and commands know it: 1 to 256 bytes.
    pub name: String,
    /// The arguments: the job's one argument in a queue, the keyword arguments in the hot queue.
    #[serde(default, skip_serializing_if = "Members::is_empty")]
    #[cfg_attr(feature = "openapi", schema(value_type = Object))]
    pub kwargs: Members,
    /// The time zone of `cron`, of filters, and of an `at` without an offset, such as `Europe/Berlin` or `UTC`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub zone: Option<String>,
    /// A cron expression: five fields, or six with seconds in front.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cron: Option<String>,
    /// Time between two runs, in whole seconds from `1s` to `366d`: `30s`, `10m`, `1h30m`, `7d`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub every: Option<String>,
    /// The first run of `every`; otherwise one period after the definition. In a settings file, periods count from 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// The one time at which it runs: `2030-12-24T18:00:00Z`, or `2030-12-24T18:00:00` in `zone`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<String>,
    /// Filter: months, 1 to 12.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[serde(deserialize_with = "numbers::<1, 12, _>")]
    pub months: Option<Vec<u8>>,
    /// Filter: days of the month, 1 to 31.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[serde(deserialize_with = "numbers::<1, 31, _>")]
    pub days_of_month: Option<Vec<u8>>,
    /// Filter: days of the week.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub days_of_week: Option<Vec<Weekday>>,
    /// Filter: hours, 0 to 23.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[serde(deserialize_with = "numbers::<0, 23, _>")]
    pub hours: Option<Vec<u8>>,
    /// Filter: minutes, 0 to 59.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[serde(deserialize_with = "numbers::<0, 59, _>")]
    pub minutes: Option<Vec<u8>>,
    /// Filter: seconds, 0 to 59.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[serde(deserialize_with = "numbers::<0, 59, _>")]
    pub seconds: Option<Vec<u8>>,
    /// The queue that it is put into; without one it goes to the hot queue.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue: Option<String>,
    /// Missed runs that are made up for, up to 1000: 0 skips them, 1 makes one run of all, which is the default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub catch_up: Option<u32>,
}

/// Numbers of which the [`Interval`] says whether they are in range; those that it cannot hold are not.
fn numbers<'de, const MIN: u8, const MAX: u8, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Vec<u8>>, D::Error> {
    let Some(numbers) = Option::<Vec<i64>>::deserialize(deserializer)? else { return Ok(None) };
    let held = numbers.into_iter().map(|number| {
        let wrong = || D::Error::custom(format!("{number}; use numbers from {MIN} to {MAX}"));
        u8::try_from(number).map_err(|_| wrong())
    });
    held.collect::<Result<Vec<u8>, D::Error>>().map(Some)
}

impl TryFrom<Draft> for Definition {
    type Error = Error;

    fn try_from(draft: Draft) -> Result<Definition, Error> {
        let name = draft.name.clone();
        let definition = draft.definition();
        let definition = definition.map_err(|reason| Error::Definition { name, reason })?;
        definition.check()?;
        Ok(definition)
    }
}

impl Draft {
    fn definition(self) -> Result<Definition, DefinitionError> {
        let schedule = self.schedule()?;
        let target = match &self.queue {
            Some(queue) => Target::Bee(QueueName::new(queue)?),
            None => Target::Hot,
        };
        Ok(Definition {
            name: self.name,
            kwargs: self.kwargs,
            schedule,
            target,
            catch_up: self.catch_up.unwrap_or(1),
        })
    }

    fn filters(&self) -> Filters {
        Filters {
            months: self.months.clone(),
            days_of_month: self.days_of_month.clone(),
            days_of_week: self.days_of_week.clone(),
            hours: self.hours.clone(),
            minutes: self.minutes.clone(),
            seconds: self.seconds.clone(),
        }
    }

    fn schedule(&self) -> Result<Schedule, DefinitionError> {
        let filters = self.filters();
        let has_filters = filters != Filters::default();
        if self.from.is_some() && self.every.is_none() {
            return Err(DefinitionError::FromAlone);
        }
        match (&self.cron, has_filters, &self.every, &self.at) {
            (Some(cron), false, None, None) => Ok(CronSchedule::new(self.zone()?, cron)?.into()),
            (None, true, None, None) => Ok(Interval::new(self.zone()?, &filters)?.into()),
            (None, false, Some(every), None) => self.every(every),
            (None, false, None, Some(at)) => Ok(Schedule::Once(self.moment("at", at)?)),
            _ => Err(DefinitionError::OneSchedule),
        }
    }

    fn zone(&self) -> Result<&str, DefinitionError> {
        self.zone.as_deref().ok_or(DefinitionError::NoZone)
    }

    fn every(&self, every: &str) -> Result<Schedule, DefinitionError> {
        if let Some(zone) = &self.zone
            && self.from.is_none()
        {
            return Err(DefinitionError::NeedlessZone { zone: zone.clone() });
        }
        let from = self.from.as_ref().map(|from| self.moment("from", from)).transpose()?;
        Ok(Every::parse(every, from.unwrap_or(Timestamp::UNIX_EPOCH))?.into())
    }

    /// A moment with its offset, or as a clock in the zone shows it. Fractions of a second do not count.
    fn moment(&self, field: &'static str, text: &str) -> Result<Timestamp, DefinitionError> {
        let bad = || ScheduleError::Moment { field, given: text.to_owned() };
        let at = match text.parse::<Timestamp>() {
            Ok(at) => at,
            Err(_) => {
                let at: DateTime = text.parse().map_err(|_| bad())?;
                let zone = find_zone(self.zone()?)?;
                at.to_zoned(zone).map_err(|_| bad())?.timestamp()
            }
        };
        Ok(Timestamp::from_second(at.as_second()).map_err(|_| bad())?)
    }
}

impl From<&Definition> for Draft {
    /// The definition as it can be written; read again, it is the same.
    fn from(definition: &Definition) -> Draft {
        let mut draft = Draft {
            name: definition.name.clone(),
            kwargs: definition.kwargs.clone(),
            queue: match &definition.target {
                Target::Bee(queue) => Some(queue.to_string()),
                Target::Hot => None,
            },
            catch_up: Some(definition.catch_up),
            ..Draft::default()
        };
        match &definition.schedule {
            Schedule::Cron(cron) => {
                draft.cron = Some(cron.expression().to_owned());
                draft.zone = Some(cron.zone_name().to_owned());
            }
            Schedule::Interval(interval) => {
                draft.zone = Some(interval.zone_name().to_owned());
                draft.set_filters(interval.filters());
            }
            Schedule::Every(every) => {
                draft.every = Some(every.period_text());
                draft.from = Some(every.from().to_string());
            }
            Schedule::Once(at) => draft.at = Some(at.to_string()),
        }
        draft
    }
}

impl Draft {
    /// Takes over when another draft runs, and nothing else of it.
    pub fn set_schedule(&mut self, other: Draft) {
        let filters = other.filters();
        self.set_filters(filters);
        (self.cron, self.zone) = (other.cron, other.zone);
        (self.every, self.from, self.at) = (other.every, other.from, other.at);
    }

    fn set_filters(&mut self, filters: Filters) {
        self.months = filters.months;
        self.days_of_month = filters.days_of_month;
        self.days_of_week = filters.days_of_week;
        self.hours = filters.hours;
        self.minutes = filters.minutes;
        self.seconds = filters.seconds;
    }
}
