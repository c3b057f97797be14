//! Sending spans and metrics to a collector: OTLP over HTTP, as protobuf.
//!
//! The messages are declared here with prost, as far as keyrack fills them in. The SDK of OpenTelemetry would bring a second queue,
//! threads of its own and two dozen crates for what is two tasks and two requests. Tests decode what is sent with the definitions
//! of `opentelemetry-proto`.
//!
//! A task sends spans, a second after the first span at most. A collector that does not answer, or asks to wait, is tried again after
//! a growing pause; meanwhile the queue fills up and then drops. Nothing else waits for the
//! task. Another one sends metrics once a minute; what a collector misses of those, the next minute tells.

mod message;
mod metrics;

use std::{sync::atomic::Ordering, time::Duration};

use prost::Message as _;
use reqwest::{Client, StatusCode, Url, header::CONTENT_TYPE, redirect};
use tokio::{
    sync::watch,
    task::JoinHandle,
    time::{sleep, timeout},
};

use self::{
    message::{Resource, spans_request},
    metrics::{Period, metrics_request},
};
use crate::{
    metrics_source, now_ns,
    queue::{self, Queue, SPANS_PER_CALL},
    span::Record,
};

/// The time between two calls, unless more spans than fit into one wait.
const SEND_EVERY: Duration = Duration::from_secs(1);
/// The time between two exports of metrics, which is the usual one.
const METRICS_EVERY: Duration = Duration::from_secs(60);
/// A collector that takes longer is tried again.
const CALL_TIME_MAX: Duration = Duration::from_secs(10);
/// The pauses after calls that failed: the first, and the longest.
const PAUSE_MIN: Duration = Duration::from_millis(500);
const PAUSE_MAX: Duration = Duration::from_secs(30);

/// The address of a collector that takes OTLP over HTTP.
#[derive(Debug, Clone)]
pub struct Endpoint(Url);

impl Endpoint {
    /// Reads an address such as `http://127.0.0.1:4318`.
    ///
    /// # Errors
    /// Why it is none.
    pub fn parse(text: &str) -> Result<Endpoint, String> {
        let mut url: Url = text.parse().map_err(|error| format!("{error}"))?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(format!("\"{}\" is neither http nor https", url.scheme()));
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err("it has a user or a password, which others could read; let a collector nearby have them".into());
        }
        if url.query().is_some() || url.fragment().is_some() {
            return Err("it has a query or a fragment; give the base address".into());
        }
        if !url.path().ends_with('/') {
            url.set_path(&format!("{}/", url.path()));
        }
        Ok(Endpoint(url))
    }

    fn at(&self, path: &str) -> Url {
        self.0.join(path).expect("a relative path")
    }
}

/// The task that sends. Dropped, it goes on until the runtime ends.
#[derive(Debug)]
pub struct Exporter {
    stop: watch::Sender<bool>,
    task: JoinHandle<()>,
    metrics: JoinHandle<()>,
}

/// Begins to record spans and to send them. `resource` says who this process is, by attributes such as `service.name`.
///
/// # Errors
/// When there can be no client, which is a matter of how the program was built.
pub fn start(
    endpoint: Endpoint,
    resource: Vec<(&'static str, String)>,
) -> Result<Exporter, String> {
    let client = Client::builder().timeout(CALL_TIME_MAX).redirect(redirect::Policy::none());
    let client = client.build().map_err(|error| error.to_string())?;
    let (stop, stopping) = watch::channel(false);
    let queue = queue::open();
    let caller = Caller { client, endpoint, resource: Resource::new(resource) };
    let metrics = tokio::spawn(caller.clone().send_metrics());
    Ok(Exporter { stop, task: tokio::spawn(caller.send_spans(queue, stopping)), metrics })
}

impl Exporter {
    /// Sends what waits, as far as that can be done in this time.
    pub async fn finish(self, within: Duration) {
        self.metrics.abort();
        self.stop.send_replace(true);
        let _ = timeout(within, self.task).await;
    }
}

/// What came of a call.
#[derive(Debug, PartialEq, Eq)]
enum Answer {
    Taken,
    /// The same would be refused again.
    Refused(String),
    /// It may be taken later.
    NotNow(String),
}

#[derive(Debug, Clone)]
struct Caller {
    client: Client,
    endpoint: Endpoint,
    resource: Resource,
}

impl Caller {
    async fn send_spans(self, queue: &'static Queue, mut stopping: watch::Receiver<bool>) {
        loop {
            let batch = queue.take();
            if !batch.is_empty() {
                self.send(queue, &batch, &mut stopping).await;
            }
            if *stopping.borrow_and_update() {
                if queue.len() == 0 {
                    return;
                }
            } else if queue.len() < SPANS_PER_CALL {
                tokio::select! {
                    () = sleep(SEND_EVERY) => {}
                    () = queue.is_full.notified() => {}
                    _ = stopping.changed() => {}
                }
            }
        }
    }

    /// Sends spans until the collector has said what it makes of them. At the end of the program it is asked once.
    async fn send(&self, queue: &Queue, batch: &[Record], stopping: &mut watch::Receiver<bool>) {
        let (url, body) =
            (self.endpoint.at("v1/traces"), spans_request(&self.resource, batch).encode_to_vec());
        let mut pause = PAUSE_MIN;
        loop {
            let answer = self.call(url.clone(), body.clone()).await;
            let reason = match answer {
                Answer::NotNow(reason) if !*stopping.borrow() => reason,
                answer => {
                    if pause > PAUSE_MIN && answer == Answer::Taken {
                        tracing::info!("the collector of traces is back");
                    }
                    return note(queue, batch, &answer);
                }
            };
            if pause == PAUSE_MIN {
                tracing::warn!(%url, reason, "cannot send traces to the collector; trying again until it takes them");
            }
            tokio::select! {
                () = sleep(pause) => {}
                _ = stopping.wait_for(|stopping| *stopping) => {}
            }
            pause = (pause * 2).min(PAUSE_MAX);
        }
    }

    async fn send_metrics(self) {
        let (url, start_ns) = (self.endpoint.at("v1/metrics"), now_ns());
        let mut is_away = false;
        loop {
            let Some(source) = metrics_source::source() else {
                metrics_source::IS_SET.notified().await;
                continue;
            };
            let text = source().await;
            let period = Period { start_ns, at_ns: now_ns() };
            let body = metrics_request(&self.resource, &text, period).encode_to_vec();
            let answer = self.call(url.clone(), body).await;
            if let Answer::Refused(reason) | Answer::NotNow(reason) = &answer
                && !is_away
            {
                tracing::warn!(%url, reason, "cannot send metrics to the collector; trying again every minute");
            }
            is_away = answer != Answer::Taken;
            sleep(METRICS_EVERY).await;
        }
    }

    async fn call(&self, url: Url, body: Vec<u8>) -> Answer {
        let request = self.client.post(url).header(CONTENT_TYPE, "application/x-protobuf");
        let response = match request.body(body).send().await {
            Ok(response) => response,
            Err(error) => return Answer::NotNow(error.without_url().to_string()),
        };
        let status = response.status();
        let is_busy = matches!(
            status,
            StatusCode::TOO_MANY_REQUESTS
                | StatusCode::BAD_GATEWAY
                | StatusCode::SERVICE_UNAVAILABLE
                | StatusCode::GATEWAY_TIMEOUT
        );
        match status.is_success() {
            true => Answer::Taken,
            false if is_busy => Answer::NotNow(format!("it answers {status}")),
            false => Answer::Refused(format!("it answers {status}")),
        }
    }
}

/// Counts what became of spans.
fn note(queue: &Queue, batch: &[Record], answer: &Answer) {
    let counter = match answer {
        Answer::Taken => &queue.sent,
        Answer::Refused(_) | Answer::NotNow(_) => &queue.dropped,
    };
    if counter.fetch_add(batch.len() as u64, Ordering::Relaxed) == 0
        && let Answer::Refused(reason) = answer
    {
        tracing::warn!(%reason, "the collector refuses traces");
    }
}
