//! Finding jobs by their tags.

use std::sync::Arc;

use axum::{Json, extract::State};
use keyrack_jobs::bee::keys::{QueueName, Tag};
use keyrack_web::{
    App, Problem,
    error::{bad_name, invalid},
    extract::Query,
};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

/// The most ids that are told.
const FOUND_MAX: usize = 1000;

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct Tags {
    /// A tag; give it several times to find jobs that have all of them.
    #[serde(default)]
    tag: Vec<String>,
    /// A queue of the group to search. Only on a cluster that makes a difference: there, jobs of `mail/send` are not found
    /// among those of `emails`.
    queue: Option<String>,
}

/// The jobs that were found.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Found {
    /// Their ids, at most 1,000.
    jids: Vec<String>,
    /// How many there are.
    total: u64,
}

/// Finds the jobs that have all of these tags.
#[utoipa::path(get, path = "/jobs/search", tag = "jobs", operation_id = "searchJobs", params(Tags),
    responses((status = OK, body = Found)))]
pub(super) async fn search(
    State(app): State<Arc<App>>,
    Query(Tags { tag, queue }): Query<Tags>,
) -> Result<Json<Found>, Problem> {
    if tag.is_empty() {
        return Err(invalid("tag", "missing; give at least one"));
    }
    let tags: Vec<Tag> = tag
        .into_iter()
        .map(|tag| Tag::new(tag).map_err(|error| bad_name(&error).field("tag")))
        .collect::<Result<_, _>>()?;
    // Any queue without a slash stands for the group of all of those.
    let queue = QueueName::new(queue.unwrap_or_else(|| "any".into()))
        .map_err(|error| bad_name(&error).field("queue"))?;
    let hive = &app.services.jobs().await?.hive;
    let (jids, total) = hive.search_some(&queue.group(), &tags, FOUND_MAX).await?;
    Ok(Json(Found { jids, total }))
}
