//! Cancelling or running again many jobs of a queue at once.

use std::sync::Arc;

use axum::{Extension, Json, extract::State};
use keyrack_jobs::bee::{Bulk, BulkDone, Filter, Place};
use keyrack_web::{
    App, Problem,
    access::Subject,
    extract::{Body, Queue},
};
use serde::Deserialize;
use utoipa::ToSchema;

/// Which jobs are meant.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct BulkFilter {
    /// Where they are.
    place: Place,
    /// Text that is in their data, their id or one of their tags.
    text: Option<String>,
    /// A tag that they have.
    tag: Option<String>,
    /// Only count them.
    #[serde(default)]
    dry_run: bool,
    /// The `next` of the call before: one call goes through 10,000 jobs at most.
    cursor: Option<String>,
}

/// Cancels all jobs of a queue that meet a filter, each with the jobs that it has submitted.
#[utoipa::path(post, path = "/queues/{queue}/jobs/cancel", tag = "jobs", operation_id = "cancelJobs", params(("queue" = String, Path)),
    request_body = BulkFilter,
    responses((status = OK, body = BulkDone)))]
pub(super) async fn cancel(
    app: State<Arc<App>>,
    queue: Queue,
    filter: Body<BulkFilter>,
) -> Result<(Extension<Subject>, Json<BulkDone>), Problem> {
    bulk(app, queue, filter, Bulk::Cancel).await
}

/// Lets all failed jobs of a queue that meet a filter run again from the start.
#[utoipa::path(post, path = "/queues/{queue}/jobs/retry", tag = "jobs", operation_id = "retryJobs", params(("queue" = String, Path)),
    request_body = BulkFilter,
    responses((status = OK, body = BulkDone)))]
pub(super) async fn retry(
    app: State<Arc<App>>,
    queue: Queue,
    filter: Body<BulkFilter>,
) -> Result<(Extension<Subject>, Json<BulkDone>), Problem> {
    bulk(app, queue, filter, Bulk::Retry).await
}

async fn bulk(
    State(app): State<Arc<App>>,
    Queue(queue): Queue,
    Body(which): Body<BulkFilter>,
    what: Bulk,
) -> Result<(Extension<Subject>, Json<BulkDone>), Problem> {
    let hive = &app.services.jobs().await?.hive;
    hive.check_queue(&queue).await?;
    let filter = Filter { place: which.place, text: which.text, tag: which.tag };
    let done = hive.bulk(&queue, &filter, what, which.dry_run, which.cursor.as_deref()).await?;
    let mark = if which.dry_run { " (only counted)" } else { "" };
    let subject = format!("{} {queue}: {} of {}{mark}", filter.place, done.changed, done.matched);
    Ok((Extension(Subject(subject)), Json(done)))
}
