//! Queues as a whole: what they hold, pausing them, what limits them.

use std::sync::Arc;

use axum::{Json, extract::State, http::StatusCode};
use futures_util::future::try_join_all;
use keyrack_jobs::bee::{Hive, Limits, Stats, keys::QueueName};
use keyrack_web::{
    App, Problem,
    error::invalid,
    extract::{Query, Queue, RawBody, parse},
};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

/// Queues on a page, unless asked for more.
const PAGE: usize = 50;
const PAGE_MAX: usize = 200;

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct Pages {
    /// The `next` of the page before.
    cursor: Option<String>,
    /// How many to show: 1 to 200, and 50 unless said otherwise.
    limit: Option<usize>,
}

/// Some queues, by name.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Queues {
    queues: Vec<Summary>,
    /// What to ask for the next page with; without one, this was the last.
    next: Option<String>,
}

/// What a queue holds, in numbers.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Summary {
    /// Its name.
    queue: String,
    /// Whether no more jobs may start.
    paused: bool,
    /// Jobs that could start now.
    queued: u64,
    /// Jobs whose time has not come.
    delayed: u64,
    /// Jobs that wait for other jobs.
    waiting: u64,
    /// Jobs that wait for the turn of their tenant.
    parked: u64,
    /// Jobs that run.
    running: u64,
    /// Jobs that have ended and whose result is kept, the failed ones among them.
    ended: u64,
    /// Jobs that failed for good and are kept.
    failed: u64,
    /// How many workers have given a sign of life in the last minute.
    workers: u64,
    /// For how long the first job has been queued, in milliseconds.
    oldest_ms: Option<u64>,
}

impl Summary {
    fn of(stats: Stats, now_ms: u64) -> Summary {
        Summary {
            workers: stats.workers_alive(now_ms),
            queue: stats.queue,
            paused: stats.paused,
            queued: stats.queued,
            delayed: stats.delayed,
            waiting: stats.waiting,
            parked: stats.parked,
            running: stats.running,
            ended: stats.ended,
            failed: stats.failed,
            oldest_ms: stats.oldest_ms,
        }
    }
}

/// Lists the queues.
#[utoipa::path(get, path = "/queues", tag = "queues", operation_id = "listQueues", params(Pages),
    responses((status = OK, body = Queues)))]
pub(super) async fn list(
    State(app): State<Arc<App>>,
    Query(pages): Query<Pages>,
) -> Result<Json<Queues>, Problem> {
    let limit = pages.limit.unwrap_or(PAGE);
    if !(1..=PAGE_MAX).contains(&limit) {
        return Err(invalid("limit", format!("{limit}; give 1 to {PAGE_MAX}")));
    }
    let hive = &app.services.jobs().await?.hive;
    let mut names = hive.queues().await?;
    if let Some(cursor) = &pages.cursor {
        names.retain(|name| name.as_str() > cursor.as_str());
    }
    let is_last = names.len() <= limit;
    names.truncate(limit);
    let stats = try_join_all(names.iter().map(|name| hive.stats(name))).await?;
    let next = names.last().filter(|_| !is_last).map(ToString::to_string);
    let now = hive.now_ms();
    let queues = stats.into_iter().map(|stats| Summary::of(stats, now)).collect();
    Ok(Json(Queues { queues, next }))
}

/// Shows a queue: what it holds, who works on it, its limits, and the last hour minute by minute.
#[utoipa::path(get, path = "/queues/{queue}", tag = "queues", operation_id = "showQueue", params(("queue" = String, Path)),
    responses((status = OK, body = Stats)))]
pub(super) async fn show(
    State(app): State<Arc<App>>,
    Queue(queue): Queue,
) -> Result<Json<Stats>, Problem> {
    let hive = &app.services.jobs().await?.hive;
    hive.check_queue(&queue).await?;
    Ok(Json(hive.stats(&queue).await?))
}

/// Forgets a queue, its settings and its counters, if no job is in it.
#[utoipa::path(delete, path = "/queues/{queue}", tag = "queues", operation_id = "deleteQueue", params(("queue" = String, Path)),
    responses((status = NO_CONTENT)))]
pub(super) async fn delete(
    State(app): State<Arc<App>>,
    Queue(queue): Queue,
) -> Result<StatusCode, Problem> {
    let hive = &app.services.jobs().await?.hive;
    hive.check_queue(&queue).await?;
    hive.delete_queue(&queue).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Whether a queue is paused.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Paused {
    queue: String,
    paused: bool,
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct Creation {
    /// Whether the queue is made if there is none; otherwise an unknown one is refused.
    #[serde(default)]
    create: bool,
}

impl Creation {
    async fn check(&self, hive: &Hive, queue: &QueueName) -> Result<(), Problem> {
        if self.create { Ok(()) } else { Ok(hive.check_queue(queue).await?) }
    }
}

/// Lets no more jobs of a queue start. Those that run go on.
#[utoipa::path(post, path = "/queues/{queue}/pause", tag = "queues", operation_id = "pauseQueue", params(("queue" = String, Path), Creation),
    responses((status = OK, body = Paused)))]
pub(super) async fn pause(
    State(app): State<Arc<App>>,
    Queue(queue): Queue,
    Query(creation): Query<Creation>,
) -> Result<Json<Paused>, Problem> {
    let hive = &app.services.jobs().await?.hive;
    creation.check(hive, &queue).await?;
    hive.pause(&queue).await?;
    Ok(Json(Paused { queue: queue.to_string(), paused: true }))
}

/// Lets jobs of a queue start again.
#[utoipa::path(post, path = "/queues/{queue}/resume", tag = "queues", operation_id = "resumeQueue", params(("queue" = String, Path)),
    responses((status = OK, body = Paused)))]
pub(super) async fn resume(
    State(app): State<Arc<App>>,
    Queue(queue): Queue,
) -> Result<Json<Paused>, Problem> {
    let hive = &app.services.jobs().await?.hive;
    hive.check_queue(&queue).await?;
    hive.resume(&queue).await?;
    Ok(Json(Paused { queue: queue.to_string(), paused: false }))
}

/// Shows what limits a queue.
#[utoipa::path(get, path = "/queues/{queue}/limits", tag = "queues", operation_id = "showLimits", params(("queue" = String, Path)),
    responses((status = OK, body = Limits)))]
pub(super) async fn limits(
    State(app): State<Arc<App>>,
    Queue(queue): Queue,
) -> Result<Json<Limits>, Problem> {
    let hive = &app.services.jobs().await?.hive;
    hive.check_queue(&queue).await?;
    Ok(Json(hive.limits(&queue).await?))
}

/// Replaces all limits of a queue. What is left out is not limited.
#[utoipa::path(put, path = "/queues/{queue}/limits", tag = "queues", operation_id = "setLimits", params(("queue" = String, Path), Creation),
    request_body = Limits,
    responses((status = OK, body = Limits)))]
pub(super) async fn set_limits(
    State(app): State<Arc<App>>,
    Queue(queue): Queue,
    Query(creation): Query<Creation>,
    RawBody(body): RawBody,
) -> Result<Json<Limits>, Problem> {
    if body.is_empty() {
        // Elsewhere no body is an empty object, which here would take all limits away.
        return Err(invalid("body", "there is none; send {} to take all limits away"));
    }
    let limits: Limits = parse(&body)?;
    let hive = &app.services.jobs().await?.hive;
    creation.check(hive, &queue).await?;
    hive.set_limits(&queue, &limits).await?;
    Ok(Json(limits))
}
