//! What every route is given.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use keyrack_calculations::Accounts;
use keyrack_entitlements::LIMITS_QUOTA;
use keyrack_files::Buckets;
use keyrack_identity::Identity;
use keyrack_jobs::{
    Error,
    bee::{Hive, Waiters},
    hot,
    recurring::{self, Definition, Recurring},
};
use keyrack_journeys::{Journeys, Live, SESSIONS_QUOTA, Tickets};
use keyrack_progress::Progress;
use keyrack_recommender::{self as recommender, Recommender};
use keyrack_store::Store;
use tokio::sync::{OnceCell, Semaphore, watch};

use crate::{
    access::Access,
    api::{Billing, Deploys, Recommendations, Rooms},
    census::Census,
    metrics::{QUEUES_MAX, Totals},
    observe::Requests,
    pages::Dashboard,
};

/// How long the store may take to write a key before it counts as gone.
const PROBE_TIMEOUT: Duration = Duration::from_secs(2);
/// For how long what the store answered is believed: balancers ask often, and each from everywhere.
const PROBE_EVERY: Duration = Duration::from_secs(1);

/// How many requests may wait or stream at once: each holds a connection.
pub(crate) const WAITING_MAX: usize = 5_000;

/// How many may watch traces at once. Each costs a connection and five kilobytes, as `cargo xtask bench watch` measures, so that all of them take
/// a tenth of a gigabyte; the system allows a process about as many connections.
pub(crate) const WATCHING_MAX: usize = 20_000;

/// How much one user may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Quotas {
    /// Limits kept at a time.
    pub limits: u64,
    /// Progress bars and traces.
    pub progress: keyrack_progress::Quotas,
    /// Sessions on journeys within a day.
    pub sessions: u64,
}

impl Default for Quotas {
    fn default() -> Quotas {
        let progress = keyrack_progress::Quotas::default();
        Quotas { limits: LIMITS_QUOTA, progress, sessions: SESSIONS_QUOTA }
    }
}

/// What every route is given.
#[derive(Debug)]
pub(crate) struct App {
    pub(crate) store: Store,
    pub(crate) identity: Identity,
    /// Whom the server lets in.
    pub(crate) access: Access,
    pub(crate) progress: Progress,
    pub(crate) calculations: Accounts,
    /// The traces that are watched.
    pub(crate) rooms: Rooms,
    pub(crate) journeys: Journeys,
    /// The journeys that are watched.
    pub(crate) live: Live,
    /// Who may take part in journeys, if anybody.
    pub(crate) tickets: Option<Tickets>,
    /// Who may announce updates, if anybody.
    pub(crate) deploys: Option<Deploys>,
    /// What users have paid for, if anybody knows.
    pub(crate) billing: Option<Billing>,
    /// How commands reach the store while this server runs, if they can.
    pub(crate) reach: Option<String>,
    /// How many queues have metrics of their own.
    pub(crate) metrics_queues: usize,
    /// How many limits a user may keep.
    pub(crate) limits_max: u64,
    /// Where files are, if this server knows.
    pub(crate) buckets: Option<Buckets>,
    /// What to show to whom.
    pub(crate) recommendations: Recommendations,
    pub(crate) census: Census,
    pub(crate) requests: Requests,
    pub(crate) totals: Totals,
    /// What the pages remember.
    pub(crate) dashboard: Dashboard,
    /// A place for each request that waits or streams.
    pub(crate) waiting: Semaphore,
    /// A place for each who watches a trace.
    pub(crate) watching: Arc<Semaphore>,
    definitions: Vec<Definition>,
    jobs: OnceCell<Jobs>,
    stopping: watch::Sender<bool>,
    started: Instant,
    /// What the last write to the store brought, and when.
    probed: tokio::sync::Mutex<Option<(Instant, Result<Duration, String>)>>,
}

/// The job queues.
#[derive(Debug)]
pub(crate) struct Jobs {
    pub(crate) hive: Hive,
    pub(crate) waiters: Waiters,
}

impl App {
    pub(crate) fn new(
        store: Store,
        identity: Identity,
        definitions: Vec<Definition>,
        quotas: Quotas,
    ) -> App {
        let census = Census::new(store.clone());
        let journeys = Journeys::new(store.clone()).with_sessions_quota(quotas.sessions);
        let recommender = Recommender::new(store.clone(), recommender::Settings::default());
        let recommendations = Recommendations::new(recommender);
        let progress = Progress::open(store.clone(), hot::keys::hot());
        let progress = progress.with_quotas(quotas.progress);
        App {
            calculations: Accounts::open(store.clone()),
            store,
            identity,
            access: Access::default(),
            rooms: Rooms::new(progress.clone()),
            progress,
            live: Live::new(journeys.clone()),
            journeys,
            tickets: None,
            deploys: None,
            billing: None,
            reach: None,
            metrics_queues: QUEUES_MAX,
            limits_max: quotas.limits,
            buckets: None,
            recommendations,
            census,
            requests: Requests::new(),
            totals: Totals::default(),
            dashboard: Dashboard::default(),
            waiting: Semaphore::new(WAITING_MAX),
            watching: Arc::new(Semaphore::new(WATCHING_MAX)),
            definitions,
            jobs: OnceCell::new(),
            stopping: watch::Sender::new(false),
            started: Instant::now(),
            probed: tokio::sync::Mutex::new(None),
        }
    }

    /// The job queues, opened when they are first asked for: the server runs while its store is away.
    pub(crate) async fn jobs(&self) -> Result<&Jobs, Error> {
        let open = async || {
            let hive = Hive::open(self.store.clone()).await?;
            let waiters = Waiters::new(&hive);
            Ok(Jobs { hive, waiters })
        };
        self.jobs.get_or_try_init(open).await
    }

    /// The list of recurring jobs.
    pub(crate) async fn recurring(&self) -> Result<Recurring, recurring::Error> {
        let jobs = self.jobs().await.map_err(|error| match error {
            Error::Store(error) => recurring::Error::Store(error),
            source => recurring::Error::Bee { queue: String::new(), source },
        })?;
        Recurring::new(jobs.hive.clone(), self.definitions.clone())
    }

    /// Tells requests that wait to come to an end.
    pub(crate) fn stop(&self) {
        self.stopping.send_replace(true);
    }

    /// Says whether the server is about to stop.
    pub(crate) fn stopping(&self) -> watch::Receiver<bool> {
        self.stopping.subscribe()
    }

    /// Resolves when the server is about to stop.
    pub(crate) async fn stopped(&self) {
        // The sender is a field of this very value, so there is no other end than being told.
        let _ = self.stopping.subscribe().wait_for(|stopping| *stopping).await;
    }

    /// For how long the server has been up.
    pub(crate) fn uptime(&self) -> Duration {
        self.started.elapsed()
    }

    /// How long the store takes to write, or why it does not.
    pub(crate) async fn probe(&self) -> Result<Duration, String> {
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
        match self.store.probe().await {
            // The rights of the user were printed before there was such a key.
            Err(keyrack_store::Error::Denied(error)) => {
                tracing::debug!(%error, "readiness cannot write; print the user's rights anew with \"keyrack keys acl\"");
                self.store.ping().await
            }
            outcome => outcome,
        }
    }
}
