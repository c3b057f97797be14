//! Single jobs, and looking through those of a queue.

use std::sync::Arc;

use axum::{Json, extract::State};
use keyrack_jobs::bee::{Change, Filter, JobState, PAGE_MAX, Why, keys::Tag};
use keyrack_web::{
    App, Problem,
    error::{bad_name, invalid},
    extract::{Body, Job, Query, Queue},
};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::{bulk::nothing_to_change, view::JobView, wait};

/// Jobs on a page, unless asked for more.
const PAGE: usize = 50;

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct JobsQuery {
    /// Where the jobs are.
    place: JobState,
    /// Text that is in their data, their id or one of their tags.
    text: Option<String>,
    /// A tag that they have.
    tag: Option<String>,
    /// The group of failures that their last failed attempt is in.
    error: Option<String>,
    /// The `next` of the page before.
    cursor: Option<String>,
    /// How many to show: 1 to 500, and 50 unless said otherwise.
    limit: Option<usize>,
}

/// Some jobs of a queue.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Jobs {
    /// The jobs. A search looks at a bounded number of them, so this may be short or empty although there is a next page.
    jobs: Vec<JobView>,
    /// What to ask for the next page with; without one, this was the last.
    next: Option<String>,
}

/// Looks through the jobs of a queue.
#[utoipa::path(get, path = "/queues/{queue}/jobs", tag = "jobs", operation_id = "listJobs", params(("queue" = String, Path), JobsQuery),
    responses((status = OK, body = Jobs)))]
pub(super) async fn list(
    State(app): State<Arc<App>>,
    Queue(queue): Queue,
    Query(query): Query<JobsQuery>,
) -> Result<Json<Jobs>, Problem> {
    let limit = query.limit.unwrap_or(PAGE);
    if !(1..=PAGE_MAX).contains(&limit) {
        return Err(invalid("limit", format!("{limit}; give 1 to {PAGE_MAX}")));
    }
    let hive = &app.services.jobs().await?.hive;
    hive.check_queue(&queue).await?;
    let JobsQuery { place, text, tag, error, cursor, .. } = query;
    let filter = Filter { place, text, tag, error };
    let page = hive.list(&queue, &filter, cursor.as_deref(), limit).await?;
    Ok(Json(Jobs { jobs: page.jobs.into_iter().map(Into::into).collect(), next: page.next }))
}

/// Shows a job.
#[utoipa::path(get, path = "/jobs/{jid}", tag = "jobs", operation_id = "showJob", params(("jid" = String, Path)),
    responses((status = OK, body = JobView)))]
pub(super) async fn show(
    State(app): State<Arc<App>>,
    Job(jid): Job,
) -> Result<Json<JobView>, Problem> {
    Ok(Json(app.services.jobs().await?.hive.job(&jid).await?.into()))
}

/// The jobs that were canceled.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Canceled {
    /// Their ids, the job's own last.
    canceled: Vec<String>,
}

/// Cancels a job, whatever it is doing, and the jobs that it has submitted. One that has ended loses its result.
#[utoipa::path(delete, path = "/jobs/{jid}", tag = "jobs", operation_id = "cancelJob", params(("jid" = String, Path)),
    responses((status = OK, body = Canceled)))]
pub(super) async fn cancel(
    State(app): State<Arc<App>>,
    Job(jid): Job,
) -> Result<Json<Canceled>, Problem> {
    let canceled = app.services.jobs().await?.hive.cancel(&jid).await?;
    Ok(Json(Canceled { canceled }))
}

/// Lets a job that failed, was canceled or has expired run again from the start.
#[utoipa::path(post, path = "/jobs/{jid}/retry", tag = "jobs", operation_id = "retryJob", params(("jid" = String, Path)),
    responses((status = OK, body = JobView)))]
pub(super) async fn retry(
    State(app): State<Arc<App>>,
    Job(jid): Job,
) -> Result<Json<JobView>, Problem> {
    let hive = &app.services.jobs().await?.hive;
    hive.retry(&jid).await?;
    Ok(Json(hive.job(&jid).await?.into()))
}

/// Changes a job that waits: when it runs, its priority, arguments, options or queue. A job that runs, was just taken by a
/// worker or has ended is refused with 409, and nothing about it is changed.
#[utoipa::path(post, path = "/jobs/{jid}/change", tag = "jobs", operation_id = "changeJob", params(("jid" = String, Path)), request_body = Change,
    responses((status = OK, body = JobView)))]
pub(super) async fn change(
    State(app): State<Arc<App>>,
    Job(jid): Job,
    Body(change): Body<Change>,
) -> Result<Json<JobView>, Problem> {
    if change.is_empty() {
        return Err(nothing_to_change());
    }
    let hive = &app.services.jobs().await?.hive;
    hive.change_job(&jid, &change).await?;
    Ok(Json(hive.job(&jid).await?.into()))
}

/// Tells why a job is not running yet, and when it may.
#[utoipa::path(get, path = "/jobs/{jid}/why", tag = "jobs", operation_id = "why", params(("jid" = String, Path)),
    responses((status = OK, body = Why)))]
pub(super) async fn why(State(app): State<Arc<App>>, Job(jid): Job) -> Result<Json<Why>, Problem> {
    Ok(Json(app.services.jobs().await?.hive.why(&jid).await?))
}

/// The words by which a job is found.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Tags {
    tags: Vec<String>,
}

/// Replaces the tags of a job.
#[utoipa::path(put, path = "/jobs/{jid}/tags", tag = "jobs", operation_id = "setTags", params(("jid" = String, Path)), request_body = Tags,
    responses((status = OK, body = Tags)))]
pub(super) async fn set_tags(
    State(app): State<Arc<App>>,
    Job(jid): Job,
    Body(Tags { tags }): Body<Tags>,
) -> Result<Json<Tags>, Problem> {
    let names: Vec<Tag> = tags
        .iter()
        .map(|tag| Tag::new(tag.as_str()).map_err(|error| bad_name(&error).field("tags")))
        .collect::<Result<_, _>>()?;
    app.services.jobs().await?.hive.set_tags(&jid, &names).await?;
    Ok(Json(Tags { tags }))
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct WaitQuery {
    /// How many seconds to wait for the end of the job, at most 60.
    wait_s: Option<f64>,
}

/// A job, and whether it has ended.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Outcome {
    /// Whether it has.
    ended: bool,
    /// The job; if it is the duplicate of another, that one.
    job: JobView,
}

/// Waits until a job has ended, or as long as asked to.
#[utoipa::path(get, path = "/jobs/{jid}/outcome", tag = "jobs", operation_id = "outcome", params(("jid" = String, Path), WaitQuery),
    responses((status = OK, body = Outcome)))]
pub(super) async fn outcome(
    State(app): State<Arc<App>>,
    Job(jid): Job,
    Query(query): Query<WaitQuery>,
) -> Result<Json<Outcome>, Problem> {
    let query = wait::time(query.wait_s)?;
    let hive = &app.services.jobs().await?.hive;
    let ended = {
        let _permit = app.permit_to_wait()?;
        tokio::select! {
            ended = hive.outcome(&jid, query) => ended?,
            () = app.stopped() => None,
        }
    };
    Ok(Json(match ended {
        Some(job) => Outcome { ended: true, job: job.into() },
        None => Outcome { ended: false, job: hive.job(&jid).await?.into() },
    }))
}
