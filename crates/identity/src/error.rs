//! What can go wrong about users and tokens, by what the caller can do about it.

use keyrack_keys::PartError;

/// Why something about users or tokens could not be done.
#[derive(Debug, thiserror::Error)]
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

    /// The settings for signed tokens contradict themselves.
    #[error("sign-in cannot be set up: {reason}")]
    Settings {
        /// What is wrong, and what to do.
        reason: String,
    },

    /// The user has no such token.
    #[error("there is no token \"{uid}\"")]
    NoSuchToken {
        /// The token's public name.
        uid: String,
    },

    /// The user has as many tokens as one may have.
    #[error("the user has {max} tokens that have not expired; delete one first")]
    TooManyTokens {
        /// The most allowed.
        max: usize,
    },

    /// The token in a request is not good for anything. Why is for the log, not for whoever sent it.
    #[error("the token is not valid")]
    Denied {
        /// What is wrong with it, without the token itself.
        reason: String,
    },

    /// Signed tokens cannot be checked, because the provider's keys are not to be had.
    #[error("the identity provider's keys could not be fetched")]
    KeysUnavailable,

    /// The machine has no random numbers to give.
    #[error("the system gave no random numbers")]
    NoRandom,

    /// The store could not do it.
    #[error("could not reach users and tokens in the store")]
    Store(#[from] keyrack_store::Error),
}

impl Error {
    pub(crate) fn denied(reason: impl Into<String>) -> Error {
        Error::Denied { reason: reason.into() }
    }
}

impl From<redis::RedisError> for Error {
    fn from(error: redis::RedisError) -> Error {
        Error::Store(error.into())
    }
}
