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
        let about = [change.subject, change.user_sub, change.token_uid];
        Row {
            age: format::relative(at, now),
            at: format::utc(at),
            actor: change.actor,
            action: change.action.replace('_', " "),
            subject: about.into_iter().flatten().collect::<Vec<_>>().join(", "),
            from: change.from.unwrap_or_default(),
            failed: change.failed,
        }
    }
}

/// `GET /audit`
pub(crate) async fn audit(State(site): State<Arc<Site>>, visit: Visit) -> Response {
    match visit.query::<Changes>() {
        Ok(changes) => show(site, visit, changes).await,
        Err(problem) => problem.for_reader(&visit.headers),
    }
}
