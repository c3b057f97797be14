//! What can go wrong with the demo.

#![allow(missing_docs, reason = "the message of each variant describes it and its fields")]

/// What can go wrong with the demo.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("the store holds other data, such as the key \"{example}\"")]
    OtherData { keys: u64, example: String },
    #[error("\"{example}\" has a name as the demo uses them, and is not the demo's")]
    NamesTaken { example: String },
    #[error("a demo is running on this store")]
    Running,
    #[error("the speed cannot be {speed}; give 0.1 to 100")]
    Speed { speed: f64 },
    #[error("the stand-in of the billing provider could not listen")]
    Billing(#[source] std::io::Error),
    #[error("the store failed")]
    Store(#[from] keyrack_store::Error),
    #[error("the store failed")]
    Redis(#[from] redis::RedisError),
    #[error("{service} refused what the demo did")]
    Service {
        service: &'static str,
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
