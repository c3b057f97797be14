//! What can go wrong with updates.

#![allow(missing_docs, reason = "the message of each variant describes it and its fields")]

use keyrack_keys::PartError;
use keyrack_store::{Class, ErrorInfo, ServiceError};

/// Why something could not be done.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Part(#[from] PartError),

    #[error("the secret has {chars} characters; give at least {min}", min = crate::secret::CHARS_MIN)]
    SecretTooShort { chars: usize },

    #[error(transparent)]
    Store(#[from] keyrack_store::Error),
}

impl Error {
    /// Whether the same call may well succeed a little later.
    pub fn is_transient(&self) -> bool {
        matches!(self, Error::Store(error) if error.is_transient())
    }
}

impl ServiceError for Error {
    fn info(&self) -> ErrorInfo {
        match self {
            Error::Part(_) => ErrorInfo::BAD_NAME,
            Error::SecretTooShort { .. } => ErrorInfo::operator(Class::Invalid),
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
