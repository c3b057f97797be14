//! Why a call failed, in the words of `ts/errors.ts` and `keyrack/_errors.py`.

use keyrack_calculations::Error as CalculationError;
use keyrack_entitlements::Error as LimitError;
use keyrack_files::Error as FileError;
use keyrack_jobs::{Error as JobError, recurring::Error as ScheduleError};
use keyrack_keys::PartError;
use keyrack_progress::Error as ProgressError;
use keyrack_recommender::Error as RecommenderError;
use keyrack_store::{Class, Error as StoreError, ServiceError};
use serde::Serialize;

/// A failed call.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Failure {
    /// What the caller can do about it, such as `invalid` or `conflict`.
    pub class: &'static str,
    /// What happened, for people.
    pub message: String,
    /// Whether the same call may well succeed a little later.
    pub is_transient: bool,
}

impl Failure {
    /// A failure of this class.
    pub fn new(class: &'static str, message: impl Into<String>) -> Failure {
        Failure { class, message: message.into(), is_transient: false }
    }

    /// A value that is not allowed.
    pub fn invalid(message: impl Into<String>) -> Failure {
        Failure::new("invalid", message)
    }

    /// Something that should not happen.
    pub fn internal(message: impl Into<String>) -> Failure {
        Failure::new("internal", message)
    }

    /// A call of a store that was closed.
    pub fn closed() -> Failure {
        Failure::new("closed", "the store is closed; open it again")
    }

    fn of(error: &impl ServiceError, is_transient: bool) -> Failure {
        let class = match error.info().class {
            Class::Invalid => "invalid",
            Class::NotFound => "not_found",
            Class::Conflict => "conflict",
            Class::Unauthenticated | Class::Denied => "denied",
            Class::Limited | Class::Busy | Class::Unavailable => "unavailable",
            Class::Internal => "internal",
        };
        Failure { class, message: error.to_string(), is_transient }
    }
}

impl From<PartError> for Failure {
    fn from(error: PartError) -> Failure {
        Failure::invalid(error.to_string())
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Failure {
        // The program that opens a folder is the operator whom the class speaks of.
        let class = match &error {
            StoreError::Url(_) => "invalid",
            StoreError::Folder { in_use: true, .. } => "conflict",
            StoreError::Auth { .. } | StoreError::Denied(_) => "denied",
            _ => Failure::of(&error, false).class,
        };
        Failure { class, message: error.to_string(), is_transient: error.is_transient() }
    }
}

impl From<JobError> for Failure {
    fn from(error: JobError) -> Failure {
        match error {
            JobError::Store(error) => error.into(),
            error => Failure::of(&error, error.is_transient()),
        }
    }
}

impl From<ScheduleError> for Failure {
    fn from(error: ScheduleError) -> Failure {
        match error {
            ScheduleError::Store(error) => error.into(),
            error => Failure::of(&error, matches!(error, ScheduleError::Busy { .. })),
        }
    }
}

impl From<ProgressError> for Failure {
    fn from(error: ProgressError) -> Failure {
        Failure::of(&error, false)
    }
}

impl From<LimitError> for Failure {
    fn from(error: LimitError) -> Failure {
        Failure::of(&error, false)
    }
}

impl From<CalculationError> for Failure {
    fn from(error: CalculationError) -> Failure {
        match error {
            CalculationError::Store(error) => error.into(),
            error => Failure::of(&error, error.is_transient()),
        }
    }
}

impl From<FileError> for Failure {
    fn from(error: FileError) -> Failure {
        match error {
            FileError::Store(error) => error.into(),
            error => Failure::of(&error, error.is_transient()),
        }
    }
}

impl From<RecommenderError> for Failure {
    fn from(error: RecommenderError) -> Failure {
        match error {
            RecommenderError::Store(error) => error.into(),
            error => Failure::of(&error, matches!(error, RecommenderError::Busy)),
        }
    }
}
