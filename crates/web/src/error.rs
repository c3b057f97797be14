//! From errors of the services to problems of the API. Each error says its own class and code; the status follows from
//! the class.

use axum::http::StatusCode;
use keyrack_keys::PartError;
use keyrack_store::{Class, ErrorInfo, ServiceError};

use crate::Problem;

impl<E: ServiceError> From<E> for Problem {
    fn from(error: E) -> Problem {
        match error.store_error() {
            Some(store) => problem(store),
            None => problem(&error),
        }
    }
}

fn problem<E: ServiceError>(error: &E) -> Problem {
    let info = error.info();
    if info.operator_only {
        return broken(error);
    }
    of_info(&info).detail(error.detail())
}

fn of_info(info: &ErrorInfo) -> Problem {
    let mut problem = Problem::new(status(info), info.code).title(info.title);
    if let Some(field) = info.field {
        problem = problem.field(field);
    }
    match info.retry_after_s {
        Some(seconds) => problem.retry_after(seconds),
        None => problem,
    }
}

fn status(info: &ErrorInfo) -> StatusCode {
    match info.class {
        Class::Limited => StatusCode::TOO_MANY_REQUESTS,
        _ if info.retry_after_s.is_some() => StatusCode::SERVICE_UNAVAILABLE,
        Class::Invalid => StatusCode::UNPROCESSABLE_ENTITY,
        Class::NotFound => StatusCode::NOT_FOUND,
        Class::Conflict => StatusCode::CONFLICT,
        Class::Unauthenticated => StatusCode::UNAUTHORIZED,
        Class::Denied => StatusCode::FORBIDDEN,
        Class::Busy | Class::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
        Class::Internal => StatusCode::INTERNAL_SERVER_ERROR,
    }
}

/// A name that cannot stand in a key.
pub fn bad_name(error: &PartError) -> Problem {
    of_info(&ErrorInfo::BAD_NAME).detail(error.to_string())
}

/// An invalid value.
pub fn invalid(field: impl Into<String>, reason: impl Into<String>) -> Problem {
    let (field, reason) = (field.into(), reason.into());
    of_info(&ErrorInfo::INVALID).detail(format!("{field}: {reason}")).field(field)
}

pub fn conflict(kind: &'static str) -> Problem {
    Problem::new(StatusCode::CONFLICT, kind)
}

/// Nothing that the client could do about; the log has what it was.
pub fn broken(error: &(dyn std::error::Error + 'static)) -> Problem {
    tracing::error!(error, "a request failed");
    of_info(&ErrorInfo::operator(Class::Internal))
}

#[cfg(test)]
mod tests;
