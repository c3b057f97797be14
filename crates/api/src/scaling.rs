//! How many workers a queue needs.

use std::sync::Arc;

use axum::{Json, extract::State};
use keyrack_jobs::bee::Scaling;
use keyrack_web::{
    App, Problem,
    extract::{Query, Queue},
};
use serde::Deserialize;
use utoipa::IntoParams;

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct Target {
    /// Within how many milliseconds 95 % of the jobs are to start; as the queue says unless set, or a minute.
    wait_target_ms: Option<u64>,
}

/// Tells how many workers a queue needs so that 95 % of its jobs start in time, and from what that follows.
#[utoipa::path(get, path = "/queues/{queue}/scaling", tag = "queues", operation_id = "showScaling",
    params(("queue" = String, Path), Target),
    responses((status = OK, body = Scaling)))]
pub(super) async fn show(
    State(app): State<Arc<App>>,
    Queue(queue): Queue,
    Query(Target { wait_target_ms }): Query<Target>,
) -> Result<Json<Scaling>, Problem> {
    let hive = &app.services.jobs().await?.hive;
    hive.check_queue(&queue).await?;
    Ok(Json(hive.scaling(&queue, wait_target_ms).await?))
}
