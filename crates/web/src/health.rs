//! `/livez`, `/readyz` and `/ping`, for whoever restarts processes and routes requests.

use std::sync::Arc;

use axum::{
    Json,
    extract::State,
    http::StatusCode,
    response::{IntoResponse as _, Response},
};

use serde_json::json;

use crate::{App, Problem};

/// How soon to ask again; a store that restarts is back within seconds.
const RETRY_AFTER_S: u32 = 2;

/// The process runs and can answer.
pub(crate) async fn livez() -> &'static str {
    "ok\n"
}

/// The same for clients of the calculations, who have always asked for it here.
pub(crate) async fn ping() -> Json<serde_json::Value> {
    Json(json!({ "message": "pong" }))
}

/// The store takes writes too.
pub(crate) async fn readyz(State(app): State<Arc<App>>) -> Response {
    match app.probe().await {
        Ok(_) => "ok\n".into_response(),
        Err(reason) => Problem::new(StatusCode::SERVICE_UNAVAILABLE, "store_unavailable")
            .title("the store takes no writes")
            .detail(reason)
            .retry_after(RETRY_AFTER_S)
            .into_response(),
    }
}
