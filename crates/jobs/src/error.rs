//! What can go wrong with jobs, by what the caller can do about it.

#![allow(missing_docs, reason = "the message of each variant describes it and its fields")]

use keyrack_keys::PartError;
use keyrack_store::{Class, ErrorInfo, ServiceError};

/// Why something could not be done.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Part(#[from] PartError),

    #[error("{field}: {reason}")]
    Name { field: &'static str, reason: PartError },

    #[error("{field}: {reason}")]
    Invalid { field: &'static str, reason: String },

    #[error("there is no job \"{jid}\"; it may have expired")]
    NoSuchJob { jid: String },

    #[error(
        "there is no queue \"{queue}\"{}; a queue begins with its first job or worker",
        similar.as_ref().map(|name| format!(", did you mean \"{name}\"?")).unwrap_or_default()
    )]
    NoSuchQueue { queue: String, similar: Option<String> },

    #[error(
        "the queue \"{queue}\" still holds {left} jobs; cancel them, or wait until their results expire"
    )]
    QueueNotEmpty { queue: String, left: u64 },

    #[error(
        "there is no group of failures \"{group}\" in the queue \"{queue}\"; it may have made room for others"
    )]
    NoSuchErrorGroup { queue: String, group: String },

    #[error("there is a job \"{jid}\" already; leave the id out to get a new one")]
    Exists { jid: String },

    #[error("the parent job \"{parent}\" was canceled; it can have no more children")]
    ParentCanceled { parent: String },

    #[error("the job \"{jid}\" is {status}; {hint}")]
    Conflict { jid: String, status: String, hint: &'static str },

    #[error(transparent)]
    Store(#[from] keyrack_store::Error),
}

impl Error {
    pub(crate) fn invalid(field: &'static str, reason: impl Into<String>) -> Error {
        Error::Invalid { field, reason: reason.into() }
    }

    /// A name that a field has, unless it cannot stand in a key.
    pub(crate) fn named<T>(field: &'static str, name: Result<T, PartError>) -> Result<T, Error> {
        name.map_err(|reason| Error::Name { field, reason })
    }

    /// Whether the same call may well succeed a little later.
    pub fn is_transient(&self) -> bool {
        matches!(self, Error::Store(error) if error.is_transient())
    }
}

impl ServiceError for Error {
    fn info(&self) -> ErrorInfo {
        use Class::{Conflict, NotFound};

        match self {
            Error::Part(_) => ErrorInfo::BAD_NAME,
            Error::Name { field, .. } => ErrorInfo { field: Some(field), ..ErrorInfo::BAD_NAME },
            Error::Invalid { field, .. } => ErrorInfo::invalid(field),
            Error::NoSuchJob { .. } => {
                ErrorInfo::new(NotFound, "job_not_found", "there is no such job")
            }
            Error::NoSuchQueue { .. } => {
                ErrorInfo::new(NotFound, "queue_not_found", "there is no such queue")
            }
            Error::NoSuchErrorGroup { .. } => ErrorInfo::new(
                NotFound,
                "error_group_not_found",
                "there is no such group of failures",
            ),
            Error::Exists { .. } => {
                ErrorInfo::new(Conflict, "job_exists", "there is such a job already")
            }
            Error::ParentCanceled { .. } => {
                ErrorInfo::new(Conflict, "parent_canceled", "the parent was canceled")
            }
            Error::Conflict { .. } => {
                ErrorInfo::new(Conflict, "job_conflict", "the job is not in a state for this")
            }
            Error::QueueNotEmpty { .. } => {
                ErrorInfo::new(Conflict, "queue_not_empty", "the queue holds jobs")
            }
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
