//! What can go wrong around the hot queue, by what the caller can do about it.

/// Why a job could not be queued or its outcome not be had.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The job has no name.
    #[error("a job of the hot queue needs a name")]
    NoName,

    /// The arguments are no JSON object.
    #[error("the arguments of the job \"{name}\" are no object of names and values")]
    KwargsNoObject {
        /// The job.
        name: String,
    },

    /// The arguments cannot be written as JSON.
    #[error("the arguments of the job \"{name}\" cannot be written as JSON")]
    KwargsNoJson {
        /// The job.
        name: String,
        /// Why not.
        #[source]
        source: serde_json::Error,
    },

    /// The job is too large.
    #[error(
        "the job \"{name}\" has {bytes} bytes, but {max} is the most; put the data elsewhere and pass its name"
    )]
    TooLarge {
        /// The job.
        name: String,
        /// How large it is.
        bytes: usize,
        /// The most allowed.
        max: usize,
    },

    /// No outcome came in time.
    #[error("the job \"{name}\" told no outcome within {}{}", seconds(.limit),
        if *.interrupted { "; the connection was lost meanwhile, so it may have been missed" } else { "" })]
    NoAnswer {
        /// The job.
        name: String,
        /// How long was waited.
        limit: std::time::Duration,
        /// Whether the outcome may have come while the connection was lost.
        interrupted: bool,
    },

    /// The outcome is no JSON.
    #[error("the outcome of the job \"{name}\" is no JSON")]
    BadAnswer {
        /// The job.
        name: String,
        /// Why not.
        #[source]
        source: serde_json::Error,
    },

    /// The store could not do it.
    #[error("could not reach the hot queue")]
    Store(#[from] keyrack_store::Error),
}

impl From<redis::RedisError> for Error {
    fn from(error: redis::RedisError) -> Error {
        Error::Store(error.into())
    }
}

fn seconds(limit: &std::time::Duration) -> String {
    format!("{} s", limit.as_secs_f64())
}
