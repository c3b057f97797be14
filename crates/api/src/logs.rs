//! The logs of jobs: read, followed live, and written by workers in any language.

use std::sync::Arc;

use axum::{Json, extract::State, http::StatusCode, response::Response};
use keyrack_jobs::bee::logs::{LOG_LINES_MAX, LogFollower, LogLevel, LogPage, NewLogLine};
use keyrack_web::{
    App, Problem,
    error::invalid,
    extract::{Body, Job, Query},
    stream::{Source, StreamEvent, stream},
};
use serde::Deserialize;
use utoipa::{IntoParams, ToSchema};

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct LogQuery {
    /// The number of the first line: the `next` of the page before. Default: the oldest line.
    from: Option<u64>,
    /// The most lines to return, 1 to 1,000. Default: 1,000.
    limit: Option<usize>,
}

/// Shows the log of a job, oldest line first. The newest 1,000 lines, of at most 256 KiB, are kept as long as the job.
#[utoipa::path(get, path = "/jobs/{jid}/logs", tag = "jobs", operation_id = "showLogs",
    params(("jid" = String, Path), LogQuery),
    responses((status = OK, body = LogPage)))]
pub(super) async fn show(
    State(app): State<Arc<App>>,
    Job(jid): Job,
    Query(query): Query<LogQuery>,
) -> Result<Json<LogPage>, Problem> {
    let limit = query.limit.unwrap_or(LOG_LINES_MAX);
    if !(1..=LOG_LINES_MAX).contains(&limit) {
        return Err(invalid("limit", format!("{limit}; give 1 to {LOG_LINES_MAX}")));
    }
    let hive = &app.services.jobs().await?.hive;
    let page = hive.log(&jid, query.from.unwrap_or(0), limit).await?;
    if page.next == 0 && page.dropped == 0 {
        // A job without a log, or no job.
        hive.job(&jid).await?;
    }
    Ok(Json(page))
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct FollowQuery {
    /// The number of the first line. Default: the oldest line.
    from: Option<u64>,
}

/// Streams the log of a job as server-sent events, until the job has ended.
///
/// Each event has the type `lines` and holds new lines. A client that reconnects gives the last `next` as `from`.
#[utoipa::path(get, path = "/jobs/{jid}/logs/events", tag = "jobs", operation_id = "logEvents",
    params(("jid" = String, Path), FollowQuery),
    responses(
        (status = OK, body = LogPage, content_type = "text/event-stream", description = "The data of each event"),
    ))]
pub(super) async fn follow(
    State(app): State<Arc<App>>,
    Job(jid): Job,
    Query(query): Query<FollowQuery>,
) -> Result<Response, Problem> {
    let permit = app.permit_to_wait()?;
    let hive = &app.services.jobs().await?.hive;
    hive.job(&jid).await?;
    let lines = Lines { follower: hive.follow_log(&jid, query.from.unwrap_or(0)).await? };
    Ok(stream(app, permit, lines))
}

struct Lines {
    follower: LogFollower,
}

impl Source for Lines {
    const HAS_IDS: bool = false;

    async fn next(&mut self) -> Option<StreamEvent> {
        // An unreachable store ends the stream; the client reconnects.
        let page = self.follower.next().await.ok().flatten()?;
        let data = serde_json::to_string(&page).unwrap_or_default();
        Some(StreamEvent::Event { kind: "lines", data })
    }
}

/// Lines of an attempt.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Logging {
    /// The attempt that wrote the lines, 1 or more. It may be over, but it must have begun.
    attempt: u64,
    /// The lines, oldest first, at most 1,000.
    lines: Vec<Logged>,
}

/// A line.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Logged {
    /// When it was written, in unix milliseconds. Default: now.
    at: Option<u64>,
    /// Its level. Default: `info`.
    #[serde(default)]
    level: LogLevel,
    /// Its text. Bytes after the first 4,096 are cut off.
    text: String,
}

/// Adds lines to the log of a job.
#[utoipa::path(post, path = "/jobs/{jid}/logs", tag = "worker", operation_id = "writeLogs", params(("jid" = String, Path)),
    request_body = Logging,
    responses((status = NO_CONTENT)))]
pub(super) async fn write(
    State(app): State<Arc<App>>,
    Job(jid): Job,
    Body(Logging { attempt, lines }): Body<Logging>,
) -> Result<StatusCode, Problem> {
    let n_lines = lines.len();
    if !(1..=LOG_LINES_MAX).contains(&n_lines) {
        return Err(invalid("lines", format!("{n_lines} of them; give 1 to {LOG_LINES_MAX}")));
    }
    if attempt == 0 {
        return Err(invalid("attempt", "0; give the attempt of the claimed job, 1 or more"));
    }
    let hive = &app.services.jobs().await?.hive;
    let now_ms = hive.now_ms();
    let line = |Logged { at, level, text }| NewLogLine { at: at.unwrap_or(now_ms), level, text };
    let lines: Vec<NewLogLine> = lines.into_iter().map(line).collect();
    hive.write_log(&jid, attempt, &lines).await?;
    Ok(StatusCode::NO_CONTENT)
}
