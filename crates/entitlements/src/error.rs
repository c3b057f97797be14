//! What can go wrong, by what the caller can do about it.

use std::{sync::Arc, time::Duration};

use keyrack_keys::PartError;

use crate::web::CallError;

/// Why something about entitlements, limits or the checkout could not be done. Cheap to clone, because all who wait for one
/// answer of the source get the same.
#[derive(Debug, Clone, thiserror::Error)]
pub enum Error {
    /// A name that cannot stand in a key.
    #[error(transparent)]
    Part(#[from] PartError),

    /// A value that makes no sense.
    #[error("{field}: {reason}")]
    Invalid {
        /// Which value.
        field: &'static str,
        /// Why not, and what to give instead.
        reason: String,
    },

    /// The settings contradict themselves.
    #[error("entitlements cannot be set up: {reason}")]
    Settings {
        /// What is wrong, and what to do.
        reason: String,
    },

    /// Nobody is ever asked about such an entitlement.
    #[error("there is no entitlement \"{identifier}\"; there are: {}", .known.join(", "))]
    UnknownEntitlement {
        /// What was asked for.
        identifier: String,
        /// What there is.
        known: Vec<String>,
    },

    /// The source of truth does not know the user.
    #[error("the user is not known to those who sell")]
    UnknownUser,

    /// Too soon after the last time.
    #[error("too soon after the last time; try again in {} s", seconds(.retry_after))]
    Limited {
        /// When it may be tried again.
        retry_after: Duration,
    },

    /// The user keeps as many limits as one may.
    #[error(
        "there are {max} limits of this user, as many as one may have; the first is gone in {} s: use fewer subjects or shorter \
         periods, or have \"quota-limits\" raised",
        seconds(.retry_after)
    )]
    TooManyLimits {
        /// How many one may have.
        max: u64,
        /// When there is room again.
        retry_after: Duration,
    },

    /// The user has what the checkout would sell.
    #[error("the user has the entitlement \"{identifier}\" already")]
    AlreadySubscribed {
        /// The entitlement.
        identifier: String,
    },

    /// The user has started as many checkouts as may be open.
    #[error("the user has {open} open checkouts; they end within a day")]
    TooManyOpen {
        /// How many there are.
        open: usize,
    },

    /// The user has no such open checkout.
    #[error("there is no open checkout \"{uid}\"")]
    NoSuchCheckout {
        /// What was asked for.
        uid: String,
    },

    /// The checkout is not paid yet.
    #[error("the checkout \"{uid}\" is not complete")]
    Incomplete {
        /// The checkout.
        uid: String,
    },

    /// Somebody else is finishing the checkout at this moment.
    #[error("the checkout \"{uid}\" is being finished")]
    Busy {
        /// The checkout.
        uid: String,
    },

    /// A message that Stripe did not sign, or signed long ago.
    #[error("the webhook is not Stripe's: {reason}")]
    NotStripes {
        /// What is wrong about it.
        reason: &'static str,
    },

    /// Stripe could not be asked.
    #[error("stripe could not do it: {0}")]
    Stripe(CallError),

    /// The source of truth could not be told of a purchase.
    #[error("the source of entitlements could not do it: {0}")]
    Source(CallError),

    /// The machine has no random numbers to give.
    #[error("the system gave no random numbers")]
    NoRandom,

    /// The store could not do it.
    #[error("could not reach entitlements in the store")]
    Store(#[source] Arc<keyrack_store::Error>),
}

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

impl From<redis::RedisError> for Error {
    fn from(error: redis::RedisError) -> Error {
        keyrack_store::Error::from(error).into()
    }
}

/// Whole seconds after which something is surely over.
pub(crate) fn seconds(duration: &Duration) -> u64 {
    duration.as_millis().div_ceil(1000).try_into().unwrap_or(u64::MAX)
}
