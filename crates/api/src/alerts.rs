//! What needs attention, and which of it somebody has acknowledged or muted.

use std::sync::Arc;

use axum::{Extension, Json, extract::State, http::StatusCode, response::IntoResponse};
use keyrack_identity::{
    AlertMute, AlertMuteKind,
    Role::{Operator, Viewer},
};
use keyrack_services::alerts::{Alert, AlertFacts, alerts, muted_alerts};
use keyrack_web::{
    App, Problem,
    access::{Caller, Permission, Subject},
    error::invalid,
    extract::Body,
};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use utoipa_axum::routes;

use super::routes::Routes;

pub(super) fn router() -> Routes {
    Routes::default()
        .add(Permission::read(Viewer), routes!(list))
        .add(Permission::change(Operator, "alert_muted"), routes!(mute))
        .add(Permission::change(Operator, "alert_unmuted"), routes!(unmute))
}

/// What needs attention.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct AlertList {
    /// The worst first, and those that are acknowledged after the others.
    alerts: Vec<AlertView>,
    /// Those that are muted.
    muted: Vec<AlertView>,
}

/// Something that needs attention.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct AlertView {
    /// Its kind and what it is about, or its kind alone if it stands for several. This is what is muted.
    alert: String,
    /// `broken`, `warning` or `note`.
    severity: &'static str,
    /// What it is about, by name.
    subject: String,
    /// What is wrong.
    text: String,
    /// How many alerts it stands for.
    count: usize,
    /// How many jobs are concerned.
    jobs: u64,
    /// For how long, in milliseconds.
    age_ms: u64,
    /// Who has acknowledged or muted it.
    mute: Option<MuteView>,
}

/// That an alert is acknowledged or muted.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct MuteView {
    /// The alert, or the kind of the alerts.
    alert: String,
    /// `acknowledged` or `muted`.
    kind: &'static str,
    reason: String,
    /// Who did it.
    actor: String,
    /// Since when.
    at: u64,
    /// Until when.
    until: u64,
}

impl From<AlertMute> for MuteView {
    fn from(mute: AlertMute) -> MuteView {
        let AlertMute { alert, kind, reason, actor, at, until } = mute;
        MuteView { alert, kind: kind.word(), reason, actor, at, until }
    }
}

impl From<Alert> for AlertView {
    fn from(alert: Alert) -> AlertView {
        AlertView {
            alert: alert.mute_key(),
            severity: alert.severity.word(),
            count: alert.count(),
            subject: alert.subject,
            text: alert.text,
            jobs: alert.jobs,
            age_ms: alert.age_ms,
            mute: alert.mute.map(MuteView::from),
        }
    }
}

/// Lists what needs attention: the same as the first page of the dashboard, but for what lint has found.
#[utoipa::path(get, path = "/alerts", tag = "alerts", operation_id = "listAlerts",
    responses((status = OK, body = AlertList)))]
pub(super) async fn list(State(app): State<Arc<App>>) -> Json<AlertList> {
    let facts = AlertFacts::read(&app.services).await;
    let views = |alerts: Vec<Alert>| alerts.into_iter().map(AlertView::from).collect();
    Json(AlertList { alerts: views(alerts(&facts)), muted: views(muted_alerts(&facts)) })
}

/// An alert to acknowledge or mute.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct AlertMuteRequest {
    /// The `alert` of the list, such as `no-worker emails`, or a kind alone for all of the kind.
    alert: String,
    /// `acknowledged`: it is shown after the others, with the reason. `muted`: it is not shown among them.
    kind: String,
    /// Why: 1 to 300 characters.
    reason: String,
    /// Until when; at most 30 days from now.
    until: u64,
}

/// Acknowledges or mutes an alert until a time.
#[utoipa::path(post, path = "/alerts/mute", tag = "alerts", operation_id = "muteAlert", request_body = AlertMuteRequest,
    responses((status = OK, body = MuteView)))]
pub(super) async fn mute(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    Body(request): Body<AlertMuteRequest>,
) -> Result<impl IntoResponse, Problem> {
    let AlertMuteRequest { alert, kind, reason, until } = request;
    let kind: AlertMuteKind = kind.parse().map_err(|reason: String| invalid("kind", reason))?;
    let mute = AlertMute { alert, kind, reason, actor: caller.name().to_owned(), at: 0, until };
    let mute = app.services.mute_alert(mute).await?;
    let subject = Subject(format!("{}: {}", mute.alert, mute.reason));
    Ok((Extension(subject), Json(MuteView::from(mute))))
}

/// An alert that is acknowledged or muted.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct AlertUnmuteRequest {
    /// As it was muted.
    alert: String,
}

/// Takes back that an alert is acknowledged or muted.
#[utoipa::path(post, path = "/alerts/unmute", tag = "alerts", operation_id = "unmuteAlert",
    request_body = AlertUnmuteRequest, responses((status = NO_CONTENT)))]
pub(super) async fn unmute(
    State(app): State<Arc<App>>,
    Body(request): Body<AlertUnmuteRequest>,
) -> Result<impl IntoResponse, Problem> {
    if !app.services.identity.unmute_alert(&request.alert).await? {
        let detail = format!("\"{}\" is neither acknowledged nor muted", request.alert);
        return Err(Problem::new(StatusCode::NOT_FOUND, "alert_not_muted").detail(detail));
    }
    Ok((Extension(Subject(request.alert)), StatusCode::NO_CONTENT))
}
