//! Limits on anything, for callers who have something to limit.

use std::{sync::Arc, time::Duration};

use axum::{
    Json,
    extract::{FromRequestParts, State},
    http::{StatusCode, header, request::Parts},
    response::{IntoResponse, Response},
};
use keyrack_entitlements::{
    Limit, Limiter, RateLimitDecision,
    keys::{LimitName, LimitSubject},
};
use keyrack_keys::UserSub;
use keyrack_web::{
    App, Problem, ProblemBody,
    error::{bad_name, invalid},
    extract::{Body, segment},
};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::auth::Editor;

/// How much may be done, and how much is to be done now.
#[derive(Debug, Deserialize, ToSchema)]
pub(super) struct TakeLimit {
    /// Who or what is limited: a user, an address, a key.
    subject: String,
    /// How much is allowed in each period.
    max: u64,
    /// The period, in seconds.
    period_seconds: f64,
    /// With this, what was taken comes back little by little, and so much may be taken at once. Without it, a window begins
    /// with the first that is taken, and everything comes back at its end.
    burst: Option<u64>,
    /// How much to take; 0 tells how things are.
    #[serde(default = "one")]
    amount: u64,
}

fn one() -> u64 {
    1
}

/// Whether it may be done, and what is left.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct TakenLimit {
    /// Whether it may be done. If not, nothing was taken.
    allowed: bool,
    /// How much more may be taken at once.
    remaining: u64,
    /// After how many seconds the same is allowed; null if it never is.
    retry_after_seconds: Option<f64>,
    /// After how many seconds everything may be taken again.
    reset_after_seconds: f64,
}

/// The limit in the path of a request.
pub(super) struct Name(String);

impl FromRequestParts<Arc<App>> for Name {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &Arc<App>) -> Result<Name, Problem> {
        segment(parts, app).await.map(Name)
    }
}

/// Takes from a limit of the caller's, if there is enough left. If there is not, the status is 429.
#[utoipa::path(post, path = "/limits/{name}/take", tag = "limits", operation_id = "takeLimit",
    params(("name" = String, Path, description = "What is limited, such as `search`")),
    request_body = TakeLimit,
    responses((status = OK, body = TakenLimit),
              (status = TOO_MANY_REQUESTS,
               content((TakenLimit = "application/json"), (ProblemBody<'static> = "application/problem+json")),
               description = "Not allowed, or the caller has too many limits (a problem); `Retry-After` says when it is")))]
pub(super) async fn take(
    State(app): State<Arc<App>>,
    Editor(sub): Editor,
    Name(name): Name,
    Body(take): Body<TakeLimit>,
) -> Result<Response, Problem> {
    let name = own(&sub, &name)?;
    let subject = LimitSubject::new(take.subject.as_str())
        .map_err(|error| bad_name(&error).field("subject"))?;
    let period = Duration::try_from_secs_f64(take.period_seconds)
        .map_err(|_| invalid("period_seconds", "give a positive number"))?;
    let limit = match take.burst {
        None => Limit::Window { max: take.max, period },
        Some(burst) => Limit::Steady { max: take.max, period, burst },
    };
    let limiter = Limiter::new(app.services.store.clone()).of_user(&sub, app.services.limits_max);
    Ok(answer(limiter.take(&name, &subject, limit, take.amount).await?))
}

/// Callers have limits of their own, whatever they call them.
fn own(sub: &UserSub, name: &str) -> Result<LimitName, Problem> {
    LimitName::new(name)
        .and_then(|_| {
            // The first colon ends the user, so there must be none in it: "org" with "7:search" is not "org:7" with "search".
            let sub = sub.as_str().replace('%', "%25").replace(':', "%3A");
            LimitName::new(format!("{sub}:{name}"))
        })
        .map_err(|error| bad_name(&error).field("name"))
}

fn answer(verdict: RateLimitDecision) -> Response {
    let taken = Json(TakenLimit {
        allowed: verdict.allowed,
        remaining: verdict.remaining,
        retry_after_seconds: verdict.retry_after.map(|after| after.as_secs_f64()),
        reset_after_seconds: verdict.reset_after.as_secs_f64(),
    });
    if verdict.allowed {
        return taken.into_response();
    }
    match verdict.retry_after {
        Some(after) => {
            let seconds = after.as_millis().div_ceil(1000).to_string();
            (StatusCode::TOO_MANY_REQUESTS, [(header::RETRY_AFTER, seconds)], taken).into_response()
        }
        None => (StatusCode::TOO_MANY_REQUESTS, taken).into_response(),
    }
}
