//! The page of who has changed what.

use std::sync::Arc;

use askama::Template;
use axum::{extract::State, response::Response};
use keyrack_format as format;
use keyrack_identity::Change;
use keyrack_web::Problem;
use serde::Deserialize;

use super::{
    Frame, Visit, assets, link,
    live::{View, live_page, show},
};
use crate::Site;

/// Changes on a page.
const PAGE: usize = 100;

#[derive(Template)]
#[template(path = "audit.html", blocks = ["live"])]
pub(super) struct AuditPage {
    frame: Frame,
    rows: Vec<Row>,
    /// Where the page with later ones is, and that with earlier ones.
    later: Option<String>,
    earlier: Option<String>,
}
live_page!(AuditPage);

/// A change.
struct Row {
    age: String,
    at: String,
    actor: String,
    action: String,
    subject: String,
    /// The page of what was changed, if there is one.
    link: Option<String>,
    from: String,
    failed: Option<String>,
}

/// What stands behind the `?`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Changes {
    offset: usize,
}

impl View for Changes {
    type Page = AuditPage;

    async fn look(&self, site: &Site, frame: Frame) -> Result<AuditPage, Problem> {
        // One more than is shown tells whether there are more.
        let mut changes = site.services.identity.audit_from(self.offset, PAGE + 1).await?;
        let has_more = changes.len() > PAGE;
        changes.truncate(PAGE);
        let now = site.services.store.now_ms();
        let at = |offset: usize| link::with_query("/audit", &[("offset", &offset.to_string())]);
        Ok(AuditPage {
            frame,
            rows: changes.into_iter().map(|change| Row::of(change, now)).collect(),
            later: (self.offset > 0).then(|| at(self.offset.saturating_sub(PAGE))),
            earlier: has_more.then(|| at(self.offset.saturating_add(PAGE))),
        })
    }
}

impl Row {
    fn of(change: Change, now: u64) -> Row {
        let at = (change.at.max(0.0) * 1000.0) as u64;
        let link = change.subject.as_deref().and_then(|to| page_of(&change.action, to));
        let about = [change.subject, change.user_sub, change.token_uid];
        Row {
            age: format::relative(at, now),
            at: format::utc(at),
            actor: change.actor,
            action: change.action.replace('_', " "),
            link,
            subject: about.into_iter().flatten().collect::<Vec<_>>().join(", "),
            from: change.from.unwrap_or_default(),
            failed: change.failed,
        }
    }
}

/// The page of what was changed, by the word for the change. What was deleted has none.
fn page_of(action: &str, subject: &str) -> Option<String> {
    let words: Vec<&str> = subject.split(' ').collect();
    match (action, &words[..]) {
        ("queue_deleted" | "recurring_deleted", _) => None,
        // The form tells the queue, too.
        ("job_submitted", [.., jid]) => Some(link::job(jid)),
        (action, _) if action.starts_with("job_") => Some(link::job(subject)),
        ("tenant_limited" | "named_limit_set", _) => Some(link::queue(subject)),
        ("jobs_canceled" | "jobs_retried" | "jobs_changed", [queue, ..]) => {
            Some(link::queue(queue))
        }
        (action, _) if action.starts_with("queue_") => Some(link::queue(subject)),
        ("errors_retried" | "error_muted" | "error_unmuted", [queue, group, ..]) => {
            Some(link::error_group(queue, group))
        }
        ("bulk_started", [_, place, queue, ..]) => {
            let queue = queue.trim_end_matches(':');
            Some(link::with_query("/find", &[("queue", queue), ("place", place)]))
        }
        ("bulk_stopped", [id]) => Some(format!("/bulk/{id}")),
        (action, _) if action.starts_with("recurring_") => Some("/recurring".into()),
        (action, _) if action.starts_with("alert_") => Some("/".into()),
        (action, _) if action.starts_with("file") => Some("/files".into()),
        ("entitlements_purged", _) => Some("/entitlements".into()),
        (action, [account, project, ..]) if action.starts_with("calculation_") => {
            Some(format!("/calculations/{}/{}", link::segment(account), link::segment(project)))
        }
        _ => None,
    }
}

/// `GET /audit`
pub(crate) async fn audit(State(site): State<Arc<Site>>, visit: Visit) -> Response {
    match visit.query::<Changes>() {
        Ok(changes) => show(site, visit, changes).await,
        Err(problem) => problem.for_reader(&visit.headers),
    }
}

#[cfg(test)]
mod tests {
    use super::page_of;

    #[test]
    fn a_change_leads_to_what_it_changed() {
        for (action, subject, page) in [
            ("job_changed", "a/b", Some("/jobs/a%2Fb")),
            ("job_submitted", "mail j1", Some("/jobs/j1")),
            ("queue_paused", "mail/send", Some("/queues/mail%2Fsend")),
            ("tenant_limited", "mail", Some("/queues/mail")),
            ("jobs_canceled", "mail", Some("/queues/mail")),
            ("error_muted", "mail e1", Some("/queues/mail/errors/e1")),
            ("bulk_started", "Retry failed mail tag=x", Some("/find?queue=mail&place=failed")),
            ("bulk_started", "Change queued mail: priority", Some("/find?queue=mail&place=queued")),
            ("recurring_paused", "nightly", Some("/recurring")),
            ("alert_muted", "paused mail: moved", Some("/")),
            ("files_swept", "", Some("/files")),
            ("calculation_key_deleted", "7 2 d k", Some("/calculations/7/2")),
            ("queue_deleted", "mail", None),
            ("token_created", "laptop", None),
        ] {
            assert_eq!(page_of(action, subject).as_deref(), page, "{action} {subject}");
        }
    }
}
