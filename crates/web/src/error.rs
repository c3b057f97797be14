//! The one table from errors to what goes over the wire.

use axum::http::StatusCode;
use keyrack_calculations as calculations;
use keyrack_entitlements as entitlements;
use keyrack_files as files;
use keyrack_identity as identity;
use keyrack_jobs::{Error, recurring};
use keyrack_journeys as journeys;
use keyrack_keys::PartError;
use keyrack_progress as progress;
use keyrack_recommender as recommender;
use keyrack_store as store;
use keyrack_updates as updates;

use crate::Problem;

/// How soon to ask again for what others are changing.
const BUSY_RETRY_S: u32 = 1;

/// How soon to ask again for a trace whose keys are about to expire, or for keys of a provider that is away.
const GONE_RETRY_S: u32 = 5;

/// How soon to ask again about a user whom those who sell do not know yet.
const UNKNOWN_USER_RETRY_S: u32 = 10;

/// How soon to try again when those who sell, or the tables of an app, cannot be reached.
const SHOP_RETRY_S: u32 = 15;

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
            recurring::Error::OtherList { .. } | recurring::Error::NewerList { .. } => {
                conflict("other_list")
                    .title("another list of recurring jobs is in force")
                    .detail(detail)
            }
            recurring::Error::Bee { source, .. } => source.into(),
            recurring::Error::Store(error) => error.into(),
            error => broken(&error),
        }
    }
}

impl From<identity::Error> for Problem {
    fn from(error: identity::Error) -> Problem {
        use identity::Error;

        let detail = error.to_string();
        match error {
            Error::Part(error) => bad_name(&error),
            Error::Invalid { field, reason } => invalid(field, reason),
            Error::NoSuchToken { .. } => {
                not_found("not_found").title("there is no such token").detail(detail)
            }
            Error::TooManyTokens { .. } => conflict("too_many_unexpired_tokens")
                .title("the user has too many tokens")
                .detail(detail),
            Error::Denied { .. } => Problem::new(StatusCode::FORBIDDEN, "invalid")
                .title("the token is not valid")
                .detail(detail),
            Error::KeysUnavailable => {
                Problem::new(StatusCode::SERVICE_UNAVAILABLE, "keys_unavailable")
                    .title("signed tokens cannot be checked now")
                    .detail(detail)
                    .retry_after(GONE_RETRY_S)
            }
            Error::Store(error) => error.into(),
            error @ (Error::Settings { .. } | Error::NoRandom) => broken(&error),
        }
    }
}

impl From<entitlements::Error> for Problem {
    fn from(error: entitlements::Error) -> Problem {
        use entitlements::Error;

        let detail = error.to_string();
        match error {
            Error::Part(error) => bad_name(&error),
            Error::Invalid { field, reason } => invalid(field, reason),
            Error::UnknownEntitlement { .. } => not_found("unknown_entitlement")
                .title("there is no such entitlement")
                .detail(detail),
            Error::UnknownUser => unavailable("not_found", UNKNOWN_USER_RETRY_S).detail(detail),
            Error::Limited { retry_after } => {
                let seconds = retry_after.as_millis().div_ceil(1000).max(1);
                Problem::new(StatusCode::TOO_MANY_REQUESTS, "ratelimited")
                    .title("too soon after the last time")
                    .detail(detail)
                    .retry_after(u32::try_from(seconds).unwrap_or(u32::MAX))
            }
            Error::TooManyLimits { retry_after, .. } => {
                let seconds = retry_after.as_millis().div_ceil(1000).max(1);
                over_quota("too_many_limits", u32::try_from(seconds).unwrap_or(u32::MAX))
                    .detail(detail)
            }
            Error::AlreadySubscribed { .. } => {
                conflict("already_subscribed").title("the caller has this already").detail(detail)
            }
            Error::TooManyOpen { .. } => conflict("too_many_open")
                .title("the caller has too many open checkouts")
                .detail(detail),
            Error::NoSuchCheckout { .. } => {
                not_found("not_found").title("there is no such open checkout").detail(detail)
            }
            Error::Incomplete { .. } => {
                conflict("incomplete").title("the checkout is not complete").detail(detail)
            }
            Error::Busy { .. } => unavailable("busy", GONE_RETRY_S).detail(detail),
            Error::NotStripes { .. } => Problem::new(StatusCode::BAD_REQUEST, "bad_signature")
                .title("the message is not signed as it should be")
                .detail(detail),
            Error::Stripe(_) => unavailable("stripe_error", SHOP_RETRY_S).detail(detail),
            Error::Source(_) => unavailable("revenue_cat_error", SHOP_RETRY_S).detail(detail),
            Error::Store(error) => of_shared_store(&error),
            error @ (Error::Settings { .. } | Error::NoRandom) => broken(&error),
        }
    }
}

impl From<progress::Error> for Problem {
    fn from(error: progress::Error) -> Problem {
        use progress::Error;

        let (detail, word) = (error.to_string(), error.word().unwrap_or("store_failed"));
        match error {
            Error::Part(error) => bad_name(&error),
            Error::Invalid { field, reason } => invalid(field, reason),
            Error::TraceNotFound { .. } | Error::RetainedTraceNotFound { .. } => {
                not_found(word).title("there is no such trace").detail(detail)
            }
            Error::BarNotFound { .. } => {
                not_found(word).title("there is no such progress bar").detail(detail)
            }
            Error::StepNotFound { .. } => {
                not_found(word).title("there is no such step").detail(detail)
            }
            Error::TraceCompleted { .. }
            | Error::MissingStartTime { .. }
            | Error::StepChanged { .. }
            | Error::BackwardsProgress { .. }
            | Error::StepRepeated { .. }
            | Error::StepReserved
            | Error::TooManySteps { .. }
            | Error::UidTaken { .. } => {
                conflict(word).title("the trace cannot go on like this").detail(detail)
            }
            Error::BarExists { .. }
            | Error::TooManyBars { .. }
            | Error::StepExists { .. }
            | Error::CannotEditDefaultStep
            | Error::CannotDeleteDefaultStep => {
                conflict(word).title("the progress bar cannot become this").detail(detail)
            }
            Error::TooManyTraces { retry_after_s, .. } => {
                over_quota(word, retry_after_s).detail(detail)
            }
            Error::StepMissing { .. } => unavailable(word, GONE_RETRY_S).detail(detail),
            Error::Busy { .. } => unavailable(word, BUSY_RETRY_S).detail(detail),
            Error::Store(error) => error.into(),
            error @ (Error::Corrupt { .. } | Error::BadJob { .. }) => broken(&error),
        }
    }
}

impl From<calculations::Error> for Problem {
    fn from(error: calculations::Error) -> Problem {
        use calculations::Error;

        let detail = error.to_string();
        match error {
            Error::Part(error) => bad_name(&error),
            Error::Invalid { field, reason } => invalid(field, reason),
            Error::UnknownToken => Problem::new(StatusCode::UNAUTHORIZED, "token_unknown")
                .title("the token is not known")
                .detail(detail),
            Error::NotAdmin => Problem::new(StatusCode::FORBIDDEN, "not_admin")
                .title("the token is not an admin's")
                .detail(detail),
            Error::TokenExists { .. } => {
                conflict("token_exists").title("the token or its project is taken").detail(detail)
            }
            Error::NotFound { .. } => {
                not_found("not_there").title("there is no such thing").detail(detail)
            }
            Error::Busy { .. } => unavailable("busy", BUSY_RETRY_S).detail(detail),
            Error::Store(error) => error.into(),
        }
    }
}

/// The problem of a request that is about a bar as a whole, where an unknown one has the plainest of words.
pub fn as_not_found(error: progress::Error) -> Problem {
    match error {
        progress::Error::BarNotFound { .. } => {
            not_found("not_found").title("there is no such progress bar").detail(error.to_string())
        }
        error => error.into(),
    }
}

fn unavailable(kind: &'static str, retry_after_s: u32) -> Problem {
    Problem::new(StatusCode::SERVICE_UNAVAILABLE, kind)
        .title("this cannot be done just now")
        .retry_after(retry_after_s)
}

impl From<journeys::Error> for Problem {
    fn from(error: journeys::Error) -> Problem {
        use journeys::Error;

        let detail = error.to_string();
        match error {
            Error::Part(error) => bad_name(&error),
            Error::Invalid { field, reason } => invalid(field, reason),
            Error::NoSuchJourney { .. } => {
                not_found("not_found").title("there is no such journey").detail(detail)
            }
            Error::Refused(refusal) => {
                conflict(refusal.word()).title("the event breaks a rule").detail(detail)
            }
            Error::TooManySessions { retry_after_s, .. } => {
                over_quota("too_many_sessions", retry_after_s).detail(detail)
            }
            Error::BadTicket { reason } => {
                tracing::debug!(reason, "a ticket was denied");
                Problem::new(StatusCode::FORBIDDEN, "invalid")
                    .title("the ticket is not valid")
                    .detail("it has expired, or is not for this journey")
            }
            Error::Store(error) => error.into(),
        }
    }
}

impl From<recommender::Error> for Problem {
    fn from(error: recommender::Error) -> Problem {
        use recommender::Error;

        let detail = error.to_string();
        match error {
            Error::Part(error) => bad_name(&error),
            Error::Invalid { what } => Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "invalid")
                .title("the request makes no sense")
                .detail(what),
            Error::NoSuchPost { .. } => {
                not_found("post_not_found").title("the post cannot be recommended").detail(detail)
            }
            Error::Source { .. } => unavailable("tables_unavailable", SHOP_RETRY_S).detail(detail),
            Error::Busy => conflict("busy").title("a load runs already").detail(detail),
            Error::Stopped => unavailable("stopped", BUSY_RETRY_S).detail(detail),
            Error::Store(error) => error.into(),
        }
    }
}

impl From<files::Error> for Problem {
    fn from(error: files::Error) -> Problem {
        let detail = error.to_string();
        match error {
            files::Error::Invalid { field, reason } => invalid(field, reason),
            files::Error::BeingDeleted { .. } => {
                conflict("being_deleted").title("the file is being deleted").detail(detail)
            }
            files::Error::Swept { .. } => Problem::new(StatusCode::NOT_FOUND, "file_not_found")
                .title("the file is not there any more")
                .detail(detail),
            files::Error::Bucket { .. } => {
                unavailable("bucket_unavailable", SHOP_RETRY_S).detail(detail)
            }
            files::Error::Store(error) => error.into(),
        }
    }
}

impl From<updates::Error> for Problem {
    fn from(error: updates::Error) -> Problem {
        match error {
            updates::Error::Part(error) => bad_name(&error),
            updates::Error::Store(error) => error.into(),
            error @ updates::Error::SecretTooShort { .. } => broken(&error),
        }
    }
}

impl From<store::Error> for Problem {
    fn from(error: store::Error) -> Problem {
        of_shared_store(&error)
    }
}

/// The problem of an error that others may have got too.
fn of_shared_store(error: &store::Error) -> Problem {
    let kind = match error {
        store::Error::Auth { .. } => "store_denied",
        store::Error::NotReplicated { .. } => "not_replicated",
        error if error.is_transient() => "store_unavailable",
        error => return broken(error),
    };
    Problem::new(StatusCode::SERVICE_UNAVAILABLE, kind)
        .title("the store is not available")
        .detail(error.to_string())
        .retry_after(STORE_RETRY_S)
}

/// A name that cannot stand in a key.
pub fn bad_name(error: &PartError) -> Problem {
    Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "bad_name")
        .title("a name cannot be used")
        .detail(error.to_string())
}

/// A value that makes no sense.
pub fn invalid(field: impl Into<String>, reason: impl Into<String>) -> Problem {
    let (field, reason) = (field.into(), reason.into());
    Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "invalid")
        .title("the request makes no sense")
        .detail(format!("{field}: {reason}"))
        .field(field)
}

pub fn conflict(kind: &'static str) -> Problem {
    Problem::new(StatusCode::CONFLICT, kind)
}

/// A user has as much of something as one may have, and it goes by itself.
fn over_quota(kind: &'static str, retry_after_s: u32) -> Problem {
    Problem::new(StatusCode::TOO_MANY_REQUESTS, kind)
        .title("the user has too many of these")
        .retry_after(retry_after_s)
}

fn not_found(kind: &'static str) -> Problem {
    Problem::new(StatusCode::NOT_FOUND, kind)
}

/// Nothing that the client could do about; the log has what it was.
pub fn broken(error: &(dyn std::error::Error + 'static)) -> Problem {
    tracing::error!(error, "a request failed");
    Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "store_failed")
        .title("the store refused; the server's log says why")
}

#[cfg(test)]
mod tests;
