//! What runs by the calendar: looking at it and steering it. `define` creates, changes and deletes at run time; `calendar` tells the next
//! runs.

mod calendar;
mod define;

use std::sync::Arc;

use axum::{
    Json,
    extract::{FromRequestParts, State},
    http::request::Parts,
};
use keyrack_identity::Role::{Operator, Viewer};
use keyrack_jobs::recurring::{self, Draft, ListState, Listed, Source, Target};
use keyrack_web::{App, Problem, access::Permission, extract::segment};
use serde::Serialize;
use utoipa::ToSchema;
use utoipa_axum::routes;

use crate::routes::Routes;

/// The routes about recurring jobs.
pub(super) fn router() -> Routes {
    Routes::default()
        .add(Permission::read(Viewer), routes!(list))
        .add(Permission::change(Operator, "recurring_created"), routes!(define::create))
        .add(Permission::read(Viewer), routes!(define::show))
        .add(Permission::change(Operator, "recurring_changed"), routes!(define::change))
        .add(Permission::change(Operator, "recurring_deleted"), routes!(define::delete))
        .add(Permission::change(Operator, "recurring_run"), routes!(run))
        .add(Permission::change(Operator, "recurring_paused"), routes!(pause))
        .add(Permission::change(Operator, "recurring_resumed"), routes!(resume))
        .add(Permission::read(Viewer), routes!(calendar::calendar))
}

/// The recurring jobs that this server knows of.
#[derive(Debug, Serialize, ToSchema)]
struct RecurringJobs {
    /// Whether those of the settings are what runs: `in_force`, `no_list` while no scheduler has started, `other_list` if the
    /// store has another list. Those of the store always run.
    state: &'static str,
    /// Those of the settings in their order, then those of the store by name.
    jobs: Vec<RecurringJob>,
    /// Names of jobs in the store whose definitions this server cannot read. A newer one may have written them.
    unreadable: Vec<String>,
}

/// A recurring job.
#[derive(Debug, Serialize, ToSchema)]
struct RecurringJob {
    /// The name by which workers know it.
    name: String,
    /// Where it is defined: `settings`, or `store` if it was at run time.
    defined_in: &'static str,
    /// The Bee queue that it is put into; without one it goes to the hot queue.
    queue: Option<String>,
    /// When it runs, in words.
    schedule: String,
    /// The cron expression by which it runs, if it does by one.
    cron: Option<String>,
    /// Its time zone, if it has one.
    zone: Option<String>,
    /// When it is due next, in unix milliseconds.
    next_run_at: Option<i64>,
    /// Whether it is paused.
    paused: bool,
    /// The version of a job of the store, to be named by a change.
    version: Option<u64>,
    /// When a job of the store was created, in unix milliseconds.
    created_at: Option<u64>,
    /// When a job of the store was last changed, in unix milliseconds.
    changed_at: Option<u64>,
    /// The digest by which the store knows a job of the settings.
    digest: Option<String>,
    /// All of its definition.
    definition: Draft,
}

impl From<Listed> for RecurringJob {
    fn from(listed: Listed) -> RecurringJob {
        let definition = &listed.definition;
        let draft = Draft::from(definition);
        let (defined_in, created_at, changed_at) = match listed.source {
            Source::List { .. } => ("settings", None, None),
            Source::Store { created_at, changed_at, .. } => {
                ("store", Some(created_at), Some(changed_at))
            }
        };
        RecurringJob {
            name: definition.name().to_owned(),
            defined_in,
            queue: queue(definition.target()),
            schedule: definition.schedule().to_string(),
            cron: draft.cron.clone(),
            zone: draft.zone.clone(),
            next_run_at: listed.next_run.map(|at| at.as_millisecond()),
            paused: listed.paused,
            version: listed.version(),
            created_at,
            changed_at,
            digest: listed.digest().map(str::to_owned),
            definition: draft,
        }
    }
}

fn queue(target: &Target) -> Option<String> {
    match target {
        Target::Bee(queue) => Some(queue.to_string()),
        Target::Hot => None,
    }
}

/// The recurring job in the path of a request.
struct Name(String);

impl FromRequestParts<Arc<App>> for Name {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &Arc<App>) -> Result<Name, Problem> {
        segment(parts, app).await.map(Name)
    }
}

/// Lists the recurring jobs with their next runs.
#[utoipa::path(get, path = "/recurring", tag = "recurring", operation_id = "listRecurring",
    responses((status = OK, body = RecurringJobs)))]
async fn list(State(app): State<Arc<App>>) -> Result<Json<RecurringJobs>, Problem> {
    let listing = app.services.recurring().await?.list().await?;
    let state = match listing.state {
        ListState::InForce => "in_force",
        ListState::NoList => "no_list",
        ListState::OtherList(_) => "other_list",
    };
    let jobs = listing.jobs.into_iter().map(Into::into).collect();
    let unreadable = listing.unreadable.into_iter().map(|(name, _)| name).collect();
    Ok(Json(RecurringJobs { state, jobs, unreadable }))
}

/// What was done to the recurring jobs of a name.
#[derive(Debug, Serialize, ToSchema)]
struct Steered {
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
async fn run(State(app): State<Arc<App>>, Name(name): Name) -> Result<Json<Steered>, Problem> {
    let queued = app.services.recurring().await?.run_now(&name).await?;
    Ok(Json(Steered { name, queued: Some(queued), paused: None }))
}

/// Skips the runs of the recurring jobs of a name until they are resumed.
#[utoipa::path(post, path = "/recurring/{name}/pause", tag = "recurring", operation_id = "pauseRecurring", params(("name" = String, Path)),
    responses((status = OK, body = Steered)))]
async fn pause(State(app): State<Arc<App>>, Name(name): Name) -> Result<Json<Steered>, Problem> {
    app.services.recurring().await?.pause(&name).await?;
    Ok(Json(Steered { name, queued: None, paused: Some(true) }))
}

/// Lets the recurring jobs of a name run again.
#[utoipa::path(post, path = "/recurring/{name}/resume", tag = "recurring", operation_id = "resumeRecurring", params(("name" = String, Path)),
    responses((status = OK, body = Steered)))]
async fn resume(State(app): State<Arc<App>>, Name(name): Name) -> Result<Json<Steered>, Problem> {
    app.services.recurring().await?.resume(&name).await?;
    Ok(Json(Steered { name, queued: None, paused: Some(false) }))
}

/// The recurring job of a name as it is listed: that of the store if there is one.
async fn listed(app: &App, name: &str) -> Result<RecurringJob, Problem> {
    let listing = app.services.recurring().await?.list().await?;
    let of_name = listing.jobs.into_iter().filter(|job| job.definition.name() == name);
    let found = of_name.max_by_key(|job| job.version());
    let missing = || recurring::Error::NoSuchJob { name: name.to_owned() };
    Ok(found.ok_or_else(missing)?.into())
}
