//! What can go wrong, by what the caller can do about it.

#![allow(missing_docs, reason = "the message of each variant describes it and its fields")]

use keyrack_store::{Class, ErrorInfo, ServiceError};

/// Why the recommender could not do something.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Part(#[from] keyrack_keys::PartError),

    #[error("{what}")]
    Invalid { what: String },

    #[error(
        "the post {post} is not in the pool: it is too old, not public, a break, or not loaded yet"
    )]
    NoSuchPost { post: u64 },

    #[error("could not read the table \"{table}\": {reason}")]
    Source { table: String, reason: String },

    #[error("another load runs at the same time; wait until it is done")]
    Busy,

    /// Whoever watches the load has stopped it. What was done so far stays, and the next load goes on from there.
    #[error("the load was stopped; the next one goes on from there")]
    Stopped,

    #[error("could not reach the recommender's store")]
    Store(#[source] keyrack_store::Error),
}

impl From<keyrack_store::Error> for Error {
    fn from(error: keyrack_store::Error) -> Error {
        match &error {
            keyrack_store::Error::Refused { word, .. } if word == "OTHER_LOAD" => Error::Busy,
            _ => Error::Store(error),
        }
    }
}

/// Seconds after which the app's tables may answer again.
const TABLES_RETRY_S: u32 = 15;

/// Seconds after which a stopped load can be started again.
const STOPPED_RETRY_S: u32 = 1;

impl ServiceError for Error {
    fn info(&self) -> ErrorInfo {
        match self {
            Error::Part(_) => ErrorInfo::BAD_NAME,
            Error::Invalid { .. } => ErrorInfo::INVALID,
            Error::NoSuchPost { .. } => {
                ErrorInfo::new(Class::NotFound, "post_not_found", "the post cannot be recommended")
            }
            Error::Source { .. } => {
                ErrorInfo::later(Class::Internal, "tables_unavailable", TABLES_RETRY_S)
            }
            Error::Busy => ErrorInfo::new(Class::Conflict, "busy", "a load runs already"),
            Error::Stopped => ErrorInfo::later(Class::Internal, "stopped", STOPPED_RETRY_S),
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
        keyrack_store::Error::from(error).into()
    }
}
