//! What can go wrong around the hot queue, by what the caller can do about it.

#![allow(missing_docs, reason = "the message of each variant describes it and its fields")]

use keyrack_store::{Class, ErrorInfo, ServiceError};

/// Why a job could not be queued or its outcome not be had.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("a job of the hot queue needs a name")]
    NoName,

    #[error("the arguments of the job \"{name}\" are no object of names and values")]
    KwargsNoObject { name: String },

    #[error("the arguments of the job \"{name}\" cannot be written as JSON")]
    KwargsNoJson {
        name: String,
        #[source]
        source: serde_json::Error,
    },

    #[error(
        "the job \"{name}\" has {bytes} bytes, but {max} is the most; put the data elsewhere and pass its name"
    )]
    TooLarge { name: String, bytes: usize, max: usize },

    #[error("the job \"{name}\" told no outcome within {}{}", seconds(.limit),
        if *.interrupted { "; the connection was lost meanwhile, so it may have been missed" } else { "" })]
    NoAnswer { name: String, limit: std::time::Duration, interrupted: bool },

    #[error("the outcome of the job \"{name}\" is no JSON")]
    BadAnswer {
        name: String,
        #[source]
        source: serde_json::Error,
    },

    #[error("could not reach the hot queue")]
    Store(#[from] keyrack_store::Error),
}

impl ServiceError for Error {
    fn info(&self) -> ErrorInfo {
        match self {
            Error::Store(error) => error.info(),
            _ => ErrorInfo::operator(Class::Internal),
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

fn seconds(limit: &std::time::Duration) -> String {
    format!("{} s", limit.as_secs_f64())
}
