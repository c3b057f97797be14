//! The one table from errors to what goes over the wire.

use axum::http::StatusCode;
use keyrack_jobs::{Error, recurring};
use keyrack_keys::PartError;
use keyrack_store as store;

use crate::problem::Problem;

/// How soon to ask again when the store is away; one that restarts is back within seconds.
const STORE_RETRY_S: u32 = 2;

impl From<Error> for Problem {
    fn from(error: Error) -> Problem {
        let detail = error.to_string();
        match error {
            Error::Part(error) => bad_name(&error),
            Error::Invalid { field, reason } => invalid(field, reason),
            Error::NoSuchJob { .. } => {
                not_found("job_not_found").title("there is no such job").detail(detail)
            }
            Error::NoSuchQueue { .. } => {
                not_found("queue_not_found").title("there is no such queue").detail(detail)
            }
            Error::Exists { .. } => {
                conflict("job_exists").title("there is such a job already").detail(detail)
            }
            Error::ParentCanceled { .. } => {
                conflict("parent_canceled").title("the parent was cancelled").detail(detail)
            }
            Error::Conflict { .. } => {
                conflict("job_conflict").title("the job is not in a state for this").detail(detail)
            }
            Error::QueueNotEmpty { .. } => {
                conflict("queue_not_empty").title("the queue holds jobs").detail(detail)
            }
            Error::Store(error) => error.into(),
        }
    }
}

impl From<recurring::Error> for Problem {
    fn from(error: recurring::Error) -> Problem {
        let detail = error.to_string();
        match error {
            recurring::Error::NoSuchJob { .. } => not_found("recurring_job_not_found")
                .title("there is no such recurring job")
                .detail(detail),
            recurring::Error::OtherList { .. } => conflict("other_list")
                .title("another list of recurring jobs is in force")
                .detail(detail),
            recurring::Error::Bee { source, .. } => source.into(),
            recurring::Error::Store(error) => error.into(),
            error => broken(&error),
        }
    }
}

impl From<store::Error> for Problem {
    fn from(error: store::Error) -> Problem {
        if error.is_transient() || is_out_of_memory(&error) {
            return Problem::new(StatusCode::SERVICE_UNAVAILABLE, "store_unavailable")
                .title("the store does not answer")
                .detail(error.to_string())
                .retry_after(STORE_RETRY_S);
        }
        broken(&error)
    }
}

/// A name that cannot stand in a key.
pub(super) fn bad_name(error: &PartError) -> Problem {
    Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "bad_name")
        .title("a name cannot be used")
        .detail(error.to_string())
}

/// A value that makes no sense.
pub(super) fn invalid(field: impl Into<String>, reason: impl Into<String>) -> Problem {
    let (field, reason) = (field.into(), reason.into());
    Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "invalid")
        .title("the request makes no sense")
        .detail(format!("{field}: {reason}"))
        .field(field)
}

pub(super) fn conflict(kind: &'static str) -> Problem {
    Problem::new(StatusCode::CONFLICT, kind)
}

fn not_found(kind: &'static str) -> Problem {
    Problem::new(StatusCode::NOT_FOUND, kind)
}

/// Nothing that the client could do about; the log has what it was.
fn broken(error: &(dyn std::error::Error + 'static)) -> Problem {
    tracing::error!(error, "a request failed");
    Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "store_failed")
        .title("the store refused; the server's log says why")
}

/// A server that may not use more memory refuses with a word that the store takes for one of a script's.
fn is_out_of_memory(error: &store::Error) -> bool {
    matches!(error, store::Error::Refused { word, .. } if word == "OOM")
}

#[cfg(test)]
mod tests;
