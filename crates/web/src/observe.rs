//! Counting and timing requests.

use std::{sync::Arc, time::Instant};

use axum::{
    extract::{MatchedPath, Request, State},
    http::Method,
    middleware::Next,
    response::Response,
};
use prometheus_client::{
    encoding::EncodeLabelSet,
    metrics::{counter::Counter, family::Family, histogram::Histogram},
    registry::Registry,
};

use crate::App;

/// What is known about requests since the start.
#[derive(Debug)]
pub(crate) struct Requests {
    registry: Registry,
    total: Family<RequestLabels, Counter>,
    seconds: Family<RouteLabels, Histogram, fn() -> Histogram>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RequestLabels {
    method: &'static str,
    route: String,
    status: u16,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RouteLabels {
    route: String,
}

/// From a page out of memory to a store that has to be waited for.
const SECONDS: [f64; 10] = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.1, 0.5, 2.0, 10.0];

impl Requests {
    pub(crate) fn new() -> Requests {
        let total = Family::default();
        let seconds: Family<_, _, fn() -> Histogram> =
            Family::new_with_constructor(|| Histogram::new(SECONDS));
        let mut registry = Registry::with_prefix("keyrack_http");
        registry.register("requests", "Requests answered", total.clone());
        registry.register("request_seconds", "Time to answer a request", seconds.clone());
        Requests { registry, total, seconds }
    }

    pub(crate) fn registry(&self) -> &Registry {
        &self.registry
    }

    fn add(&self, method: &Method, route: String, status: u16, seconds: f64) {
        self.seconds.get_or_create(&RouteLabels { route: route.clone() }).observe(seconds);
        let labels = RequestLabels { method: known(method), route, status };
        self.total.get_or_create(&labels).inc();
    }
}

/// Methods come from outside; there must not be a time series for every word somebody thinks of.
fn known(method: &Method) -> &'static str {
    match method.as_str() {
        "GET" => "GET",
        "HEAD" => "HEAD",
        "POST" => "POST",
        "PUT" => "PUT",
        "PATCH" => "PATCH",
        "DELETE" => "DELETE",
        "OPTIONS" => "OPTIONS",
        _ => "other",
    }
}

/// Passes a request on, and notes what came of it under its route, not its path.
pub(crate) async fn observe(State(app): State<Arc<App>>, request: Request, next: Next) -> Response {
    let started = Instant::now();
    let method = request.method().clone();
    let path = request.uri().path().to_owned();
    let route = request.extensions().get::<MatchedPath>().map(|route| route.as_str().to_owned());
    let response = next.run(request).await;
    let (elapsed, status) = (started.elapsed(), response.status().as_u16());
    let route = route.unwrap_or_else(|| "none".into());
    app.requests.add(&method, route, status, elapsed.as_secs_f64());
    tracing::debug!(%method, path, status, ?elapsed, "request");
    response
}
