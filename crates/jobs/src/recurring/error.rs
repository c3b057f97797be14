//! What can be wrong with recurring jobs, by what the caller can do about it.

#![allow(missing_docs, reason = "the message of each variant describes it and its fields")]

use keyrack_store::{Class, ErrorInfo, ServiceError};

/// Why a recurring job could not be defined or run.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("the recurring job \"{name}\" is not valid: {reason}")]
    Definition { name: String, reason: DefinitionError },

    #[error(
        "the recurring jobs \"{first}\" and \"{second}\" have the same digest; remove one, or change its name or arguments"
    )]
    SameDigest { first: String, second: String },

    #[error("no worker knows the recurring jobs \"{}\"; teach them to one, or correct their names", .names.join("\", \""))]
    NobodyKnows { names: Vec<String> },

    #[error("there is no recurring job \"{name}\"")]
    NoSuchJob { name: String },

    #[error(
        "another list of recurring jobs is in force: the store has the digest \"{found}\", ours is \"{ours}\"; \
         run one list everywhere, or restart this scheduler to put its list in force"
    )]
    OtherList { found: String, ours: String },

    #[error(
        "a newer list of recurring jobs is in force: version {found}, ours is {ours}; update this scheduler, or change its settings file to \
         put its list in force"
    )]
    NewerList { found: u64, ours: u64 },

    #[error("could not write a job for the hot queue")]
    Hot(#[source] crate::hot::Error),

    #[error("could not submit a job to the queue \"{queue}\"")]
    Bee {
        queue: String,
        #[source]
        source: crate::Error,
    },

    #[error("could not reach the schedule of the recurring jobs")]
    Store(#[from] keyrack_store::Error),
}

impl ServiceError for Error {
    fn info(&self) -> ErrorInfo {
        match self {
            Error::Definition { .. } | Error::SameDigest { .. } | Error::NobodyKnows { .. } => {
                ErrorInfo::operator(Class::Invalid)
            }
            Error::NoSuchJob { .. } => ErrorInfo::new(
                Class::NotFound,
                "recurring_job_not_found",
                "there is no such recurring job",
            ),
            Error::OtherList { .. } | Error::NewerList { .. } => ErrorInfo::new(
                Class::Conflict,
                "other_list",
                "another list of recurring jobs is in force",
            ),
            Error::Hot(error) => error.info(),
            Error::Bee { source, .. } => source.info(),
            Error::Store(error) => error.info(),
        }
    }

    fn detail(&self) -> String {
        match self {
            Error::Bee { source, .. } => source.detail(),
            _ => self.to_string(),
        }
    }

    fn store_error(&self) -> Option<&keyrack_store::Error> {
        match self {
            Error::Hot(error) => error.store_error(),
            Error::Bee { source, .. } => source.store_error(),
            Error::Store(error) => Some(error),
            _ => None,
        }
    }
}

impl From<redis::RedisError> for Error {
    fn from(error: redis::RedisError) -> Error {
        Error::Store(error.into())
    }
}

/// What is wrong with the definition of a recurring job.
#[derive(Debug, thiserror::Error)]
pub enum DefinitionError {
    #[error("it has no name; give the name that workers know the job by")]
    NoName,

    #[error("the name has {bytes} bytes; use at most {max}")]
    LongName { bytes: usize, max: usize },

    #[error("\"catch_up\" is \"{given}\"; use a number from 1 to {max}")]
    CatchUp { given: u32, max: u32 },

    #[error("it needs either filters such as \"seconds\" or a \"cron\" expression, and not both")]
    OneSchedule,

    #[error(transparent)]
    Queue(#[from] keyrack_keys::PartError),

    #[error(transparent)]
    Schedule(#[from] ScheduleError),
}

/// What is wrong with a schedule.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ScheduleError {
    #[error("there is no time zone \"{zone}\"; use a name such as \"Europe/Berlin\" or \"UTC\"")]
    UnknownZone { zone: String },

    #[error("it has no filter; give at least \"seconds\"")]
    NoFilter,

    #[error("\"{unit}\" is empty; leave it out or give at least one value")]
    Empty { unit: &'static str },

    #[error("\"{unit}\" has the value \"{value}\"; use numbers from {min} to {max}")]
    OutOfRange { unit: &'static str, value: u8, min: u8, max: u8 },

    #[error("\"{unit}\" is not in order; list each value once, the smallest first")]
    NotAscending { unit: &'static str },

    #[error("it has both \"days_of_month\" and \"days_of_week\"; give one of them")]
    BothDays,

    #[error(
        "it has \"{unit}\" but no \"{missing}\", so it would run many times in a row; give \"{missing}\" too"
    )]
    Needs { unit: &'static str, missing: &'static str },

    #[error("none of its \"months\" has any of its \"days_of_month\", so it would never run")]
    NoSuchDay,

    #[error("the cron expression \"{expression}\" is not valid: {reason}")]
    Cron { expression: String, reason: String },

    #[error("the cron expression \"{expression}\" never comes true")]
    NeverRuns { expression: String },
}
