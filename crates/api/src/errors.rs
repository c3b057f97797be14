//! Why jobs of a queue failed: groups of failures, running their jobs again, and muting them.

use std::sync::Arc;

use axum::{Extension, Json, extract::State, http::StatusCode};
use keyrack_identity::Role::{Operator, Viewer};
use keyrack_jobs::bee::{
    BulkDone,
    errors::{ErrorGroup, ErrorQuery, Errors, GroupRetry, Mute, MuteRequest},
};
use keyrack_web::{
    App, Problem,
    access::{Permission, Subject},
    extract::{Body, InQueue, Query, Queue},
};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::routes;

use super::routes::Routes;

pub(super) fn router() -> Routes {
    Routes::default()
        .add(Permission::read(Viewer), routes!(list))
        .add(Permission::read(Viewer), routes!(show))
        .add(Permission::change(Operator, "errors_retried"), routes!(retry))
        .add(Permission::change(Operator, "error_muted"), routes!(mute))
        .add(Permission::change(Operator, "error_unmuted"), routes!(unmute))
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct Search {
    /// Text in the type or the message of the error, in small or capital letters.
    text: Option<String>,
    /// `false` leaves muted groups out.
    muted: Option<bool>,
}

/// Tells why jobs of a queue failed: at most 100 groups of failures with one cause, the last seen first.
#[utoipa::path(get, path = "/queues/{queue}/errors", tag = "queues", operation_id = "listErrors",
    params(("queue" = String, Path), Search),
    responses((status = OK, body = Errors)))]
pub(super) async fn list(
    State(app): State<Arc<App>>,
    Queue(queue): Queue,
    Query(search): Query<Search>,
) -> Result<Json<Errors>, Problem> {
    let hive = &app.services.jobs().await?.hive;
    hive.check_queue(&queue).await?;
    let query = ErrorQuery { text: search.text, without_muted: search.muted == Some(false) };
    Ok(Json(hive.errors(&queue, &query).await?))
}

/// A group of failures, and where else it was seen.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct ErrorDetails {
    #[serde(flatten)]
    group: ErrorGroup,
    /// The queues in which there is this group.
    queues: Vec<String>,
}

/// Shows a group of failures, and the queues in which it was seen.
#[utoipa::path(get, path = "/queues/{queue}/errors/{group}", tag = "queues", operation_id = "showError",
    params(("queue" = String, Path), ("group" = String, Path)),
    responses((status = OK, body = ErrorDetails)))]
pub(super) async fn show(
    State(app): State<Arc<App>>,
    InQueue(queue, id): InQueue,
) -> Result<Json<ErrorDetails>, Problem> {
    let hive = &app.services.jobs().await?.hive;
    hive.check_queue(&queue).await?;
    let group = hive.error_group(&queue, &id).await?;
    let queues = hive.queues_with_error(&id).await?;
    Ok(Json(ErrorDetails { group, queues }))
}

/// Which failed jobs of a group run again.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct ErrorRetry {
    /// The most jobs, 1 to 10,000, those first that failed last. Default: 10,000.
    max: Option<u64>,
    /// Only count them.
    dry_run: bool,
    /// The `next` of the call before.
    cursor: Option<String>,
}

/// Lets the failed jobs of a group run again from the start, or the first few of them.
#[utoipa::path(post, path = "/queues/{queue}/errors/{group}/retry", tag = "queues", operation_id = "retryErrors",
    params(("queue" = String, Path), ("group" = String, Path)), request_body = ErrorRetry,
    responses((status = OK, body = BulkDone)))]
pub(super) async fn retry(
    State(app): State<Arc<App>>,
    InQueue(queue, id): InQueue,
    Body(asked): Body<ErrorRetry>,
) -> Result<(Extension<Subject>, Json<BulkDone>), Problem> {
    let hive = &app.services.jobs().await?.hive;
    hive.check_queue(&queue).await?;
    let ErrorRetry { max, dry_run, cursor } = asked;
    let done =
        hive.retry_errors(&queue, &id, &GroupRetry { max, is_dry_run: dry_run, cursor }).await?;
    let mark = if dry_run { " (only counted)" } else { "" };
    let subject = format!("{queue} {id}: {} of {}{mark}", done.changed, done.matched);
    Ok((Extension(Subject(subject)), Json(done)))
}

/// Keeps a group of failures from raising alerts until a time, or until a version of the workers.
#[utoipa::path(post, path = "/queues/{queue}/errors/{group}/mute", tag = "queues", operation_id = "muteError",
    params(("queue" = String, Path), ("group" = String, Path)), request_body = MuteRequest,
    responses((status = OK, body = Mute)))]
pub(super) async fn mute(
    State(app): State<Arc<App>>,
    InQueue(queue, id): InQueue,
    Body(request): Body<MuteRequest>,
) -> Result<Json<Mute>, Problem> {
    let hive = &app.services.jobs().await?.hive;
    hive.check_queue(&queue).await?;
    Ok(Json(hive.mute_error(&queue, &id, &request).await?))
}

/// Lets a group of failures raise alerts again.
#[utoipa::path(post, path = "/queues/{queue}/errors/{group}/unmute", tag = "queues", operation_id = "unmuteError",
    params(("queue" = String, Path), ("group" = String, Path)),
    responses((status = NO_CONTENT)))]
pub(super) async fn unmute(
    State(app): State<Arc<App>>,
    InQueue(queue, id): InQueue,
) -> Result<StatusCode, Problem> {
    let hive = &app.services.jobs().await?.hive;
    hive.check_queue(&queue).await?;
    hive.unmute_error(&queue, &id).await?;
    Ok(StatusCode::NO_CONTENT)
}
