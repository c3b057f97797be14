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
    /// The time in milliseconds within which 95 % of the jobs should start. Default: the queue's limit `wait_target_ms`, or 60,000.
    wait_target_ms: Option<u64>,
}

/// Shows how many workers a queue needs so that 95 % of its jobs start in time, and the figures behind it.
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
