//! What can go wrong with progress bars, by what the caller can do about it.

use keyrack_keys::PartError;

/// Why something could not be done.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A name or id cannot stand in a key.
    #[error(transparent)]
    Part(#[from] PartError),

    /// A value that was given makes no sense.
    #[error("{field}: {reason}")]
    Invalid {
        /// What was wrong.
        field: &'static str,
        /// Why, and what to do.
        reason: String,
    },

    /// There is no such trace, or none any more.
    #[error(
        "there is no trace \"{trace}\"; it may have expired, or nobody has created it, so create it first"
    )]
    TraceNotFound {
        /// The trace asked for.
        trace: String,
    },

    /// The trace has ended.
    #[error("the trace \"{trace}\" is completed or has failed; create it again to start anew")]
    TraceCompleted {
        /// The trace.
        trace: String,
    },

    /// The step that the trace is in cannot be found, which happens while its keys expire.
    #[error("the current step of the trace \"{trace}\" is not there; try again in a few seconds")]
    StepMissing {
        /// The trace.
        trace: String,
    },

    /// A step that has not been started was continued or ended.
    #[error(
        "the step \"{step}\" has not been started; send it first without \"done\" and with \"iteration\" 0 or none"
    )]
    MissingStartTime {
        /// The step.
        step: String,
    },

    /// The step's number of iterations is not what it was when it started.
    #[error("the step \"{step}\" began with {began}; keep \"iterations\" as it was")]
    StepChanged {
        /// The step.
        step: String,
        /// How it began: `4 iterations`, or `no iterations`.
        began: String,
    },

    /// The step was further already.
    #[error("the step \"{step}\" has completed iteration {reached} already; go on from there")]
    BackwardsProgress {
        /// The step.
        step: String,
        /// How far it was.
        reached: String,
    },

    /// The trace has had a step of that name before.
    #[error(
        "the trace \"{trace}\" has had the step \"{step}\" already; give each step a name of its own"
    )]
    StepRepeated {
        /// The trace.
        trace: String,
        /// The step.
        step: String,
    },

    /// The name of the default step cannot be that of another.
    #[error("\"default\" is the name of every bar's default step; use another name")]
    StepReserved,

    /// The trace or the bar has as many steps as it can have.
    #[error("there are {max} steps already, which is the most; use iterations for what repeats")]
    TooManySteps {
        /// The most.
        max: u64,
    },

    /// A retained trace has that uid.
    #[error("the uid \"{trace}\" is that of a retained trace; use another")]
    UidTaken {
        /// The uid.
        trace: String,
    },

    /// There is no such bar.
    #[error("there is no progress bar \"{bar}\"; it begins with its first completed trace")]
    BarNotFound {
        /// The name asked for.
        bar: String,
    },

    /// The bar has no such step.
    #[error("the progress bar \"{bar}\" has no step \"{step}\"")]
    StepNotFound {
        /// The bar.
        bar: String,
        /// The name asked for.
        step: String,
    },

    /// The bar retains no such trace.
    #[error("the progress bar \"{bar}\" retains no trace \"{trace}\"; it may have been evicted")]
    RetainedTraceNotFound {
        /// The bar.
        bar: String,
        /// The uid asked for.
        trace: String,
    },

    /// The user has a bar of that name.
    #[error("there is a progress bar \"{bar}\" already; use another name, or change that one")]
    BarExists {
        /// The name.
        bar: String,
    },

    /// The user has as many bars as one can have.
    #[error(
        "there are {max} progress bars already, which is the most; delete some, or have \"quota-bars\" raised"
    )]
    TooManyBars {
        /// The most.
        max: u64,
    },

    /// The user has as many traces stored as one can have.
    #[error(
        "there are {max} traces of this user, as many as one may have; the first is gone in {retry_after_s} s: complete those that \
         are done, or have \"quota-traces\" raised"
    )]
    TooManyTraces {
        /// The most.
        max: u64,
        /// When there is room again, in seconds.
        retry_after_s: u32,
    },

    /// The bar has a step of that name.
    #[error("the progress bar \"{bar}\" has a step \"{step}\" already; use another name")]
    StepExists {
        /// The bar.
        bar: String,
        /// The name.
        step: String,
    },

    /// The default step is changed with its bar.
    #[error("the default step is part of its bar; change \"default_step_config\" of the bar")]
    CannotEditDefaultStep,

    /// The default step goes with its bar.
    #[error("the default step is part of its bar; delete the bar to be rid of both")]
    CannotDeleteDefaultStep,

    /// Others kept changing the bar meanwhile.
    #[error("the progress bar \"{bar}\" keeps being changed by others; try again in a second")]
    Busy {
        /// The bar.
        bar: String,
    },

    /// What the store holds is not what was declared.
    #[error(
        "what is stored under \"{key}\" makes no sense: {reason}; `keyrack keys lint` tells more"
    )]
    Corrupt {
        /// The key.
        key: String,
        /// What is wrong with it.
        reason: String,
    },

    /// A job of the hot queue has arguments that do not fit.
    #[error("the arguments of the job \"{name}\" do not fit: {reason}")]
    BadJob {
        /// The job.
        name: String,
        /// Why not.
        reason: String,
    },

    /// The store could not be reached, or refused.
    #[error("the store failed: {0}")]
    Store(#[from] keyrack_store::Error),
}

impl Error {
    pub(crate) fn invalid(field: &'static str, reason: impl Into<String>) -> Error {
        Error::Invalid { field, reason: reason.into() }
    }

    /// The short word by which clients tell refusals apart; `None` for what is no refusal.
    pub fn word(&self) -> Option<&'static str> {
        Some(match self {
            Error::Part(_) | Error::Invalid { .. } => "invalid",
            Error::TraceNotFound { .. } | Error::RetainedTraceNotFound { .. } => "trace_not_found",
            Error::TraceCompleted { .. } => "trace_completed",
            Error::StepMissing { .. } => "step_missing",
            Error::MissingStartTime { .. } => "missing_start_time",
            Error::StepChanged { .. } => "step_changed",
            Error::BackwardsProgress { .. } => "backwards_progress",
            Error::StepRepeated { .. } => "step_repeated",
            Error::StepReserved => "step_name_reserved",
            Error::TooManySteps { .. } => "too_many_steps",
            Error::UidTaken { .. } => "uid_taken",
            Error::BarNotFound { .. } => "pbar_not_found",
            Error::StepNotFound { .. } => "step_not_found",
            Error::BarExists { .. } => "progress_bar_name_already_exists",
            Error::TooManyBars { .. } => "too_many_progress_bars",
            Error::TooManyTraces { .. } => "too_many_traces",
            Error::StepExists { .. } => "step_name_already_exists",
            Error::CannotEditDefaultStep => "cannot_edit_default_step",
            Error::CannotDeleteDefaultStep => "cannot_delete_default_step",
            Error::Busy { .. } => "busy",
            Error::Corrupt { .. } | Error::BadJob { .. } | Error::Store(_) => return None,
        })
    }

    /// Whether the same call may well succeed a little later.
    pub fn is_transient(&self) -> bool {
        match self {
            Error::Store(error) => error.is_transient(),
            Error::Busy { .. } | Error::StepMissing { .. } => true,
            _ => false,
        }
    }
}

impl From<redis::RedisError> for Error {
    fn from(error: redis::RedisError) -> Error {
        Error::Store(error.into())
    }
}
