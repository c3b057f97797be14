//! Cancelling, running again or changing many jobs of a queue at once.

use std::sync::Arc;

use axum::{Extension, Json, extract::State};
use keyrack_jobs::bee::{Bulk, BulkDone, Change, Filter, JobState};
use keyrack_web::{
    App, Problem,
    access::Subject,
    error::invalid,
    extract::{Body, Queue},
};
use serde::Deserialize;
use utoipa::ToSchema;

/// Which jobs are meant.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct BulkFilter {
    /// Where they are.
    place: JobState,
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
    bulk(app, queue, filter.0, Bulk::Cancel).await
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
    bulk(app, queue, filter.0, Bulk::Retry).await
}

/// Which jobs are to be changed, and how.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct BulkChange {
    /// Where they are: `waiting`, `delayed`, `parked` or `queued`.
    place: JobState,
    /// Text that is in their data, their id or one of their tags.
    text: Option<String>,
    /// A tag that they have.
    tag: Option<String>,
    /// Only count them.
    #[serde(default)]
    dry_run: bool,
    /// The `next` of the call before: one call goes through 10,000 jobs at most.
    cursor: Option<String>,
    /// What is to be different.
    change: Change,
}

/// Changes all jobs of a queue that wait and meet a filter. One that has started meanwhile is left alone.
#[utoipa::path(post, path = "/queues/{queue}/jobs/change", tag = "jobs", operation_id = "changeJobs", params(("queue" = String, Path)),
    request_body = BulkChange,
    responses((status = OK, body = BulkDone)))]
pub(super) async fn change(
    app: State<Arc<App>>,
    queue: Queue,
    Body(asked): Body<BulkChange>,
) -> Result<(Extension<Subject>, Json<BulkDone>), Problem> {
    if asked.change.is_empty() {
        return Err(nothing_to_change());
    }
    let BulkChange { place, text, tag, dry_run, cursor, change } = asked;
    let filter = BulkFilter { place, text, tag, dry_run, cursor };
    bulk(app, queue, filter, Bulk::Change(Box::new(change))).await
}

/// A change that names nothing is a mistake of the caller.
pub(super) fn nothing_to_change() -> Problem {
    invalid("change", "nothing is named that is to be different; give priority, delay, data, …")
}

async fn bulk(
    State(app): State<Arc<App>>,
    Queue(queue): Queue,
    which: BulkFilter,
    what: Bulk,
) -> Result<(Extension<Subject>, Json<BulkDone>), Problem> {
    let hive = &app.services.jobs().await?.hive;
    hive.check_queue(&queue).await?;
    let filter = Filter { text: which.text, tag: which.tag, ..Filter::at(which.place) };
    let done = hive.bulk(&queue, &filter, &what, which.dry_run, which.cursor.as_deref()).await?;
    let mark = if which.dry_run { " (only counted)" } else { "" };
    let subject = format!("{} {queue}: {} of {}{mark}", filter.place, done.changed, done.matched);
    Ok((Extension(Subject(subject)), Json(done)))
}
