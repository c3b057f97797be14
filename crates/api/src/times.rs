//! How much happens in a queue, and how long it takes.

use std::sync::Arc;

use axum::{Json, extract::State};
use keyrack_jobs::bee::times::{Resolution, Times, TimesQuery};
use keyrack_web::{
    App, Problem,
    extract::{Query, Queue},
};
use serde::Deserialize;
use utoipa::IntoParams;

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct Stretch {
    /// The beginning in unix milliseconds; a day before `to` unless set.
    from: Option<u64>,
    /// The end in unix milliseconds; now unless set.
    to: Option<u64>,
    /// How long a record is: `minute` (kept for a day), `quarter` of an hour (7 days) or `hour` (90 days). Unless set: minutes for
    /// up to 3 hours, quarters for up to 2 days, else hours.
    resolution: Option<Resolution>,
}

/// Tells how much happened in a queue, and how long jobs waited and ran: counts and histograms by time, and the slowest attempts.
#[utoipa::path(get, path = "/queues/{queue}/times", tag = "queues", operation_id = "showTimes",
    params(("queue" = String, Path), Stretch),
    responses((status = OK, body = Times)))]
pub(super) async fn show(
    State(app): State<Arc<App>>,
    Queue(queue): Queue,
    Query(stretch): Query<Stretch>,
) -> Result<Json<Times>, Problem> {
    let hive = &app.services.jobs().await?.hive;
    hive.check_queue(&queue).await?;
    let Stretch { from, to, resolution } = stretch;
    Ok(Json(hive.times(&queue, &TimesQuery { from, to, resolution }).await?))
}
