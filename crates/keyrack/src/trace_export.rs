//! Sends the traces of this process to a collector, if the settings name one.

use std::{env, time::Duration};

use keyrack_trace::{
    TraceContext,
    otlp::{self, Endpoint, Exporter},
};

use crate::{
    Exit, Failure,
    settings::{OTLP_ENDPOINT, Settings},
};

/// How long the end of a command waits for the collector to take the last spans.
pub(crate) const FINISH_WITHIN: Duration = Duration::from_secs(1);

/// Begins to send. Call it within the runtime.
pub(crate) fn start(settings: &Settings) -> Result<Option<Exporter>, Failure> {
    let endpoint = settings.get(&OTLP_ENDPOINT);
    let Some(text) = endpoint.value.as_deref().filter(|text| !text.is_empty()) else {
        return Ok(None);
    };
    let wrong = |reason: String| {
        let (shown, whence) = (endpoint.shown().unwrap_or_default(), endpoint.whence());
        let message = format!("\"{shown}\" {whence} is no address of a collector: {reason}");
        let hint =
            format!("write for example http://127.0.0.1:4318; set it by {}", OTLP_ENDPOINT.ways());
        Failure::new(Exit::Usage, message).hint(hint)
    };
    let address = Endpoint::parse(text).map_err(wrong)?;
    // Without this, rustls would not know which of its cryptographic back-ends to use; a second call changes nothing.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let name = env::var("OTEL_SERVICE_NAME").ok().filter(|name| !name.is_empty());
    let resource = vec![
        ("service.name", name.unwrap_or_else(|| "keyrack".into())),
        ("service.version", env!("CARGO_PKG_VERSION").into()),
        ("service.instance.id", uuid::Uuid::new_v4().to_string()),
        ("process.pid", std::process::id().to_string()),
    ];
    otlp::start(address, resource).map(Some).map_err(wrong)
}

/// The span that has started this command, as the environment tells it.
pub(crate) fn of_environment() -> Option<TraceContext> {
    let parent = env::var("TRACEPARENT").ok()?;
    TraceContext::from_headers(&parent, env::var("TRACESTATE").ok().as_deref())
}
