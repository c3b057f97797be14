//! Who has changed what.

use std::sync::Arc;

use axum::{Json, extract::State};
use keyrack_identity::{AUDIT_MAX, Change};
use keyrack_web::{App, Problem, error::invalid, extract::Query};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

/// Changes on a page, unless asked for more.
const PAGE: usize = 100;
const PAGE_MAX: usize = 1_000;

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct Pages {
    /// How many of the newest to leave out; none unless said.
    #[serde(default)]
    offset: usize,
    /// How many to list: 1 to 1,000, and 100 unless said otherwise.
    limit: Option<usize>,
}

/// Some changes, the newest first.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct AuditLog {
    changes: Vec<AuditEntry>,
}

/// Something that somebody has done.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct AuditEntry {
    /// When, in unix seconds.
    at: f64,
    /// Who: the subject of a user, `local` for whoever reached a port that asks for no token, `console` for whoever used the
    /// command line.
    actor: String,
    /// What, such as `queue_paused`.
    action: String,
    /// What it was done to: the name of a queue, the id of a job.
    subject: Option<String>,
    /// Whose user or token it was, if it was one.
    user_sub: Option<String>,
    /// The token, if it was one.
    token_uid: Option<String>,
    /// The address that the request came from.
    from: Option<String>,
    /// Why nothing came of it, if so.
    failed: Option<String>,
}

impl From<Change> for AuditEntry {
    fn from(change: Change) -> AuditEntry {
        let Change { at, actor, action, subject, user_sub, token_uid, from, failed } = change;
        AuditEntry { at, actor, action, subject, user_sub, token_uid, from, failed }
    }
}

/// Lists who has changed what, the newest first. Only admins may see it.
#[utoipa::path(get, path = "/audit", tag = "audit", operation_id = "listAudit", params(Pages),
    responses((status = OK, body = AuditLog)))]
pub(super) async fn list(
    State(app): State<Arc<App>>,
    Query(pages): Query<Pages>,
) -> Result<Json<AuditLog>, Problem> {
    let limit = pages.limit.unwrap_or(PAGE);
    if !(1..=PAGE_MAX).contains(&limit) {
        return Err(invalid("limit", format!("{limit}; give 1 to {PAGE_MAX}")));
    }
    let changes = app.services.identity.audit_from(pages.offset.min(AUDIT_MAX), limit).await?;
    Ok(Json(AuditLog { changes: changes.into_iter().map(Into::into).collect() }))
}
