//! What can be wrong with recurring jobs, by what the caller can do about it.

/// Why a recurring job could not be defined or run.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A definition is wrong.
    #[error("the recurring job \"{name}\" is not valid: {reason}")]
    Definition {
        /// Its name.
        name: String,
        /// What is wrong with it.
        reason: DefinitionError,
    },

    /// Two definitions have the same digest, by which the store would take them for one job.
    #[error(
        "the recurring jobs \"{first}\" and \"{second}\" have the same digest; remove one, or change its name or arguments"
    )]
    SameDigest {
        /// The name of the first.
        first: String,
        /// The name of the second.
        second: String,
    },

    /// Nobody could run some of the jobs.
    #[error("no worker knows the recurring jobs \"{}\"; teach them to one, or correct their names", .names.join("\", \""))]
    NobodyKnows {
        /// Their names.
        names: Vec<String>,
    },

    /// No recurring job has that name.
    #[error("there is no recurring job \"{name}\"")]
    NoSuchJob {
        /// The name asked for.
        name: String,
    },

    /// The store holds the schedule of a scheduler with other definitions.
    #[error(
        "another list of recurring jobs is in force: the store has the digest \"{found}\", ours is \"{ours}\"; \
         run one list everywhere, or restart this scheduler to put its list in force"
    )]
    OtherList {
        /// The digest in the store.
        found: String,
        /// The digest of our definitions.
        ours: String,
    },

    /// The store holds the schedule of a newer list, which is not replaced by an older one.
    #[error(
        "a newer list of recurring jobs is in force: version {found}, ours is {ours}; update this scheduler, or change its settings file to \
         put its list in force"
    )]
    NewerList {
        /// The version in the store.
        found: u64,
        /// Ours.
        ours: u64,
    },

    /// A job could not be put into the hot queue.
    #[error("could not write a job for the hot queue")]
    Hot(#[source] crate::hot::Error),

    /// A job could not be submitted to its Bee queue.
    #[error("could not submit a job to the queue \"{queue}\"")]
    Bee {
        /// The queue.
        queue: String,
        /// Why not.
        #[source]
        source: crate::Error,
    },

    /// The store could not do it.
    #[error("could not reach the schedule of the recurring jobs")]
    Store(#[from] keyrack_store::Error),
}

impl From<redis::RedisError> for Error {
    fn from(error: redis::RedisError) -> Error {
        Error::Store(error.into())
    }
}

/// What is wrong with the definition of a recurring job.
#[derive(Debug, thiserror::Error)]
pub enum DefinitionError {
    /// It has no name.
    #[error("it has no name; give the name that workers know the job by")]
    NoName,

    /// The name is too long.
    #[error("the name has {bytes} bytes; use at most {max}")]
    LongName {
        /// How long it is.
        bytes: usize,
        /// The longest allowed.
        max: usize,
    },

    /// More or fewer runs are to be made up for than allowed.
    #[error("\"catch_up\" is \"{given}\"; use a number from 1 to {max}")]
    CatchUp {
        /// The number given.
        given: u32,
        /// The largest allowed.
        max: u32,
    },

    /// Neither filters nor a cron expression, or both.
    #[error("it needs either filters such as \"seconds\" or a \"cron\" expression, and not both")]
    OneSchedule,

    /// The queue cannot have that name.
    #[error("{0}")]
    Queue(#[from] keyrack_keys::PartError),

    /// The schedule is wrong.
    #[error("{0}")]
    Schedule(#[from] ScheduleError),
}

/// What is wrong with a schedule.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ScheduleError {
    /// The time zone database has no such zone.
    #[error("there is no time zone \"{zone}\"; use a name such as \"Europe/Berlin\" or \"UTC\"")]
    UnknownZone {
        /// The name given.
        zone: String,
    },

    /// There is no filter at all.
    #[error("it has no filter; give at least \"seconds\"")]
    NoFilter,

    /// A filter lets nothing pass.
    #[error("\"{unit}\" is empty; leave it out or give at least one value")]
    Empty {
        /// The filter.
        unit: &'static str,
    },

    /// A value is none of the filter's unit.
    #[error("\"{unit}\" has the value \"{value}\"; use numbers from {min} to {max}")]
    OutOfRange {
        /// The filter.
        unit: &'static str,
        /// The value.
        value: u8,
        /// The smallest allowed.
        min: u8,
        /// The largest allowed.
        max: u8,
    },

    /// Values are not in order, or one is there twice.
    #[error("\"{unit}\" is not in order; list each value once, the smallest first")]
    NotAscending {
        /// The filter.
        unit: &'static str,
    },

    /// Days are given in both ways.
    #[error("it has both \"days_of_month\" and \"days_of_week\"; give one of them")]
    BothDays,

    /// A filter makes no sense without that of a smaller unit.
    #[error(
        "it has \"{unit}\" but no \"{missing}\", so it would run many times in a row; give \"{missing}\" too"
    )]
    Needs {
        /// The filter that is given.
        unit: &'static str,
        /// The filter that it needs.
        missing: &'static str,
    },

    /// None of the months has any of the days.
    #[error("none of its \"months\" has any of its \"days_of_month\", so it would never run")]
    NoSuchDay,

    /// The cron expression cannot be understood.
    #[error("the cron expression \"{expression}\" is not valid: {reason}")]
    Cron {
        /// The expression.
        expression: String,
        /// What is wrong with it.
        reason: String,
    },

    /// The cron expression has no date.
    #[error("the cron expression \"{expression}\" never comes true")]
    NeverRuns {
        /// The expression.
        expression: String,
    },
}
