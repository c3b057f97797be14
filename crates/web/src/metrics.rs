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
    match text(&app).await {
        Ok(text) => ([(header::CONTENT_TYPE, TYPE)], text).into_response(),
        Err(_) => {
            Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "metrics_not_encoded").into_response()
        }
    }
}

async fn text(app: &App) -> Result<String, std::fmt::Error> {
    let snapshot = Snapshot::take(app).await.registry();
    let mut text = String::new();
    encode_registry(&mut text, app.requests.registry())?;
    encode_registry(&mut text, &snapshot)?;
    encode_eof(&mut text)?;
    Ok(text)
}

/// Has the exporter of the process, if it has one, send these metrics too.
pub fn export(app: &Arc<App>) {
    let app = Arc::downgrade(app);
    keyrack_trace::export_metrics(Box::new(move || {
        let app = app.upgrade();
        Box::pin(async move {
            match app {
                Some(app) => text(&app).await.unwrap_or_default(),
                None => String::new(),
            }
        })
    }));
}
