//! What can go wrong with progress bars, by what the caller can do about it.

#![allow(missing_docs, reason = "the message of each variant describes it and its fields")]

use keyrack_keys::PartError;
use keyrack_store::{Class, ErrorInfo, ServiceError};

/// Why something could not be done.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Part(#[from] PartError),

    #[error("{field}: {reason}")]
    Invalid { field: &'static str, reason: String },

    #[error(
        "there is no trace \"{trace}\"; it may have expired, or nobody has created it, so create it first"
    )]
    TraceNotFound { trace: String },

    #[error("the trace \"{trace}\" is completed or has failed; create it again to start anew")]
    TraceCompleted { trace: String },

    #[error("the current step of the trace \"{trace}\" is not there; try again in a few seconds")]
    StepMissing { trace: String },

    #[error(
        "the step \"{step}\" has not been started; send it first without \"done\" and with \"iteration\" 0 or none"
    )]
    MissingStartTime { step: String },

    #[error("the step \"{step}\" began with {began}; keep \"iterations\" as it was")]
    StepChanged { step: String, began: String },

    #[error("the step \"{step}\" has completed iteration {reached} already; go on from there")]
    BackwardsProgress { step: String, reached: String },

    #[error(
        "the trace \"{trace}\" has had the step \"{step}\" already; give each step a name of its own"
    )]
    StepRepeated { trace: String, step: String },

    #[error("\"default\" is the name of every bar's default step; use another name")]
    StepReserved,

    #[error("there are {max} steps already, which is the most; use iterations for what repeats")]
    TooManySteps { max: u64 },

    #[error("the uid \"{trace}\" is that of a retained trace; use another")]
    UidTaken { trace: String },

    #[error("there is no progress bar \"{bar}\"; it begins with its first completed trace")]
    BarNotFound { bar: String },

    #[error("the progress bar \"{bar}\" has no step \"{step}\"")]
    StepNotFound { bar: String, step: String },

    #[error("the progress bar \"{bar}\" retains no trace \"{trace}\"; it may have been evicted")]
    RetainedTraceNotFound { bar: String, trace: String },

    #[error("there is a progress bar \"{bar}\" already; use another name, or change that one")]
    BarExists { bar: String },

    #[error(
        "there are {max} progress bars already, which is the most; delete some, or have \"quota-bars\" raised"
    )]
    TooManyBars { max: u64 },

    #[error(
        "there are {max} traces of this user, as many as one may have; the first is gone in {retry_after_s} s: complete those that \
         are done, or have \"quota-traces\" raised"
    )]
    TooManyTraces { max: u64, retry_after_s: u32 },

    #[error("the progress bar \"{bar}\" has a step \"{step}\" already; use another name")]
    StepExists { bar: String, step: String },

    #[error("the default step is part of its bar; change \"default_step_config\" of the bar")]
    CannotEditDefaultStep,

    #[error("the default step is part of its bar; delete the bar to be rid of both")]
    CannotDeleteDefaultStep,

    #[error("the progress bar \"{bar}\" keeps being changed by others; try again in a second")]
    Busy { bar: String },

    #[error(
        "what is stored under \"{key}\" makes no sense: {reason}; `keyrack keys lint` tells more"
    )]
    Corrupt { key: String, reason: String },

    #[error("the arguments of the job \"{name}\" do not fit: {reason}")]
    BadJob { name: String, reason: String },

    #[error(transparent)]
    Store(#[from] keyrack_store::Error),
}

impl Error {
    pub(crate) fn invalid(field: &'static str, reason: impl Into<String>) -> Error {
        Error::Invalid { field, reason: reason.into() }
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

/// Seconds after which others have changed the bar.
const BUSY_RETRY_S: u32 = 1;

/// Seconds after which the expiring keys of a trace are gone.
const EXPIRING_RETRY_S: u32 = 5;

impl ServiceError for Error {
    fn info(&self) -> ErrorInfo {
        use Class::{Busy, Internal, Invalid, NotFound};

        const NO_TRACE: &str = "there is no such trace";
        let trace =
            |code| ErrorInfo::new(Class::Conflict, code, "the trace cannot go on like this");
        let bar =
            |code| ErrorInfo::new(Class::Conflict, code, "the progress bar cannot become this");
        match self {
            Error::Part(_) => ErrorInfo::BAD_NAME,
            Error::Invalid { field, .. } => ErrorInfo::invalid(field),
            Error::TraceNotFound { .. } | Error::RetainedTraceNotFound { .. } => {
                ErrorInfo::new(NotFound, "trace_not_found", NO_TRACE)
            }
            Error::BarNotFound { .. } => {
                ErrorInfo::new(NotFound, "pbar_not_found", "there is no such progress bar")
            }
            Error::StepNotFound { .. } => {
                ErrorInfo::new(NotFound, "step_not_found", "there is no such step")
            }
            Error::TraceCompleted { .. } => trace("trace_completed"),
            Error::MissingStartTime { .. } => trace("missing_start_time"),
            Error::StepChanged { .. } => trace("step_changed"),
            Error::BackwardsProgress { .. } => trace("backwards_progress"),
            Error::StepRepeated { .. } => trace("step_repeated"),
            Error::StepReserved => trace("step_name_reserved"),
            Error::TooManySteps { .. } => trace("too_many_steps"),
            Error::UidTaken { .. } => trace("uid_taken"),
            Error::BarExists { .. } => bar("progress_bar_name_already_exists"),
            Error::TooManyBars { .. } => bar("too_many_progress_bars"),
            Error::StepExists { .. } => bar("step_name_already_exists"),
            Error::CannotEditDefaultStep => bar("cannot_edit_default_step"),
            Error::CannotDeleteDefaultStep => bar("cannot_delete_default_step"),
            Error::TooManyTraces { retry_after_s, .. } => {
                ErrorInfo::over_quota("too_many_traces", *retry_after_s)
            }
            Error::StepMissing { .. } => ErrorInfo::later(Busy, "step_missing", EXPIRING_RETRY_S),
            Error::Busy { .. } => ErrorInfo::later(Busy, "busy", BUSY_RETRY_S),
            Error::Corrupt { .. } => ErrorInfo::operator(Internal),
            Error::BadJob { .. } => ErrorInfo::operator(Invalid),
            Error::Store(error) => error.info(),
        }
    }

    fn store_error(&self) -> Option<&keyrack_store::Error> {
        match self {
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
