//! The one error of all services.

use std::convert::Infallible;
#[cfg(any(feature = "jobs", feature = "limits"))]
use std::time::Duration;

use keyrack_keys::PartError;
use keyrack_store::{Class, ErrorInfo, ServiceError};

/// What calls of this crate return.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why something could not be done.
///
/// [`class`](Error::class) says what the caller can do about it, and [`is_transient`](Error::is_transient) whether that is
/// to wait. The errors of the services are its variants, with their sources.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the message of each variant describes it and its fields")]
pub enum Error {
    #[error(transparent)]
    Name(#[from] PartError),

    #[error(transparent)]
    Store(#[from] keyrack_store::Error),

    #[cfg(feature = "jobs")]
    #[error(transparent)]
    Jobs(#[from] keyrack_jobs::Error),

    #[cfg(feature = "jobs")]
    #[error(transparent)]
    Recurring(#[from] keyrack_jobs::recurring::Error),

    #[cfg(feature = "jobs")]
    #[error("the job \"{jid}\" failed: {reason}")]
    JobFailed { jid: String, reason: String },

    #[cfg(feature = "jobs")]
    #[error("the job \"{jid}\" ended as {status} without a result{}", reason.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default())]
    JobEnded { jid: String, status: keyrack_jobs::bee::Status, reason: Option<String> },

    #[cfg(feature = "jobs")]
    #[error("the job \"{jid}\" has not ended within {waited:?}; wait longer, or ask again later")]
    NotEnded { jid: String, waited: Duration },

    #[cfg(feature = "jobs")]
    #[error("the result of the job \"{jid}\" is not of the type \"{output}\"")]
    Result {
        jid: String,
        output: &'static str,
        #[source]
        source: serde_json::Error,
    },

    #[cfg(feature = "limits")]
    #[error("the limit \"{name}\" is reached; try again in {retry_after:?}")]
    Limited { name: String, retry_after: Duration },

    #[cfg(feature = "limits")]
    #[error(transparent)]
    Limits(#[from] keyrack_entitlements::Error),

    #[cfg(feature = "progress")]
    #[error(transparent)]
    Progress(#[from] keyrack_progress::Error),

    #[cfg(feature = "calculations")]
    #[error(transparent)]
    Calculations(#[from] keyrack_calculations::Error),

    #[cfg(feature = "files")]
    #[error(transparent)]
    Files(#[from] keyrack_files::Error),

    #[cfg(feature = "journeys")]
    #[error(transparent)]
    Journeys(#[from] keyrack_journeys::Error),

    #[cfg(feature = "recommender")]
    #[error(transparent)]
    Recommender(#[from] keyrack_recommender::Error),
}

impl Error {
    /// What the caller can do about it.
    pub fn class(&self) -> Class {
        self.info().class
    }

    /// The stable code by which programs recognize it.
    pub fn code(&self) -> &'static str {
        self.info().code
    }

    /// Whether the same call may well succeed a little later.
    pub fn is_transient(&self) -> bool {
        match self.service_error().and_then(ServiceError::store_error) {
            Some(error) => error.is_transient(),
            None => matches!(self.class(), Class::Limited | Class::Busy | Class::Unavailable),
        }
    }

    fn info(&self) -> ErrorInfo {
        if let Some(error) = self.service_error() {
            return error.info();
        }
        match self {
            #[cfg(feature = "jobs")]
            Error::JobFailed { .. } => {
                ErrorInfo::new(Class::Internal, "job_failed", "the job failed")
            }
            #[cfg(feature = "jobs")]
            Error::JobEnded { .. } => {
                ErrorInfo::new(Class::Conflict, "job_ended", "the job has ended without a result")
            }
            #[cfg(feature = "jobs")]
            Error::NotEnded { .. } => {
                ErrorInfo::new(Class::Unavailable, "job_not_ended", "the job has not ended yet")
            }
            #[cfg(feature = "jobs")]
            Error::Result { .. } => {
                ErrorInfo::new(Class::Internal, "bad_result", "the result is of another type")
            }
            #[cfg(feature = "limits")]
            Error::Limited { .. } => {
                ErrorInfo::new(Class::Limited, "ratelimited", "the limit is reached")
            }
            _ => ErrorInfo::BAD_NAME,
        }
    }

    /// The error of a service, if it is one.
    fn service_error(&self) -> Option<&dyn ServiceError> {
        match self {
            Error::Store(error) => Some(error),
            #[cfg(feature = "jobs")]
            Error::Jobs(error) => Some(error),
            #[cfg(feature = "jobs")]
            Error::Recurring(error) => Some(error),
            #[cfg(feature = "limits")]
            Error::Limits(error) => Some(error),
            #[cfg(feature = "progress")]
            Error::Progress(error) => Some(error),
            #[cfg(feature = "calculations")]
            Error::Calculations(error) => Some(error),
            #[cfg(feature = "files")]
            Error::Files(error) => Some(error),
            #[cfg(feature = "journeys")]
            Error::Journeys(error) => Some(error),
            #[cfg(feature = "recommender")]
            Error::Recommender(error) => Some(error),
            _ => None,
        }
    }
}

/// A name that is already one of the right type cannot be wrong.
impl From<Infallible> for Error {
    fn from(never: Infallible) -> Error {
        match never {}
    }
}

#[cfg(all(test, feature = "full"))]
mod tests {
    use std::error::Error as _;

    use super::*;

    fn unreachable() -> keyrack_store::Error {
        keyrack_store::Error::Unreachable { target: "redis".into(), reason: "refused".into() }
    }

    #[test]
    fn every_error_says_its_class_and_whether_to_wait() {
        let name = keyrack_jobs::bee::keys::QueueName::new("").expect_err("empty");
        let missing = keyrack_jobs::Error::NoSuchJob { jid: "j".into() };
        let not_ended = Error::NotEnded { jid: "j".into(), waited: Duration::ZERO };
        let failed = Error::JobFailed { jid: "j".into(), reason: "no".into() };
        let limited = Error::Limited { name: "n".into(), retry_after: Duration::ZERO };
        let cases = [
            (Error::from(name), Class::Invalid, false),
            (unreachable().into(), Class::Unavailable, true),
            (keyrack_jobs::Error::Store(unreachable()).into(), Class::Unavailable, true),
            (missing.into(), Class::NotFound, false),
            (not_ended, Class::Unavailable, true),
            (failed, Class::Internal, false),
            (limited, Class::Limited, true),
            (keyrack_recommender::Error::Store(unreachable()).into(), Class::Unavailable, true),
            (keyrack_recommender::Error::Busy.into(), Class::Conflict, false),
        ];
        for (error, class, is_transient) in cases {
            assert_eq!((error.class(), error.is_transient()), (class, is_transient), "{error}");
        }
    }

    #[test]
    fn sources_stay() {
        let error: Error = keyrack_recommender::Error::Store(unreachable()).into();
        assert!(error.source().expect("a source").to_string().contains("redis"), "{error:?}");
    }
}
