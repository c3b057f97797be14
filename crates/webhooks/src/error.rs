//! What can go wrong with webhooks.

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

    #[error("there is no webhook \"{hook}\"")]
    NoSuchHook { hook: String },

    #[error("the webhook has no delivery \"{delivery}\"; it may have expired")]
    NoSuchDelivery { delivery: String },

    #[error("the delivery \"{delivery}\" still waits; only one that has ended can be replayed")]
    StillWaits { delivery: String },

    #[error("there are {max} webhooks already; delete one first")]
    TooManyHooks { max: usize },

    #[error("the system gave no random numbers")]
    NoRandom,

    #[error("requests cannot be made: {reason}")]
    NoClient { reason: String },

    #[error(transparent)]
    Store(#[from] keyrack_store::Error),
}

impl Error {
    pub(crate) fn invalid(field: &'static str, reason: impl Into<String>) -> Error {
        Error::Invalid { field, reason: reason.into() }
    }
}

impl From<redis::RedisError> for Error {
    fn from(error: redis::RedisError) -> Error {
        Error::Store(error.into())
    }
}

impl ServiceError for Error {
    fn info(&self) -> ErrorInfo {
        match self {
            Error::Part(_) => ErrorInfo::BAD_NAME,
            Error::Invalid { field, .. } => ErrorInfo::invalid(field),
            Error::NoSuchHook { .. } => {
                ErrorInfo::new(Class::NotFound, "webhook_not_found", "there is no such webhook")
            }
            Error::NoSuchDelivery { .. } => {
                ErrorInfo::new(Class::NotFound, "delivery_not_found", "there is no such delivery")
            }
            Error::StillWaits { .. } => {
                ErrorInfo::new(Class::Conflict, "delivery_waits", "the delivery has not ended")
            }
            Error::TooManyHooks { .. } => {
                ErrorInfo::new(Class::Conflict, "too_many_webhooks", "there are too many webhooks")
            }
            Error::NoRandom | Error::NoClient { .. } => ErrorInfo::operator(Class::Internal),
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
