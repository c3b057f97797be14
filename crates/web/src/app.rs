//! What every route is given.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use axum::http::StatusCode;
use keyrack_services::Services;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};

use crate::{
    Problem,
    access::Access,
    metrics::{MetricsQueues, Surveyor},
    observe::Requests,
};

/// How long the store may take to write a key before it counts as gone.
const PROBE_TIMEOUT: Duration = Duration::from_secs(2);
/// For how long what the store answered is believed: balancers ask often, and each from everywhere.
const PROBE_EVERY: Duration = Duration::from_secs(1);

/// How many requests may wait or stream at once: each holds a connection.
pub const WAITING_MAX: usize = 5_000;

/// Seconds after which a request that may not wait comes back.
const WAITING_RETRY_S: u32 = 1;

/// Seconds after which a client that may not watch comes back.
const WATCHING_RETRY_S: u32 = 5;

/// How many may watch traces at once. Each costs a connection and five kilobytes, as `cargo xtask bench watch` measures, so that all of them take
/// a tenth of a gigabyte; the system allows a process about as many connections.
pub(crate) const WATCHING_MAX: usize = 20_000;

/// What every route is given.
#[derive(Debug)]
pub struct App {
    /// Every service.
    pub services: Arc<Services>,
    /// Whom the server lets in.
    pub access: Access,
    /// How commands reach the store while this server runs, if they can.
    pub reach: Option<String>,
    /// Which queues have metrics of their own.
    pub metrics_queues: MetricsQueues,
    pub(crate) requests: Requests,
    pub(crate) surveyor: Surveyor,
    /// A place for each request that waits or streams.
    pub waiting: Arc<Semaphore>,
    /// A place for each who watches a trace.
    pub watching: Arc<Semaphore>,
    stopping: watch::Sender<bool>,
    started: Instant,
    /// What the last write to the store brought, and when.
    probed: tokio::sync::Mutex<Option<(Instant, Result<Duration, String>)>>,
}

impl App {
    /// An application over these services, which lets in whom `access` says.
    pub fn new(services: Arc<Services>, access: Access) -> App {
        App {
            services,
            access,
            reach: None,
            metrics_queues: MetricsQueues::default(),
            requests: Requests::new(),
            surveyor: Surveyor::default(),
            waiting: Arc::new(Semaphore::new(WAITING_MAX)),
            watching: Arc::new(Semaphore::new(WATCHING_MAX)),
            stopping: watch::Sender::new(false),
            started: Instant::now(),
            probed: tokio::sync::Mutex::new(None),
        }
    }

    /// Tells requests that wait to come to an end.
    pub fn stop(&self) {
        self.stopping.send_replace(true);
    }

    /// Says whether the server is about to stop.
    pub fn stopping(&self) -> watch::Receiver<bool> {
        self.stopping.subscribe()
    }

    /// Resolves when the server is about to stop.
    pub async fn stopped(&self) {
        // The sender is a field of this very value, so there is no other end than being told.
        let _ = self.stopping.subscribe().wait_for(|stopping| *stopping).await;
    }

    /// A permit to wait or to stream, for as long as it is held.
    pub fn permit_to_wait(&self) -> Result<OwnedSemaphorePermit, Problem> {
        self.waiting.clone().try_acquire_owned().map_err(|_| {
            Problem::new(StatusCode::TOO_MANY_REQUESTS, "too_many_waiting")
                .title("too many requests wait already")
                .detail("come back in a moment, or ask without waiting")
                .retry_after(WAITING_RETRY_S)
        })
    }

    /// A permit to watch a trace or a journey, for as long as it is held.
    pub fn permit_to_watch(&self) -> Result<OwnedSemaphorePermit, Problem> {
        self.watching.clone().try_acquire_owned().map_err(|_| {
            Problem::new(StatusCode::TOO_MANY_REQUESTS, "too_many_watching")
                .title("too many watch already")
                .detail("come back in a moment")
                .retry_after(WATCHING_RETRY_S)
        })
    }

    /// For how long the server has been up.
    pub fn uptime(&self) -> Duration {
        self.started.elapsed()
    }

    /// How long the store takes to write, or why it does not.
    pub async fn probe(&self) -> Result<Duration, String> {
        let mut probed = self.probed.lock().await;
        if let Some((at, outcome)) = &*probed
            && at.elapsed() < PROBE_EVERY
        {
            return outcome.clone();
        }
        let asked = Instant::now();
        let outcome = match tokio::time::timeout(PROBE_TIMEOUT, self.write_or_ping()).await {
            Ok(Ok(())) => Ok(asked.elapsed()),
            Ok(Err(error)) => Err(error.to_string()),
            Err(_) => Err(format!("no answer within {} s", PROBE_TIMEOUT.as_secs())),
        };
        *probed = Some((Instant::now(), outcome.clone()));
        outcome
    }

    async fn write_or_ping(&self) -> Result<(), keyrack_store::Error> {
        match self.services.store.probe().await {
            // The rights of the user were printed before there was such a key.
            Err(keyrack_store::Error::Denied(error)) => {
                tracing::debug!(%error, "readiness cannot write; print the user's rights anew with \"keyrack keys acl\"");
                self.services.store.ping().await
            }
            outcome => outcome,
        }
    }
}
