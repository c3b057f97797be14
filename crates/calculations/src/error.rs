//! What can go wrong with calculations, by what the caller can do about it.

use keyrack_keys::PartError;

/// Why something could not be done.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A name cannot stand in a key.
    #[error(transparent)]
    Part(#[from] PartError),

    /// A value that was given makes no sense.
    #[error("{field}: {reason}")]
    Invalid {
        /// What was wrong.
        field: &'static str,
        /// Why, and what to do.
        reason: String,
    },

    /// Nobody knows the token.
    #[error("the token is not known; ask whoever runs this server for one")]
    UnknownToken,

    /// The token may not do this.
    #[error("the token may not do this; an admin token can")]
    NotAdmin,

    /// The project has a token already.
    #[error(
        "the project \"{project}\" of account \"{account}\" has a token already; delete that first"
    )]
    TokenExists {
        /// The account.
        account: String,
        /// The project.
        project: String,
    },

    /// There is no such thing.
    #[error("there is no {what} \"{name}\"")]
    NotFound {
        /// What it would be.
        what: &'static str,
        /// What was asked for.
        name: String,
    },

    /// Others keep changing or rebuilding the key.
    #[error("others keep changing the key \"{key}\"; try again")]
    Busy {
        /// The key.
        key: String,
    },

    /// The store could not be reached, or refused.
    #[error("the store failed: {0}")]
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

impl From<redis::RedisError> for Error {
    fn from(error: redis::RedisError) -> Error {
        Error::Store(error.into())
    }
}
