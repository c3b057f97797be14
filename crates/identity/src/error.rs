//! What can go wrong about users and tokens, by what the caller can do about it.

#![allow(missing_docs, reason = "the message of each variant describes it and its fields")]

use keyrack_keys::PartError;
use keyrack_store::{Class, ErrorInfo, ServiceError};

/// Why something about users or tokens could not be done.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Part(#[from] PartError),

    #[error("{field}: {reason}")]
    Invalid { field: &'static str, reason: String },

    #[error("sign-in cannot be set up: {reason}")]
    Settings { reason: String },

    #[error("there is no token \"{uid}\"")]
    NoSuchToken { uid: String },

    #[error("the user has {max} tokens that have not expired; delete one first")]
    TooManyTokens { max: usize },

    /// The token in a request is not good for anything. Why is for the log, not for whoever sent it.
    #[error("the token is not valid")]
    Denied { reason: String },

    #[error("the identity provider's keys could not be fetched")]
    KeysUnavailable,

    #[error("the system gave no random numbers")]
    NoRandom,

    #[error("could not reach users and tokens in the store")]
    Store(#[from] keyrack_store::Error),
}

impl Error {
    pub(crate) fn denied(reason: impl Into<String>) -> Error {
        Error::Denied { reason: reason.into() }
    }
}

/// Seconds after which the identity provider's keys are fetched again.
const KEYS_RETRY_S: u32 = 5;

impl ServiceError for Error {
    fn info(&self) -> ErrorInfo {
        match self {
            Error::Part(_) => ErrorInfo::BAD_NAME,
            Error::Invalid { field, .. } => ErrorInfo::invalid(field),
            Error::Settings { .. } => ErrorInfo::operator(Class::Invalid),
            Error::NoSuchToken { .. } => {
                ErrorInfo::new(Class::NotFound, "not_found", "there is no such token")
            }
            Error::TooManyTokens { .. } => ErrorInfo::new(
                Class::Conflict,
                "too_many_unexpired_tokens",
                "the user has too many tokens",
            ),
            Error::Denied { .. } => {
                ErrorInfo::new(Class::Denied, "invalid", "the token is not valid")
            }
            Error::KeysUnavailable => ErrorInfo::new(
                Class::Unavailable,
                "keys_unavailable",
                "signed tokens cannot be checked now",
            )
            .retry_after(KEYS_RETRY_S),
            Error::NoRandom => ErrorInfo::operator(Class::Internal),
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
