//! Why a call failed, in the words of `ts/errors.ts`.

use keyrack_entitlements::Error as LimitError;
use keyrack_jobs::Error as JobError;
use keyrack_keys::PartError;
use keyrack_progress::Error as ProgressError;
use keyrack_store::{Class, Error as StoreError, ServiceError};
use serde::Serialize;

/// A failed call, as JavaScript gets it.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Failure {
    class: &'static str,
    message: String,
    is_transient: bool,
}

impl Failure {
    pub(crate) fn new(class: &'static str, message: impl Into<String>) -> Failure {
        Failure { class, message: message.into(), is_transient: false }
    }

    pub(crate) fn invalid(message: impl Into<String>) -> Failure {
        Failure::new("invalid", message)
    }

    pub(crate) fn internal(message: impl Into<String>) -> Failure {
        Failure::new("internal", message)
    }

    pub(crate) fn closed() -> Failure {
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

/// What a call that was made with wrong arguments throws at once.
impl From<Failure> for napi::Error {
    fn from(failure: Failure) -> napi::Error {
        let text = serde_json::to_string(&failure).unwrap_or(failure.message);
        napi::Error::from_reason(text)
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
