//! Errors of the crates as Python exceptions.

use keyrack_entitlements::Error as LimitError;
use keyrack_jobs::Error as JobError;
use keyrack_keys::PartError;
use keyrack_progress::Error as ProgressError;
use keyrack_store::Error as StoreError;
use pyo3::{PyErr, Python, types::PyAnyMethods as _};

/// Why a call failed, in the words of `keyrack/_errors.py`.
#[derive(Debug, Clone)]
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

    /// A store that was opened before the process was forked: none of its threads are here.
    pub(crate) fn fork() -> Failure {
        let message = "this store was opened before the process was forked, and its connections and \
                       threads belong to the parent; call keyrack.open() again in the child";
        Failure::new("fork", message)
    }

    pub(crate) fn closed() -> Failure {
        Failure::new("closed", "the store is closed; open it again")
    }

    /// The exception that Python programs catch.
    pub(crate) fn to_py(&self, py: Python<'_>) -> PyErr {
        let made = py.import("keyrack._errors").and_then(|errors| {
            errors.call_method1("error_of", (self.class, &self.message, self.is_transient))
        });
        made.map_or_else(|error| error, PyErr::from_value)
    }
}

impl From<Failure> for PyErr {
    fn from(failure: Failure) -> PyErr {
        Python::attach(|py| failure.to_py(py))
    }
}

impl From<PartError> for Failure {
    fn from(error: PartError) -> Failure {
        Failure::invalid(error.to_string())
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Failure {
        let class = match &error {
            StoreError::Url(_) => "invalid",
            StoreError::Folder { in_use: true, .. } => "conflict",
            StoreError::Auth { .. } | StoreError::Denied(_) => "denied",
            StoreError::Unreachable { .. }
            | StoreError::Lost(_)
            | StoreError::Unavailable { .. }
            | StoreError::NotReplicated { .. } => "unavailable",
            _ => "internal",
        };
        Failure { class, message: error.to_string(), is_transient: error.is_transient() }
    }
}

impl From<JobError> for Failure {
    fn from(error: JobError) -> Failure {
        let class = match error {
            JobError::Store(error) => return error.into(),
            JobError::Part(_) | JobError::Invalid { .. } => "invalid",
            JobError::NoSuchJob { .. } | JobError::NoSuchQueue { .. } => "not_found",
            JobError::QueueNotEmpty { .. }
            | JobError::Exists { .. }
            | JobError::ParentCanceled { .. }
            | JobError::Conflict { .. } => "conflict",
        };
        Failure::new(class, error.to_string())
    }
}

impl From<ProgressError> for Failure {
    fn from(error: ProgressError) -> Failure {
        let class = match &error {
            ProgressError::Part(_) | ProgressError::Invalid { .. } => "invalid",
            _ => "internal",
        };
        Failure::new(class, error.to_string())
    }
}

impl From<LimitError> for Failure {
    fn from(error: LimitError) -> Failure {
        let class = match &error {
            LimitError::Part(_) | LimitError::Invalid { .. } => "invalid",
            _ => "internal",
        };
        Failure::new(class, error.to_string())
    }
}
