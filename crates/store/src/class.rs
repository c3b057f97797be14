//! What a failure means to the caller. Each error says it of itself, and the HTTP API and the command line map it to
//! statuses and exit codes.

use std::error::Error as StdError;

use crate::Error;

/// What the caller can do about a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    /// Correct the request.
    Invalid,
    /// Name something that exists.
    NotFound,
    /// Resolve the conflict with the current state.
    Conflict,
    /// Say who is calling: the credentials are unknown.
    Unauthenticated,
    /// Use credentials with the necessary rights.
    Denied,
    /// Wait until a quota or rate limit has room.
    Limited,
    /// Repeat the request: others are changing the same thing.
    Busy,
    /// Wait until the store or another server answers again.
    Unavailable,
    /// Nothing; the log has the cause.
    Internal,
}

/// A failure in terms that do not depend on which service failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ErrorInfo {
    /// What the caller can do about it.
    pub class: Class,
    /// The stable code by which programs recognize it.
    pub code: &'static str,
    /// What happened, always in the same words for a code.
    pub title: &'static str,
    /// The field of the request that is wrong.
    pub field: Option<&'static str>,
    /// Seconds after which the same call may succeed.
    pub retry_after_s: Option<u32>,
    /// Only the operator can do something about it. Clients of the API do not see the message.
    pub operator_only: bool,
}

impl ErrorInfo {
    /// A name that cannot be part of a key.
    pub const BAD_NAME: ErrorInfo =
        ErrorInfo::new(Class::Invalid, "bad_name", "a name cannot be used");

    /// A request that cannot be understood.
    pub const INVALID: ErrorInfo = ErrorInfo::new(Class::Invalid, "invalid", "invalid request");

    /// A failure that the caller can do something about.
    pub const fn new(class: Class, code: &'static str, title: &'static str) -> ErrorInfo {
        ErrorInfo { class, code, title, field: None, retry_after_s: None, operator_only: false }
    }

    /// A field of the request has an invalid value.
    pub const fn invalid(field: &'static str) -> ErrorInfo {
        ErrorInfo { field: Some(field), ..ErrorInfo::INVALID }
    }

    /// A failure after which the same call may succeed in this many seconds.
    pub const fn later(class: Class, code: &'static str, retry_after_s: u32) -> ErrorInfo {
        ErrorInfo::new(class, code, "this cannot be done just now").retry_after(retry_after_s)
    }

    /// A user has reached a quota. Room appears in this many seconds.
    pub const fn over_quota(code: &'static str, retry_after_s: u32) -> ErrorInfo {
        ErrorInfo::new(Class::Limited, code, "the user has too many of these")
            .retry_after(retry_after_s)
    }

    /// A failure that only the operator can do something about.
    pub const fn operator(class: Class) -> ErrorInfo {
        let title = "the store refused; the server's log says why";
        ErrorInfo { operator_only: true, ..ErrorInfo::new(class, "store_failed", title) }
    }

    /// The same failure, with the time after which the call may succeed.
    #[must_use]
    pub const fn retry_after(mut self, seconds: u32) -> ErrorInfo {
        self.retry_after_s = Some(seconds);
        self
    }
}

/// An error of a service.
pub trait ServiceError: StdError + 'static {
    /// Describes the failure.
    fn info(&self) -> ErrorInfo;

    /// The stable code by which programs recognize it.
    fn code(&self) -> &'static str {
        self.info().code
    }

    /// What happened this time, for clients of the API.
    fn detail(&self) -> String {
        self.to_string()
    }

    /// The store's error, if that is all that happened.
    fn store_error(&self) -> Option<&Error> {
        None
    }
}

/// Seconds after which a store that restarts usually answers again.
const STORE_RETRY_S: u32 = 2;

impl ServiceError for Error {
    fn info(&self) -> ErrorInfo {
        let unavailable = |class, code| {
            ErrorInfo::new(class, code, "the store is not available").retry_after(STORE_RETRY_S)
        };
        match self {
            Error::Unreachable { .. } | Error::Lost(_) | Error::Unavailable { .. } => {
                unavailable(Class::Unavailable, "store_unavailable")
            }
            Error::NotReplicated { .. } => unavailable(Class::Unavailable, "not_replicated"),
            Error::Auth { .. } => unavailable(Class::Denied, "store_denied"),
            Error::Denied(_) => ErrorInfo::operator(Class::Denied),
            Error::Url(_) | Error::IsCluster { .. } | Error::NoReplicas { .. } => {
                ErrorInfo::operator(Class::Invalid)
            }
            Error::NoSuchDatabase { .. } => ErrorInfo::operator(Class::NotFound),
            Error::Folder { in_use: true, .. } | Error::Refused { .. } => {
                ErrorInfo::operator(Class::Conflict)
            }
            Error::Folder { in_use: false, .. }
            | Error::TooOld { .. }
            | Error::ReadOnly { .. }
            | Error::Server(_) => ErrorInfo::operator(Class::Internal),
        }
    }

    fn store_error(&self) -> Option<&Error> {
        Some(self)
    }
}

impl ServiceError for keyrack_engine::log::Error {
    fn info(&self) -> ErrorInfo {
        ErrorInfo::operator(match self {
            keyrack_engine::log::Error::InUse { .. } => Class::Conflict,
            _ => Class::Internal,
        })
    }
}
