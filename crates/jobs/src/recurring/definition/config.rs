//! The shape of a definition in configuration.

use serde::Deserialize;

use super::{Definition, Target};
use crate::{
    bee::keys::QueueName,
    recurring::{
        error::{DefinitionError, Error},
        interval::{Filters, Interval, Weekday},
        json::Members,
        schedule::{CronSchedule, Schedule},
    },
};

/// One table of the configuration.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Config {
    name: String,
    #[serde(default)]
    kwargs: Members,
    zone: String,
    cron: Option<String>,
    months: Option<Vec<u8>>,
    days_of_month: Option<Vec<u8>>,
    days_of_week: Option<Vec<Weekday>>,
    hours: Option<Vec<u8>>,
    minutes: Option<Vec<u8>>,
    seconds: Option<Vec<u8>>,
    queue: Option<String>,
    #[serde(default = "one")]
    catch_up: u32,
}

fn one() -> u32 {
    1
}

impl TryFrom<Config> for Definition {
    type Error = Error;

    fn try_from(config: Config) -> Result<Definition, Error> {
        let name = config.name.clone();
        let definition = config.definition();
        let definition = definition.map_err(|reason| Error::Definition { name, reason })?;
        definition.check()?;
        Ok(definition)
    }
}

impl Config {
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
            catch_up: self.catch_up,
        })
    }

    fn schedule(&self) -> Result<Schedule, DefinitionError> {
        let filters = Filters {
            months: self.months.clone(),
            days_of_month: self.days_of_month.clone(),
            days_of_week: self.days_of_week.clone(),
            hours: self.hours.clone(),
            minutes: self.minutes.clone(),
            seconds: self.seconds.clone(),
        };
        let has_filters = filters != Filters::default();
        match &self.cron {
            Some(cron) if !has_filters => Ok(CronSchedule::new(&self.zone, cron)?.into()),
            None if has_filters => Ok(Interval::new(&self.zone, &filters)?.into()),
            _ => Err(DefinitionError::OneSchedule),
        }
    }
}
