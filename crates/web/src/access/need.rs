//! What each route asks of its callers, and what a change is called in the audit log.
//!
//! Looking is for viewers, changing for operators. The exceptions are here, so a route that nobody has thought of is not open.

use axum::http::Method;
use keyrack_identity::Role;

/// What a route asks of its callers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Need {
    /// The least role; `None` if anybody may.
    pub(super) role: Option<Role>,
    /// Whether it changes anything, or is of no use where nothing can be changed.
    pub(super) is_change: bool,
}

/// What a route of that name asks for.
pub(super) fn of(method: &Method, route: &str) -> Need {
    let is_look = method.is_safe();
    let (role, is_change) = match own(route) {
        "/sign-in" | "/sign-out" | "/theme" => (None, false),
        "/audit" => (Some(Role::Admin), false),
        "/queues/{queue}" if method == Method::DELETE => (Some(Role::Admin), true),
        "/queues/{queue}/delete" => (Some(Role::Admin), true),
        // Pages that are nothing but a form.
        "/submit" | "/bulk" => (Some(Role::Operator), true),
        // The first look makes the id.
        "/users/me/revenue_cat_id" => (Some(Role::Viewer), true),
        // A load, though it is a GET: that is how the original is asked for it.
        "/UpdateRecommendation/" => (Some(Role::Operator), true),
        _ if is_look => (Some(Role::Viewer), false),
        // A search has its filter in the body, and a ticket is only signed.
        route if route.ends_with("/search") || route.ends_with("/tickets") => {
            (Some(Role::Viewer), false)
        }
        _ => (Some(Role::Operator), true),
    };
    Need { role, is_change }
}

/// What a change is called in the audit log. `None` for what is no change of a person's: what workers do all day, and jobs that
/// programs submit, would push everything else out. Jobs have a history of their own.
pub(super) fn action(method: &Method, route: &str) -> Option<String> {
    if !of(method, route).is_change || method.is_safe() {
        return None;
    }
    let word = match (method.as_str(), own(route)) {
        (_, "/queues/{queue}/claim" | "/queues/{queue}/heartbeat" | "/queues/{queue}/settle")
        | (_, "/queues/{queue}/leave" | "/queues/{queue}/jobs" | "/jobs/{jid}/progress")
        | (_, "/jobs/{jid}/complete" | "/jobs/{jid}/fail" | "/jobs/{jid}/release")
        | (_, "/examples/job" | "/lint") => return None,
        // What an app tells of its users, as it happens.
        (_, route) if route.starts_with("/recommendations/") => return None,
        (_, "/recommender/members" | "/recommender/posts" | "/recommender/reactions")
        | (_, "/recommender/challenges/{challenge_id}" | "/recommender/posts/{post_id}") => {
            return None;
        }
        (_, "/recommender/sync") => "recommender_loaded",
        ("DELETE", "/queues/{queue}") | (_, "/queues/{queue}/delete") => "queue_deleted",
        (_, "/queues/{queue}/pause") => "queue_paused",
        (_, "/queues/{queue}/resume") => "queue_resumed",
        (_, "/queues/{queue}/limits") => "queue_limited",
        (_, "/queues/{queue}/jobs/cancel") => "jobs_canceled",
        (_, "/queues/{queue}/jobs/retry") => "jobs_retried",
        ("DELETE", "/jobs/{jid}") | (_, "/jobs/{jid}/cancel") => "job_canceled",
        (_, "/jobs/{jid}/retry") => "job_retried",
        (_, "/jobs/{jid}/tags") => "job_tagged",
        (_, "/submit") => "job_submitted",
        (_, "/bulk") => "bulk_started",
        (_, "/bulk/{id}/stop") => "bulk_stopped",
        (_, "/calculations/{account}/{project}/rules") => "rule_made",
        (_, "/calculations/{account}/{project}/rules/{number}/delete") => "rule_deleted",
        (_, "/calculations/{account}/{project}/{dimension}/{key}/delete-key") => {
            "calculation_key_deleted"
        }
        (_, "/calculations/{account}/{project}/{dimension}/{key}/delete-value") => {
            "calculation_value_deleted"
        }
        (_, "/recurring/{name}/run") => "recurring_run",
        (_, "/recurring/{name}/pause") => "recurring_paused",
        (_, "/recurring/{name}/resume") => "recurring_resumed",
        (_, "/entitlements/purge") => "entitlements_purged",
        (_, "/files/sweep") => "files_swept",
        (_, "/files/keep") => "file_kept",
        (method, route) => return Some(format!("{method} {route}")),
    };
    Some(word.to_owned())
}

/// Whether other sites may link to it: pages are there to be linked to. What is asked for by programs is not, and may change
/// something though it is only looked at.
pub(super) fn takes_links(route: &str) -> bool {
    !route.starts_with("/api/") && route != "/UpdateRecommendation/"
}

/// The route without what stands before all routes of the API: pages and API do the same under the same names.
fn own(route: &str) -> &str {
    route.strip_prefix("/api/1").filter(|rest| rest.starts_with('/')).unwrap_or(route)
}

/// What a request is about: what stands in its path for the variable parts of its route.
pub(super) fn subject(route: &str, path: &str) -> Option<String> {
    let pairs = own(route).split('/').zip(own(path).split('/'));
    let parts = pairs.filter(|(name, _)| name.starts_with('{')).map(|(_, value)| {
        percent_encoding::percent_decode_str(value).decode_utf8_lossy().into_owned()
    });
    let parts: Vec<String> = parts.collect();
    (!parts.is_empty()).then(|| parts.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_nobody_has_thought_of_is_for_operators() {
        let need = of(&Method::POST, "/api/1/brand/new");
        assert_eq!(need, Need { role: Some(Role::Operator), is_change: true });
        assert_eq!(of(&Method::GET, "/brand/new").role, Some(Role::Viewer));
        assert_eq!(action(&Method::POST, "/brand/{new}").as_deref(), Some("POST /brand/{new}"));
    }

    #[test]
    fn pages_and_api_do_the_same_under_the_same_names() {
        for (page, word) in [("/jobs/{jid}/retry", "job_retried"), ("/files/sweep", "files_swept")]
        {
            assert_eq!(action(&Method::POST, page).as_deref(), Some(word));
            assert_eq!(action(&Method::POST, &format!("/api/1{page}")).as_deref(), Some(word));
        }
        assert_eq!(of(&Method::GET, "/api/1/audit").role, Some(Role::Admin));
        assert_eq!(of(&Method::GET, "/UpdateRecommendation/").role, Some(Role::Operator));
        assert_eq!(of(&Method::DELETE, "/api/1/queues/{queue}").role, Some(Role::Admin));
        assert_eq!(of(&Method::POST, "/queues/{queue}/delete").role, Some(Role::Admin));
        assert_eq!(of(&Method::GET, "/api/1.0/event/{d}/{k}").role, Some(Role::Viewer));
    }

    #[test]
    fn what_a_request_is_about_stands_in_its_path() {
        let told = subject("/api/1/queues/{queue}/pause", "/queues/video%2Fhd/pause");
        assert_eq!(told.as_deref(), Some("video/hd"));
        assert_eq!(subject("/bulk", "/bulk"), None);
    }
}
