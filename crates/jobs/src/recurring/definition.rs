//! A recurring job as it is defined: what runs, with which arguments, when, and where it is put.

mod draft;

use serde::Deserialize;

pub use self::draft::Draft;
use super::{
    error::{DefinitionError, Error},
    json::{Json, Members},
    schedule::Schedule,
};
use crate::bee::keys::QueueName;

/// The longest name: as long as what may stand in a key, so that names can be used there.
const NAME_BYTES_MAX: usize = keyrack_keys::PART_BYTES_MAX;

/// The most missed runs that are made up for at once, so that a long stop does not flood the queue.
const CATCH_UP_MAX: u32 = 1000;

/// What runs by the calendar.
///
/// From code:
///
/// ```
/// use keyrack_jobs::recurring::{Definition, Filters, Interval};
///
/// let each_minute = Filters { seconds: Some(vec![0]), ..Filters::default() };
/// let ping = Definition::new("runners.example", Interval::new("US/Pacific", &each_minute)?)
///     .kwarg("message", "Ping");
/// # Ok::<(), keyrack_jobs::recurring::ScheduleError>(())
/// ```
///
/// From configuration, here as TOML:
///
/// ```
/// # #[derive(serde::Deserialize)]
/// # struct File { recurring: Vec<keyrack_jobs::recurring::Definition> }
/// # let file: File = toml::from_str(r#"
/// [[recurring]]
/// name = "runners.example"
/// kwargs = { message = "Ping" }      # or [["message", "Ping"]], which keeps the order everywhere
/// zone = "US/Pacific"
/// seconds = [0]                      # and minutes, hours, days_of_week, days_of_month, months
///
/// [[recurring]]
/// name = "send the newsletter"
/// zone = "Europe/Berlin"
/// cron = "30 6 * * MON"              # instead of filters
/// queue = "mail/newsletter"          # a Bee queue; without it the job goes to jobs:hot
/// catch_up = 3                       # missed runs that are made up for; by default all of them become one
///
/// [[recurring]]
/// name = "look for mail"
/// every = "10m"                      # or once: at = "2030-12-24T18:00:00Z"
/// # "#).unwrap();
/// # assert_eq!(file.recurring.len(), 3);
/// ```
#[derive(Debug, Clone, Deserialize)]
#[serde(try_from = "Draft")]
pub struct Definition {
    name: String,
    kwargs: Members,
    schedule: Schedule,
    target: Target,
    catch_up: u32,
}

/// Where a due job is put.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Target {
    /// The hot queue, under the definition's name.
    #[default]
    Hot,
    /// A Bee queue, as a job whose one argument is the object of arguments.
    Bee(QueueName),
}

impl Definition {
    /// A job without arguments for the hot queue.
    pub fn new(name: impl Into<String>, schedule: impl Into<Schedule>) -> Definition {
        Definition {
            name: name.into(),
            kwargs: Members::default(),
            schedule: schedule.into(),
            target: Target::Hot,
            catch_up: 1,
        }
    }

    /// The same job at other times.
    #[must_use]
    pub(super) fn with_schedule(self, schedule: Schedule) -> Definition {
        Definition { schedule, ..self }
    }

    /// Adds an argument.
    #[must_use]
    pub fn kwarg(mut self, name: impl Into<String>, value: impl Into<Json>) -> Definition {
        self.kwargs.set(name, value);
        self
    }

    /// Puts the job into a Bee queue instead.
    #[must_use]
    pub fn to_queue(mut self, queue: QueueName) -> Definition {
        self.target = Target::Bee(queue);
        self
    }

    /// Says how many missed runs are made up for, up to 1000. With 1, all of them become one; with 0, a run that is more than a minute
    /// late is skipped.
    #[must_use]
    pub fn catching_up(mut self, runs_max: u32) -> Definition {
        self.catch_up = runs_max;
        self
    }

    /// The name by which workers know the job.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its arguments.
    pub fn kwargs(&self) -> &Members {
        &self.kwargs
    }

    /// When it runs.
    pub fn schedule(&self) -> &Schedule {
        &self.schedule
    }

    /// Where it is put.
    pub fn target(&self) -> &Target {
        &self.target
    }

    /// How many missed runs are made up for; 0 if they are skipped.
    pub fn catch_up(&self) -> u32 {
        self.catch_up
    }

    /// Looks at everything that the types allow and a job does not.
    pub(super) fn check(&self) -> Result<(), Error> {
        let reason = if self.name.is_empty() {
            DefinitionError::NoName
        } else if self.name.len() > NAME_BYTES_MAX {
            DefinitionError::LongName { bytes: self.name.len(), max: NAME_BYTES_MAX }
        } else if self.catch_up > CATCH_UP_MAX {
            DefinitionError::CatchUp { given: self.catch_up, max: CATCH_UP_MAX }
        } else {
            return Ok(());
        };
        Err(Error::Definition { name: self.name.clone(), reason })
    }
}

#[cfg(test)]
mod tests;
