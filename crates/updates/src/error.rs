//! What can go wrong with updates.

use keyrack_keys::PartError;

/// Why something could not be done.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A name that cannot stand in a key.
    #[error(transparent)]
    Part(#[from] PartError),

    /// A secret that is none.
    #[error("the secret has {chars} characters; give at least {min}", min = crate::secret::CHARS_MIN)]
    SecretTooShort {
        /// How many it has.
        chars: usize,
    },

    /// The store could not be reached, or refused.
    #[error("the store failed: {0}")]
    Store(#[from] keyrack_store::Error),
}

impl Error {
    /// Whether the same call may well succeed a little later.
    pub fn is_transient(&self) -> bool {
        matches!(self, Error::Store(error) if error.is_transient())
    }
}
