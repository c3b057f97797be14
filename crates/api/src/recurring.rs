//! What runs by the calendar.

use std::sync::Arc;

use axum::{
    Json,
    extract::{FromRequestParts, State},
    http::request::Parts,
};
use keyrack_jobs::recurring::{ListState, Listed, Schedule, Target};
use keyrack_web::{App, Problem, extract::segment};
use serde::Serialize;
use utoipa::ToSchema;

/// The recurring jobs that this server knows of.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct RecurringJobs {
    /// Whether they are what runs: `in_force`, `no_list` while no scheduler has started, `other_list` if the store has
    /// another list.
    state: &'static str,
    /// The jobs, in the order of their definitions.
    jobs: Vec<RecurringJob>,
}

/// A recurring job.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct RecurringJob {
    /// The name by which workers know it.
    name: String,
    /// The Bee queue that it is put into; without one it goes to the hot queue.
    queue: Option<String>,
    /// The cron expression by which it runs, if it does by one.
    cron: Option<String>,
    /// Its time zone.
    zone: String,
    /// When it is due next, in unix milliseconds.
    next_run_at: Option<i64>,
    /// Whether it is paused.
    paused: bool,
    /// The digest by which the store knows it.
    digest: String,
}

impl From<Listed> for RecurringJob {
    fn from(listed: Listed) -> RecurringJob {
        let definition = &listed.definition;
        let (cron, zone) = match definition.schedule() {
            Schedule::Cron(cron) => (Some(cron.expression().to_owned()), cron.zone_name()),
            Schedule::Interval(interval) => (None, interval.zone_name()),
        };
        RecurringJob {
            name: definition.name().to_owned(),
            queue: match definition.target() {
                Target::Bee(queue) => Some(queue.to_string()),
                Target::Hot => None,
            },
            zone: zone.to_owned(),
            cron,
            next_run_at: listed.next_run.map(|at| at.as_millisecond()),
            paused: listed.paused,
            digest: listed.digest,
        }
    }
}

/// The recurring job in the path of a request.
pub(super) struct Name(String);

impl FromRequestParts<Arc<App>> for Name {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &Arc<App>) -> Result<Name, Problem> {
        segment(parts, app).await.map(Name)
    }
}

/// Lists the recurring jobs with their next runs.
#[utoipa::path(get, path = "/recurring", tag = "recurring", operation_id = "listRecurring",
    responses((status = OK, body = RecurringJobs)))]
pub(super) async fn list(State(app): State<Arc<App>>) -> Result<Json<RecurringJobs>, Problem> {
    let listing = app.services.recurring().await?.list().await?;
    let state = match listing.state {
        ListState::InForce => "in_force",
        ListState::NoList => "no_list",
        ListState::OtherList(_) => "other_list",
    };
    Ok(Json(RecurringJobs { state, jobs: listing.jobs.into_iter().map(Into::into).collect() }))
}

/// What was done to the recurring jobs of a name.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Steered {
    name: String,
    /// How many jobs were queued, if they were to run.
    #[serde(skip_serializing_if = "Option::is_none")]
    queued: Option<usize>,
    /// Whether they are paused, if that was changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    paused: Option<bool>,
}

/// Queues the recurring jobs of a name now. Their schedule stays as it is.
#[utoipa::path(post, path = "/recurring/{name}/run", tag = "recurring", operation_id = "runRecurring", params(("name" = String, Path)),
    responses((status = OK, body = Steered)))]
pub(super) async fn run(
    State(app): State<Arc<App>>,
    Name(name): Name,
) -> Result<Json<Steered>, Problem> {
    let queued = app.services.recurring().await?.run_now(&name).await?;
    Ok(Json(Steered { name, queued: Some(queued), paused: None }))
}

/// Skips the runs of the recurring jobs of a name until they are resumed.
#[utoipa::path(post, path = "/recurring/{name}/pause", tag = "recurring", operation_id = "pauseRecurring", params(("name" = String, Path)),
    responses((status = OK, body = Steered)))]
pub(super) async fn pause(
    State(app): State<Arc<App>>,
    Name(name): Name,
) -> Result<Json<Steered>, Problem> {
    app.services.recurring().await?.pause(&name).await?;
    Ok(Json(Steered { name, queued: None, paused: Some(true) }))
}

/// Lets the recurring jobs of a name run again.
#[utoipa::path(post, path = "/recurring/{name}/resume", tag = "recurring", operation_id = "resumeRecurring", params(("name" = String, Path)),
    responses((status = OK, body = Steered)))]
pub(super) async fn resume(
    State(app): State<Arc<App>>,
    Name(name): Name,
) -> Result<Json<Steered>, Problem> {
    app.services.recurring().await?.resume(&name).await?;
    Ok(Json(Steered { name, queued: None, paused: Some(false) }))
}
