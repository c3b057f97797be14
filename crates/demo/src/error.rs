//! What can go wrong with the demo.

/// What can go wrong with the demo.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Somebody else's data is in the store.
    #[error("the store holds other data, such as the key \"{example}\"")]
    OtherData {
        /// How many keys.
        keys: u64,
        /// One of them.
        example: String,
    },
    /// Somebody else uses the names that the demo would use.
    #[error("\"{example}\" has a name as the demo uses them, and is not the demo's")]
    NamesTaken {
        /// A key with such a name.
        example: String,
    },
    /// Another demo is at work on the store.
    #[error("a demo is running on this store")]
    Running,
    /// The speed is no speed.
    #[error("the speed cannot be {speed}; give 0.1 to 100")]
    Speed {
        /// What was given.
        speed: f64,
    },
    /// The stand-in of the billing provider could not listen.
    #[error("the stand-in of the billing provider could not listen")]
    Billing(#[source] std::io::Error),
    /// The store failed.
    #[error("the store failed")]
    Store(#[from] keyrack_store::Error),
    /// The store refused a command, or went away.
    #[error("the store failed")]
    Redis(#[from] redis::RedisError),
    /// A service refused what the demo did.
    #[error("{service} refused what the demo did")]
    Service {
        /// The service.
        service: &'static str,
        /// Why.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}

/// The errors of a service, by its name.
macro_rules! of_service {
    ($($service:literal: $error:ty),+ $(,)?) => {
        $(impl From<$error> for Error {
            fn from(source: $error) -> Error {
                Error::Service { service: $service, source: Box::new(source) }
            }
        })+
    };
}

of_service! {
    "jobs": keyrack_jobs::Error,
    "the hot queue": keyrack_jobs::hot::Error,
    "recurring jobs": keyrack_jobs::recurring::Error,
    "progress": keyrack_progress::Error,
    "calculations": keyrack_calculations::Error,
    "entitlements": keyrack_entitlements::Error,
    "files": keyrack_files::Error,
    "journeys": keyrack_journeys::Error,
    "the recommender": keyrack_recommender::Error,
    "updates": keyrack_updates::Error,
    "the key of a name": keyrack_keys::PartError,
}
