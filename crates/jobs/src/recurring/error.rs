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

    #[error(
        "the recurring job \"{name}\" comes from {origin} and cannot be changed at run time; change it there"
    )]
    InList { name: String, origin: String },

    #[error(
        "there is a recurring job \"{name}\" already, of version {version}; change that one, or use another name"
    )]
    Exists { name: String, version: u64 },

    #[error(
        "the recurring job \"{name}\" has version {found}, not {given}: somebody has changed it; look at it and try again"
    )]
    OtherVersion { name: String, given: u64, found: u64 },

    #[error("there are {max} recurring jobs in the store, which is the most; delete some first")]
    TooMany { max: usize },

    #[error("others change the recurring job \"{name}\" all the time; try again")]
    Busy { name: String },

    #[error(
        "the recurring job \"{name}\" cannot be read from the store: {reason}; a newer program may have written it"
    )]
    Unreadable { name: String, reason: String },

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
            Error::Definition { reason, .. } => {
                ErrorInfo { field: reason.field(), ..ErrorInfo::INVALID }
            }
            Error::SameDigest { .. } | Error::NobodyKnows { .. } => {
                ErrorInfo::operator(Class::Invalid)
            }
            Error::InList { .. } => ErrorInfo::new(
                Class::Conflict,
                "recurring_job_fixed",
                "this recurring job cannot be changed at run time",
            ),
            Error::Exists { .. } => ErrorInfo::new(
                Class::Conflict,
                "recurring_job_exists",
                "there is such a recurring job already",
            ),
            Error::OtherVersion { .. } => ErrorInfo::new(
                Class::Conflict,
                "other_version",
                "the recurring job has another version",
            ),
            Error::TooMany { .. } => ErrorInfo::new(
                Class::Conflict,
                "too_many_recurring_jobs",
                "there are too many recurring jobs",
            ),
            Error::Busy { .. } => ErrorInfo::later(Class::Busy, "busy", 1),
            Error::Unreadable { .. } => ErrorInfo::new(
                Class::Internal,
                "recurring_job_unreadable",
                "the stored recurring job cannot be read",
            ),
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

    #[error("the name \"{name}\" cannot be part of a path; use another one")]
    PathName { name: String },

    #[error(
        "\"catch_up\" is \"{given}\"; use 0 to skip missed runs, or how many to make up for, up to {max}"
    )]
    CatchUp { given: u32, max: u32 },

    #[error(
        "it needs one of \"cron\", \"every\", \"at\" and filters such as \"seconds\", and only one"
    )]
    OneSchedule,

    #[error("\"zone\" is missing; give a name such as \"Europe/Berlin\" or \"UTC\"")]
    NoZone,

    #[error(
        "\"zone\" is \"{zone}\", but \"every\" counts time and follows no clock; leave the zone out"
    )]
    NeedlessZone { zone: String },

    #[error("\"from\" says when \"every\" begins; give \"every\" too, or leave it out")]
    FromAlone,

    #[error("\"{field}\" is \"{given}\", but it is \"{now}\" already; use a later time")]
    Past { field: &'static str, given: String, now: String },

    #[error("\"{field}\" is \"{given}\"; use a time within the next 100 years")]
    TooFar { field: &'static str, given: String },

    #[error(
        "the definition has {bytes} bytes as JSON; use at most {max}, and store what is larger elsewhere"
    )]
    TooLarge { bytes: usize, max: usize },

    #[error(transparent)]
    Queue(#[from] keyrack_keys::PartError),

    #[error(transparent)]
    Schedule(#[from] ScheduleError),
}

impl DefinitionError {
    /// The field with the invalid value.
    pub fn field(&self) -> Option<&'static str> {
        match self {
            DefinitionError::NoName
            | DefinitionError::LongName { .. }
            | DefinitionError::PathName { .. } => Some("name"),
            DefinitionError::CatchUp { .. } => Some("catch_up"),
            DefinitionError::OneSchedule => None,
            DefinitionError::NoZone | DefinitionError::NeedlessZone { .. } => Some("zone"),
            DefinitionError::FromAlone => Some("from"),
            DefinitionError::Past { field, .. } | DefinitionError::TooFar { field, .. } => {
                Some(field)
            }
            DefinitionError::TooLarge { .. } => Some("kwargs"),
            DefinitionError::Queue(_) => Some("queue"),
            DefinitionError::Schedule(error) => error.field(),
        }
    }
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

    #[error(
        "\"days_of_month\" begins with \"{day}\", which none of its \"months\" has, so it would never run; use a day that one of them has"
    )]
    NoSuchDay { day: u8 },

    #[error("the cron expression \"{expression}\" is not valid: {reason}")]
    Cron { expression: String, reason: String },

    #[error("the cron expression \"{expression}\" never comes true; name a date that exists")]
    NeverRuns { expression: String },

    #[error(
        "\"every\" is \"{given}\"; use whole seconds from 1s to 366d, such as \"30s\", \"10m\", \"1h30m\" or \"7d\""
    )]
    Every { given: String },

    #[error(
        "\"{field}\" is \"{given}\"; write a time such as \"2030-12-24T18:00:00Z\", or \"2030-12-24T18:00:00\" with a \"zone\""
    )]
    Moment { field: &'static str, given: String },
}

impl ScheduleError {
    /// The field with the invalid value.
    fn field(&self) -> Option<&'static str> {
        match self {
            ScheduleError::UnknownZone { .. } => Some("zone"),
            ScheduleError::NoFilter => None,
            ScheduleError::Empty { unit }
            | ScheduleError::OutOfRange { unit, .. }
            | ScheduleError::NotAscending { unit }
            | ScheduleError::Needs { unit, .. } => Some(unit),
            ScheduleError::BothDays | ScheduleError::NoSuchDay { .. } => Some("days_of_month"),
            ScheduleError::Cron { .. } | ScheduleError::NeverRuns { .. } => Some("cron"),
            ScheduleError::Every { .. } => Some("every"),
            ScheduleError::Moment { field, .. } => Some(field),
        }
    }
}
