//! `/metrics`, as Prometheus reads it.

mod entitlements;
mod jobs;
mod lint;
mod process;
mod queue;
mod snapshot;
mod survey;
mod times;

use std::sync::Arc;

use axum::{
    extract::State,
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse as _, Response},
};
use prometheus_client::encoding::text::{encode_eof, encode_registry};

use self::snapshot::Snapshot;
pub use self::survey::MetricsQueues;
pub(crate) use self::survey::Surveyor;
use crate::{App, Problem};

const TYPE: HeaderValue =
    HeaderValue::from_static("application/openmetrics-text; version=1.0.0; charset=utf-8");

/// Everything that can be measured: requests since the start, and a snapshot of process and store.
pub(crate) async fn metrics(State(app): State<Arc<App>>) -> Response {
    let snapshot = Snapshot::take(&app).await.registry();
    let mut text = String::new();
    let encoded = encode_registry(&mut text, app.requests.registry())
        .and_then(|()| encode_registry(&mut text, &snapshot))
        .and_then(|()| encode_eof(&mut text));
    match encoded {
        Ok(()) => ([(header::CONTENT_TYPE, TYPE)], text).into_response(),
        Err(_) => {
            Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "metrics_not_encoded").into_response()
        }
    }
}
