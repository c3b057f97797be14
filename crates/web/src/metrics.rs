//! `/metrics`, as Prometheus reads it.
//!
//! Everything is written as text. `protobuf` makes messages of that text, and `native` adds what text cannot tell. `accept` says
//! who gets which.

mod accept;
mod entitlements;
mod jobs;
mod lint;
mod native;
mod process;
mod protobuf;
mod queue;
mod snapshot;
mod survey;
mod times;

use std::sync::Arc;

use axum::{
    extract::State,
    http::{HeaderMap, HeaderValue, StatusCode, header},
    response::{IntoResponse as _, Response},
};
use prometheus_client::encoding::text::{encode_eof, encode_registry};

pub use self::survey::MetricsQueues;
pub(crate) use self::survey::Surveyor;
use self::{accept::Form, snapshot::Snapshot};
use crate::{App, Problem};

const TEXT: HeaderValue =
    HeaderValue::from_static("application/openmetrics-text; version=1.0.0; charset=utf-8");
const PROTOBUF: HeaderValue = HeaderValue::from_static(
    "application/vnd.google.protobuf; proto=io.prometheus.client.MetricFamily; encoding=delimited",
);
const VARY: HeaderValue = HeaderValue::from_static("accept");

/// Everything that can be measured: requests since the start, and a snapshot of process and store.
pub(crate) async fn metrics(State(app): State<Arc<App>>, headers: HeaderMap) -> Response {
    let snapshot = Snapshot::take(&app).await;
    let Ok(text) = text(&app, &snapshot) else {
        let status = StatusCode::INTERNAL_SERVER_ERROR;
        return Problem::new(status, "metrics_not_encoded").into_response();
    };
    let (kind, body) = match Form::asked(&headers) {
        Form::Text => (TEXT, text.into_bytes()),
        Form::Protobuf => (PROTOBUF, protobuf::encode(&text, &snapshot.native_histograms())),
    };
    ([(header::CONTENT_TYPE, kind), (header::VARY, VARY)], body).into_response()
}

fn text(app: &App, snapshot: &Snapshot) -> Result<String, std::fmt::Error> {
    let mut text = String::new();
    encode_registry(&mut text, app.requests.registry())?;
    encode_registry(&mut text, &snapshot.registry())?;
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
                Some(app) => text(&app, &Snapshot::take(&app).await).unwrap_or_default(),
                None => String::new(),
            }
        })
    }));
}
