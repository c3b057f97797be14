//! What can go wrong, by what the caller can do about it.

/// Why the recommender could not do something.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A user's id cannot stand in a key.
    #[error(transparent)]
    Part(#[from] keyrack_keys::PartError),

    /// A setting or an argument makes no sense.
    #[error("{what}")]
    Invalid {
        /// What is wrong, and what to do.
        what: String,
    },

    /// The post is not among those that may be recommended.
    #[error(
        "the post {post} is not in the pool: it is too old, not public, a break, or not loaded yet"
    )]
    NoSuchPost {
        /// The post.
        post: u64,
    },

    /// The tables could not be read.
    #[error("could not read the table \"{table}\": {reason}")]
    Source {
        /// The table or file.
        table: String,
        /// What the database or the system said.
        reason: String,
    },

    /// Another load moved on at the same time.
    #[error("another load runs at the same time; wait until it is done")]
    Busy,

    /// Whoever watches the load has stopped it. What was done so far stays, and the next load goes on from there.
    #[error("the load was stopped; the next one goes on from there")]
    Stopped,

    /// The store could not do it.
    #[error("could not reach the recommender's store")]
    Store(#[source] keyrack_store::Error),
}

impl From<keyrack_store::Error> for Error {
    fn from(error: keyrack_store::Error) -> Error {
        match &error {
            keyrack_store::Error::Refused { word, .. } if word == "OTHER_LOAD" => Error::Busy,
            _ => Error::Store(error),
        }
    }
}

impl From<redis::RedisError> for Error {
    fn from(error: redis::RedisError) -> Error {
        keyrack_store::Error::from(error).into()
    }
}
