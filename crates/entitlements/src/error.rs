//! What can go wrong, by what the caller can do about it.

#![allow(missing_docs, reason = "the message of each variant describes it and its fields")]

use std::{sync::Arc, time::Duration};

use keyrack_keys::PartError;
use keyrack_store::{Class, ErrorInfo, ServiceError};

#[cfg(feature = "billing")]
use crate::web::CallError;

/// Why something about entitlements, limits or the checkout could not be done. Cheap to clone, because all who wait for one
/// answer of the source get the same.
#[derive(Debug, Clone, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Part(#[from] PartError),

    #[error("{field}: {reason}")]
    Invalid { field: &'static str, reason: String },

    #[error("entitlements cannot be set up: {reason}")]
    Settings { reason: String },

    #[error("there is no entitlement \"{identifier}\"; there are: {}", .known.join(", "))]
    UnknownEntitlement { identifier: String, known: Vec<String> },

    #[error("the user is not known to those who sell")]
    UnknownUser,

    #[error("too soon after the last time; try again in {} s", seconds(.retry_after))]
    Limited { retry_after: Duration },

    #[error(
        "there are {max} limits of this user, as many as one may have; the first is gone in {} s: use fewer subjects or shorter \
         periods, or have \"quota-limits\" raised",
        seconds(.retry_after)
    )]
    TooManyLimits { max: u64, retry_after: Duration },

    #[error("the user has the entitlement \"{identifier}\" already")]
    AlreadySubscribed { identifier: String },

    #[error("the user has {open} open checkouts; they end within a day")]
    TooManyOpen { open: usize },

    #[error("there is no open checkout \"{uid}\"")]
    NoSuchCheckout { uid: String },

    #[error("the checkout \"{uid}\" is not complete")]
    Incomplete { uid: String },

    #[error("the checkout \"{uid}\" is being finished")]
    Busy { uid: String },

    #[error("the webhook is not Stripe's: {reason}")]
    NotStripes { reason: &'static str },

    #[cfg(feature = "billing")]
    #[error("stripe could not do it: {0}")]
    Stripe(CallError),

    #[cfg(feature = "billing")]
    #[error("the source of entitlements could not do it: {0}")]
    Source(CallError),

    #[error("the system gave no random numbers")]
    NoRandom,

    #[error("could not reach entitlements in the store")]
    Store(#[source] Arc<keyrack_store::Error>),
}

#[cfg(feature = "billing")]
impl Error {
    /// The word of a refusal by a script.
    pub(crate) fn word(&self) -> Option<&str> {
        match self {
            Error::Store(error) => match &**error {
                keyrack_store::Error::Refused { word, .. } => Some(word),
                _ => None,
            },
            _ => None,
        }
    }
}

impl From<keyrack_store::Error> for Error {
    fn from(error: keyrack_store::Error) -> Error {
        Error::Store(Arc::new(error))
    }
}

/// Seconds after which the source may know a new user.
const UNKNOWN_USER_RETRY_S: u32 = 10;

/// Seconds after which another process has finished the checkout.
const BUSY_RETRY_S: u32 = 5;

/// Seconds after which Stripe or the source may answer again.
#[cfg(feature = "billing")]
const PROVIDER_RETRY_S: u32 = 15;

impl ServiceError for Error {
    fn info(&self) -> ErrorInfo {
        use Class::{Busy, Conflict, Denied, Internal, Invalid, Limited, NotFound};

        match self {
            Error::Part(_) => ErrorInfo::BAD_NAME,
            Error::Invalid { field, .. } => ErrorInfo::invalid(field),
            Error::Settings { .. } => ErrorInfo::operator(Invalid),
            Error::UnknownEntitlement { .. } => {
                ErrorInfo::new(NotFound, "unknown_entitlement", "there is no such entitlement")
            }
            Error::UnknownUser => ErrorInfo::later(NotFound, "not_found", UNKNOWN_USER_RETRY_S),
            Error::Limited { retry_after } => {
                ErrorInfo::new(Limited, "ratelimited", "too soon after the last time")
                    .retry_after(retry_seconds(retry_after))
            }
            Error::TooManyLimits { retry_after, .. } => {
                ErrorInfo::over_quota("too_many_limits", retry_seconds(retry_after))
            }
            Error::AlreadySubscribed { .. } => {
                ErrorInfo::new(Conflict, "already_subscribed", "the caller has this already")
            }
            Error::TooManyOpen { .. } => {
                ErrorInfo::new(Conflict, "too_many_open", "the caller has too many open checkouts")
            }
            Error::NoSuchCheckout { .. } => {
                ErrorInfo::new(NotFound, "not_found", "there is no such open checkout")
            }
            Error::Incomplete { .. } => {
                ErrorInfo::new(Conflict, "incomplete", "the checkout is not complete")
            }
            Error::Busy { .. } => ErrorInfo::later(Busy, "busy", BUSY_RETRY_S),
            Error::NotStripes { .. } => {
                ErrorInfo::new(Denied, "bad_signature", "the message is not signed as it should be")
            }
            #[cfg(feature = "billing")]
            Error::Stripe(_) => {
                ErrorInfo::later(Class::Unavailable, "stripe_error", PROVIDER_RETRY_S)
            }
            #[cfg(feature = "billing")]
            Error::Source(_) => {
                ErrorInfo::later(Class::Unavailable, "revenue_cat_error", PROVIDER_RETRY_S)
            }
            Error::NoRandom => ErrorInfo::operator(Internal),
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

fn retry_seconds(duration: &Duration) -> u32 {
    u32::try_from(seconds(duration).max(1)).unwrap_or(u32::MAX)
}

impl From<redis::RedisError> for Error {
    fn from(error: redis::RedisError) -> Error {
        keyrack_store::Error::from(error).into()
    }
}

/// Whole seconds after which something is surely over.
pub(crate) fn seconds(duration: &Duration) -> u64 {
    duration.as_millis().div_ceil(1000).try_into().unwrap_or(u64::MAX)
}
