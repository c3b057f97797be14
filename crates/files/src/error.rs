//! What can go wrong with files, by what the caller can do about it.

use keyrack_store::{Class, ErrorInfo, ServiceError};

/// Why something could not be done.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A value that makes no sense.
    #[error("{field}: {reason}")]
    Invalid {
        /// Which value.
        field: &'static str,
        /// Why not, and what to give instead.
        reason: String,
    },

    /// A sweep is deleting a file of that name.
    #[error(
        "the file \"{key}\" in \"{bucket}\" is being deleted; use another name, or try again in a minute"
    )]
    BeingDeleted {
        /// The bucket.
        bucket: String,
        /// The file in it.
        key: String,
    },

    /// The upload took longer than its time in purgatory, and a sweep has taken the file.
    #[error(
        "the file \"{key}\" in \"{bucket}\" was swept before it was on record; upload it again"
    )]
    Swept {
        /// The bucket.
        bucket: String,
        /// The file in it.
        key: String,
    },

    /// The bucket could not do it.
    #[error("the bucket \"{bucket}\" failed: {reason}")]
    Bucket {
        /// The bucket.
        bucket: String,
        /// What happened.
        reason: String,
    },

    /// The store could not be reached, or refused.
    #[error(transparent)]
    Store(#[from] keyrack_store::Error),
}

/// Why an upload was not brought to its end.
#[derive(Debug, thiserror::Error)]
pub enum SaveError<E> {
    /// The file could not be put on record; it stays in purgatory and will be swept.
    #[error("the file could not be put on record")]
    Save(#[source] E),

    /// Nothing was put on record, because the file could not be held any longer.
    #[error("the file was not put on record")]
    NotHeld(#[source] Error),

    /// The file is on record but still in purgatory: unless the sweep asks the records, it will delete the file.
    #[error("the file is on record, but could not be taken out of purgatory")]
    Unreleased(#[source] Error),
}

impl Error {
    /// Whether the same call may well succeed a little later.
    pub fn is_transient(&self) -> bool {
        matches!(self, Error::Store(error) if error.is_transient())
    }
}

/// Seconds after which a bucket may answer again.
const BUCKET_RETRY_S: u32 = 15;

impl ServiceError for Error {
    fn info(&self) -> ErrorInfo {
        match self {
            Error::Invalid { field, .. } => ErrorInfo::invalid(field),
            Error::BeingDeleted { .. } => {
                ErrorInfo::new(Class::Conflict, "being_deleted", "the file is being deleted")
            }
            Error::Swept { .. } => {
                ErrorInfo::new(Class::NotFound, "file_not_found", "the file is not there any more")
            }
            Error::Bucket { .. } => {
                ErrorInfo::later(Class::Internal, "bucket_unavailable", BUCKET_RETRY_S)
            }
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
