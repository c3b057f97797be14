//! Counting and timing requests.

use std::{sync::Arc, time::Instant};

use axum::{
    extract::{MatchedPath, Request, State},
    http::{HeaderMap, Method, StatusCode},
    middleware::Next,
    response::Response,
};
use keyrack_trace::{Kind, Span, TraceContext};
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

/// What is asked all the time by machines.
const UNTRACED: [&str; 4] = ["/livez", "/readyz", "/ping", "/metrics"];

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

/// The trace of a request: its own span while the server exports spans, otherwise what its headers say.
struct RequestTrace {
    asked: Option<TraceContext>,
    span: Option<Span>,
}

impl RequestTrace {
    fn begin(request: &Request, method: &'static str, route: Option<&str>) -> RequestTrace {
        let asked = asked_trace(request.headers());
        // Nobody asks what becomes of pages that do not exist, health and metrics.
        let route = route.filter(|route| !UNTRACED.contains(route));
        let span = route.filter(|_| keyrack_trace::is_exporting()).and_then(|route| {
            let name = format!("{method} {route}");
            let mut span = Span::start_in(asked.as_ref(), name, Kind::Server)?;
            span.set("http.request.method", method);
            span.set("http.route", route.to_owned());
            span.set("url.path", request.uri().path().to_owned());
            Some(span)
        });
        RequestTrace { asked, span }
    }

    /// In which the request is answered.
    fn context(&self) -> Option<TraceContext> {
        self.span.as_ref().map(|span| span.context().clone()).or_else(|| self.asked.clone())
    }

    fn end(&mut self, status: StatusCode) {
        let Some(mut span) = self.span.take() else { return };
        span.set("http.response.status_code", u64::from(status.as_u16()));
        if status.is_server_error() {
            span.set("error.type", status.as_str().to_owned());
            span.fail(status.canonical_reason().unwrap_or_default());
        }
    }
}

/// The trace of the caller. There is one `traceparent`; a list of `tracestate` may come in several headers.
fn asked_trace(headers: &HeaderMap) -> Option<TraceContext> {
    let texts = |name| headers.get_all(name).iter().filter_map(|value| value.to_str().ok());
    let mut parents = texts("traceparent");
    let parent = parents.next().filter(|_| parents.next().is_none())?;
    let state = texts("tracestate").collect::<Vec<_>>().join(",");
    TraceContext::from_headers(parent, Some(&state))
}

/// Passes a request on, and notes what came of it under its route, not its path.
pub(crate) async fn observe(State(app): State<Arc<App>>, request: Request, next: Next) -> Response {
    let started = Instant::now();
    let method = request.method().clone();
    let path = request.uri().path().to_owned();
    let route = request.extensions().get::<MatchedPath>().map(|route| route.as_str().to_owned());
    let mut trace = RequestTrace::begin(&request, known(&method), route.as_deref());
    let response = keyrack_trace::within(trace.context(), next.run(request)).await;
    trace.end(response.status());
    let (elapsed, status) = (started.elapsed(), response.status().as_u16());
    let route = route.unwrap_or_else(|| "none".into());
    app.requests.add(&method, route, status, elapsed.as_secs_f64());
    tracing::debug!(%method, path, status, ?elapsed, "request");
    response
}
