//! What can go wrong with jobs, by what the caller can do about it.

use keyrack_keys::PartError;

/// Why something could not be done.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A name or id cannot stand in a key.
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

    /// There is no such job, or none any more.
    #[error("there is no job \"{jid}\"; it may have expired")]
    NoSuchJob {
        /// The id asked for.
        jid: String,
    },

    /// There is no such queue.
    #[error(
        "there is no queue \"{queue}\"{}; a queue begins with its first job or worker",
        similar.as_ref().map(|name| format!(", did you mean \"{name}\"?")).unwrap_or_default()
    )]
    NoSuchQueue {
        /// The name asked for.
        queue: String,
        /// The queue with the most similar name, if one is similar.
        similar: Option<String>,
    },

    /// The queue cannot be deleted yet.
    #[error(
        "the queue \"{queue}\" still holds {left} jobs; cancel them, or wait until their results expire"
    )]
    QueueNotEmpty {
        /// The queue.
        queue: String,
        /// Jobs in it, the ended ones among them.
        left: u64,
    },

    /// A job with that id is there already.
    #[error("there is a job \"{jid}\" already; leave the id out to get a new one")]
    Exists {
        /// The id asked for.
        jid: String,
    },

    /// The parent was cancelled, and its children with it.
    #[error("the parent job \"{parent}\" was cancelled; it can have no more children")]
    ParentCanceled {
        /// The parent.
        parent: String,
    },

    /// The job is not in a state in which this can be done.
    #[error("the job \"{jid}\" is {status}; {hint}")]
    Conflict {
        /// The job.
        jid: String,
        /// What it is.
        status: String,
        /// What can be done instead.
        hint: &'static str,
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
        matches!(self, Error::Store(error) if error.is_transient())
    }
}

impl From<redis::RedisError> for Error {
    fn from(error: redis::RedisError) -> Error {
        Error::Store(error.into())
    }
}
