//! Which error statuses a route can answer with, for the description.
//!
//! Most follow from the input and the caller of a route. Those that follow from what it does are listed here. Tests compare
//! every answer with the description, so a missing status is noticed.

use std::collections::BTreeSet;

use utoipa::openapi::{
    Content, Ref, RefOr, Response, ResponseBuilder,
    path::{HttpMethod, Operation, Parameter, ParameterIn},
};

/// The statuses: the name of the response in the description, and its meaning.
const MEANINGS: &[(u16, &str, &str)] = &[
    (400, "BadRequest", "The request cannot be parsed"),
    (401, "Unauthorized", "The token is missing or malformed"),
    (
        403,
        "Forbidden",
        "The token is invalid or lacks the permission, the server is read-only, or the request came from a page of another site",
    ),
    (404, "NotFound", "Not found"),
    (408, "RequestTimeout", "The body did not arrive in time"),
    (409, "Conflict", "The present state does not allow this"),
    (413, "PayloadTooLarge", "The body is too large"),
    (422, "Unprocessable", "A value is invalid"),
    (
        429,
        "TooManyRequests",
        "Too many requests, or a quota is used up; retry after `Retry-After` seconds",
    ),
    (501, "NotImplemented", "The server lacks a setting that this needs"),
    (
        503,
        "Unavailable",
        "The store or another service is unavailable; retry after `Retry-After` seconds",
    ),
];

/// The responses that routes refer to, by name.
pub(super) fn responses() -> impl Iterator<Item = (&'static str, Response)> {
    MEANINGS.iter().map(|(_, name, meaning)| {
        let body = Content::new(Some(Ref::from_schema_name("Problem")));
        let response = ResponseBuilder::new().description(*meaning);
        (*name, response.content("application/problem+json", body).build())
    })
}

/// Statuses that follow from what a route does.
const MORE: &[(&str, &str, &[u16])] = &[
    ("DELETE", "/api/1/queues/{queue}", &[404, 409]),
    ("GET", "/api/1/queues/{queue}", &[404]),
    ("POST", "/api/1/queues/{queue}/pause", &[404]),
    ("POST", "/api/1/queues/{queue}/resume", &[404]),
    ("GET", "/api/1/queues/{queue}/limits", &[404]),
    ("GET", "/api/1/queues/{queue}/times", &[404]),
    ("GET", "/api/1/queues/{queue}/errors", &[404]),
    ("GET", "/api/1/queues/{queue}/errors/{group}", &[404]),
    ("POST", "/api/1/queues/{queue}/errors/{group}/retry", &[404]),
    ("POST", "/api/1/queues/{queue}/errors/{group}/mute", &[404]),
    ("POST", "/api/1/queues/{queue}/errors/{group}/unmute", &[404]),
    ("GET", "/api/1/queues/{queue}/scaling", &[404]),
    ("PUT", "/api/1/queues/{queue}/limits", &[404]),
    ("POST", "/api/1/queues/{queue}/jobs/cancel", &[404]),
    ("POST", "/api/1/queues/{queue}/jobs/retry", &[404]),
    ("POST", "/api/1/queues/{queue}/jobs/change", &[404]),
    ("GET", "/api/1/jobs/search", &[404]),
    ("POST", "/api/1/queues/{queue}/jobs", &[409]),
    ("GET", "/api/1/queues/{queue}/jobs", &[404]),
    ("POST", "/api/1/queues/{queue}/claim", &[409, 429]),
    ("POST", "/api/1/claim", &[409, 429]),
    ("POST", "/api/1/queues/{queue}/heartbeat", &[409]),
    ("POST", "/api/1/queues/{queue}/settle", &[409]),
    ("GET", "/api/1/jobs/events", &[429]),
    ("GET", "/api/1/jobs/{jid}", &[404]),
    ("DELETE", "/api/1/jobs/{jid}", &[404, 409]),
    ("POST", "/api/1/jobs/{jid}/change", &[404, 409]),
    ("GET", "/api/1/jobs/{jid}/why", &[404]),
    ("GET", "/api/1/jobs/{jid}/outcome", &[404, 429]),
    ("PUT", "/api/1/jobs/{jid}/tags", &[404, 409]),
    ("POST", "/api/1/jobs/{jid}/retry", &[404, 409]),
    ("POST", "/api/1/jobs/{jid}/progress", &[404, 409]),
    ("GET", "/api/1/jobs/{jid}/logs", &[404]),
    ("POST", "/api/1/jobs/{jid}/logs", &[404]),
    ("GET", "/api/1/jobs/{jid}/logs/events", &[404, 429]),
    ("POST", "/api/1/jobs/{jid}/complete", &[404, 409]),
    ("POST", "/api/1/jobs/{jid}/fail", &[404, 409]),
    ("POST", "/api/1/jobs/{jid}/snooze", &[404, 409]),
    ("POST", "/api/1/jobs/{jid}/release", &[404, 409]),
    ("POST", "/api/1/alerts/unmute", &[404]),
    ("POST", "/api/1/recurring", &[409]),
    ("GET", "/api/1/recurring/{name}", &[404]),
    ("PUT", "/api/1/recurring/{name}", &[404, 409]),
    ("DELETE", "/api/1/recurring/{name}", &[404, 409]),
    ("POST", "/api/1/recurring/{name}/run", &[404, 409]),
    ("POST", "/api/1/recurring/{name}/pause", &[404, 409]),
    ("POST", "/api/1/recurring/{name}/resume", &[404, 409]),
    ("POST", "/api/1/webhooks", &[409]),
    ("GET", "/api/1/webhooks/{webhook}", &[404]),
    ("POST", "/api/1/webhooks/{webhook}/change", &[404]),
    ("DELETE", "/api/1/webhooks/{webhook}", &[404]),
    ("GET", "/api/1/webhooks/{webhook}/deliveries", &[404]),
    ("POST", "/api/1/webhooks/{webhook}/test", &[404]),
    ("POST", "/api/1/webhooks/{webhook}/replay", &[404]),
    ("POST", "/api/1/webhooks/{webhook}/deliveries/{delivery}/replay", &[404, 409]),
    ("POST", "/api/1/files/keep", &[404, 409]),
    ("POST", "/api/1/files/sweep", &[501]),
    ("POST", "/api/1/entitlements/purge", &[501]),
    ("GET", "/api/1/recommender/posts/{post_id}/similar", &[404]),
    ("GET", "/api/1/recommendations/{user_id}/explanation", &[404]),
    ("GET", "/api/1/recommender/evaluation", &[404]),
    ("POST", "/api/1/recommendations/{user_id}/liked", &[404]),
    ("POST", "/api/1/recommender/sync", &[409, 501]),
    ("GET", "/UpdateRecommendation/", &[409, 501]),
    ("POST", "/api/1/users/tokens/", &[409]),
    ("PUT", "/api/1/users/tokens/{uid}", &[404]),
    ("DELETE", "/api/1/users/tokens/{uid}", &[404]),
    ("GET", "/api/1/users/me/entitlements/{identifier}", &[404, 429, 501]),
    ("GET", "/api/1/users/me/revenue_cat_id", &[501]),
    ("POST", "/api/1/users/me/checkout/stripe/start", &[409, 429, 501]),
    ("POST", "/api/1/users/me/checkout/stripe/finish", &[404, 409, 429, 501]),
    ("POST", "/api/1/checkout/stripe/webhook", &[501]),
    ("POST", "/api/1/progress_bars/", &[409]),
    ("PUT", "/api/1/progress_bars/", &[404]),
    ("DELETE", "/api/1/progress_bars/", &[404]),
    ("POST", "/api/1/progress_bars/steps/", &[404, 409]),
    ("PUT", "/api/1/progress_bars/steps/", &[404, 409]),
    ("DELETE", "/api/1/progress_bars/steps/", &[404, 409]),
    ("POST", "/api/1/progress_bars/traces/", &[409, 429]),
    ("DELETE", "/api/1/progress_bars/traces/", &[404]),
    ("POST", "/api/1/progress_bars/traces/steps/", &[404, 409]),
    ("POST", "/api/1/progress_bars/traces/failures/", &[404, 409]),
    ("GET", "/api/1/progress_bars/traces/events", &[429]),
    ("GET", "/api/1/journeys/{uid}", &[404]),
    ("DELETE", "/api/1/journeys/{uid}", &[404]),
    ("GET", "/api/1/journeys/{uid}/live", &[404, 429]),
    ("GET", "/api/1/journeys/{uid}/stats", &[404]),
    ("POST", "/api/1/journeys/{uid}/tickets", &[404]),
    ("POST", "/api/1/journeys/{uid}/sessions", &[404, 409, 429]),
    ("POST", "/api/1.0/admin/account", &[409]),
    ("POST", "/api/1.0/admin/token", &[409]),
    ("DELETE", "/api/1.0/admin/token", &[404]),
    ("GET", "/api/1.0/event/{dimension}/{key}", &[404]),
    ("GET", "/api/1.0/event/{dimension}/{key}/{calculation}/{interval}", &[404]),
    ("GET", "/api/1/calculations/keys/{dimension}/{key}", &[404]),
    ("DELETE", "/api/1/calculations/keys/{dimension}/{key}", &[404]),
    ("DELETE", "/api/1/calculations/keys/{dimension}/{key}/values", &[404]),
    ("GET", "/api/1/calculations/keys/{dimension}/{key}/trend/{interval}", &[404]),
    ("GET", "/api/1/calculations/keys/{dimension}/{key}/{calculation}/{interval}/series", &[404]),
    ("GET", "/api/1/calculations/live/events", &[429]),
    ("DELETE", "/api/1/calculations/rules/{number}", &[404]),
];

/// Adds the error statuses of a route.
pub(super) fn describe(method: &HttpMethod, path: &str, operation: &mut Operation) {
    let method = match method {
        HttpMethod::Get => "GET",
        HttpMethod::Put => "PUT",
        HttpMethod::Post => "POST",
        HttpMethod::Delete => "DELETE",
        _ => return,
    };
    let known = &operation.responses.responses;
    let statuses = statuses(method, path, operation).into_iter();
    let missing = statuses.filter(|status| !known.contains_key(&status.to_string()));
    for status in missing.collect::<Vec<_>>() {
        operation.responses.responses.insert(status.to_string(), problem(status));
    }
}

fn statuses(method: &str, path: &str, operation: &Operation) -> BTreeSet<u16> {
    // Every route asks who is calling, and reads or writes the store.
    let mut statuses = BTreeSet::from([401, 403, 503]);
    let inputs = operation.parameters.iter().flatten();
    let inputs: Vec<&Parameter> = inputs
        .filter_map(|input| match input {
            RefOr::T(input) => Some(input),
            RefOr::Ref(_) => None,
        })
        .collect();
    let is_in = |place: ParameterIn| inputs.iter().any(|input| input.parameter_in == place);
    if operation.request_body.is_some() {
        statuses.extend([400, 408, 413, 422]);
    }
    if is_in(ParameterIn::Path) {
        statuses.extend([400, 422]);
    }
    if is_in(ParameterIn::Query) || is_in(ParameterIn::Header) {
        statuses.insert(422);
    }
    // The token of a project is a name, and not every text is a valid name.
    if path.contains("/calculations/") || path.starts_with("/api/1.0/") {
        statuses.insert(422);
    }
    if path.starts_with("/api/1/journeys/events/") {
        statuses.extend([404, 409]);
    }
    let more = MORE.iter().filter(|row| (row.0, row.1) == (method, path));
    statuses.extend(more.flat_map(|row| row.2));
    statuses
}

fn problem(status: u16) -> RefOr<Response> {
    let known = MEANINGS.iter().find(|(known, ..)| *known == status);
    let (_, name, _) = known.expect("every status above has a meaning");
    RefOr::Ref(Ref::from_response_name(*name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_status_has_a_meaning() {
        for status in MORE.iter().flat_map(|row| row.2).chain(&[400, 401, 403, 408, 413, 422, 503])
        {
            assert!(MEANINGS.iter().any(|(known, ..)| known == status), "{status}");
        }
    }
}
