//! What can go wrong with calculations, by what the caller can do about it.

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

    #[error("the token is not known; ask whoever runs this server for one")]
    UnknownToken,

    #[error("the token may not do this; an admin token can")]
    NotAdmin,

    #[error(
        "the project \"{project}\" of account \"{account}\" has a token already; delete that first"
    )]
    TokenExists { account: String, project: String },

    #[error("there is no {what} \"{name}\"")]
    NotFound { what: &'static str, name: String },

    #[error("others keep changing the key \"{key}\"; try again")]
    Busy { key: String },

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
            Error::Busy { .. } => true,
            Error::Store(error) => error.is_transient(),
            _ => false,
        }
    }
}

/// Seconds after which others have changed the key.
const BUSY_RETRY_S: u32 = 1;

impl ServiceError for Error {
    fn info(&self) -> ErrorInfo {
        match self {
            Error::Part(_) => ErrorInfo::BAD_NAME,
            Error::Invalid { field, .. } => ErrorInfo::invalid(field),
            Error::UnknownToken => {
                ErrorInfo::new(Class::Unauthenticated, "token_unknown", "the token is not known")
            }
            Error::NotAdmin => {
                ErrorInfo::new(Class::Denied, "not_admin", "the token is not an admin's")
            }
            Error::TokenExists { .. } => {
                ErrorInfo::new(Class::Conflict, "token_exists", "the token or its project is taken")
            }
            Error::NotFound { .. } => {
                ErrorInfo::new(Class::NotFound, "not_there", "there is no such thing")
            }
            Error::Busy { .. } => ErrorInfo::later(Class::Busy, "busy", BUSY_RETRY_S),
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
