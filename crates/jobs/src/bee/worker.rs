//! Running jobs.
//!
//! A [`Worker`] has a queue worker for each queue it serves. The queue worker claims jobs, runs each in a task of its own, and
//! settles what has ended in the same call that claims the next; beside it a maintenance sends heartbeats and sweeps.
//!
//! In reading order: `context` is what a handler sees, `handler` runs it within its limits, `quarantine` and `run` let it run beside
//! others or alone. `queue worker` is the loop, `call` is one call of it, `reservations` are jobs that it takes and tells of at once,
//! `prefetch` is how far ahead it takes them, `places` how queues share the places of one worker, `wakeups` are how it hears of new ones. `maintenance` keeps it alive and notices when
//! others are not. `due` runs jobs in the caller, for tests.
//! `log_writer` takes what handlers log, and how far they are, to the store; `job_span` finds the job of a span.

mod context;
mod due;
mod handler;
mod job_span;
mod log_writer;
mod maintenance;
mod places;
mod prefetch;
mod quarantine;
mod queue_worker;
mod registry;
mod reservations;
mod run;
mod settle_call;
mod wakeups;

use std::{collections::HashSet, future::Future, sync::Arc, time::Duration};

use serde::Serialize;
use tokio::sync::watch;

pub(super) use self::wakeups::ClaimTime;
pub use self::{
    context::{Context, Stop},
    job_span::{JOB_SPAN, JOB_SPAN_TARGET, job_of_new_span},
    maintenance::Watch,
};
use self::{
    handler::Handler,
    places::{Places, PlacesOfQueue},
    quarantine::Quarantine,
    queue_worker::QueueWorker,
};
use super::{
    errors::check_version,
    hive::Hive,
    job::Job,
    keys::{JobHash, QueueName},
    settle::{Failure, Outcome, Verdict},
    sweep::WorkerTimeouts,
};
use crate::Error;

/// Runs the jobs of some queues.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), keyrack_jobs::Error> {
/// use keyrack_jobs::bee::{Hive, Submission, keys::QueueName, worker::{Settings, Worker}};
///
/// let hive = Hive::open(keyrack_store::Store::open("embedded:memory").await?).await?;
/// let jid = hive.submit(Submission::new("greetings")?.arg("Ada")).await?;
/// let (done, mut is_done) = tokio::sync::mpsc::channel(1);
/// let worker = Worker::new(&hive).on(QueueName::new("greetings")?, Settings::default(), move |context| {
///     let done = done.clone();
///     async move {
///         let _ = done.send(()).await;
///         Ok(format!("hello {}", context.job().args()[0]))
///     }
/// });
/// worker.run(async move { is_done.recv().await; }).await?;
/// assert_eq!(hive.job(&jid).await?.result(), Some(r#""hello \"Ada\"""#));
/// # Ok(()) }
/// ```
pub struct Worker {
    hive: Hive,
    timeouts: WorkerTimeouts,
    drain: Duration,
    /// How many jobs of all queues run at once.
    shared_concurrency: Option<usize>,
    registrations: Vec<QueueRegistration>,
    settled: Option<Arc<OnSettled>>,
}

/// Is told of the end of each attempt whether the store took it.
pub type OnSettled = dyn Fn(&Outcome, Verdict) + Send + Sync;

impl std::fmt::Debug for Worker {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Worker").field("registrations", &self.registrations).finish_non_exhaustive()
    }
}

/// How long jobs may go on after the worker was told to stop. With [`Settings::stop_grace`] and what the last call takes it is
/// less than the 30 s that orchestrators give.
const DRAIN: Duration = Duration::from_secs(15);

/// A queue, how to serve it, and by what.
#[derive(Debug)]
struct QueueRegistration {
    queue: QueueName,
    settings: Settings,
    handler: Handler,
}

/// How a worker serves a queue.
#[derive(Debug, Clone)]
pub struct Settings {
    /// How many jobs run at once. A worker whose handlers take next to no time has a few more, which wait for a moment.
    pub concurrency: usize,
    /// For how long a job may run before the attempt fails, if neither the job nor its queue says so.
    pub time_limit: Duration,
    /// How much longer a handler may take that keeps [`Context::time_limit`] itself, for what it does to stop.
    pub overrun: Duration,
    /// How long a handler that was told to stop may go on before it is dropped.
    pub stop_grace: Duration,
    /// Whether jobs that are the same as an earlier one are left out.
    pub duplicates: Duplicates,
    /// The version of the program that runs the jobs, of at most 64 bytes: groups of failures tell in which they were seen.
    pub version: Option<String>,
    /// How many jobs of this queue start for one of a queue with weight 1, from 1 to [`WEIGHT_MAX`], if the queues of the
    /// worker share its places ([`Worker::shared_concurrency`]).
    pub weight: u32,
}

/// The largest weight of a queue among those of one worker.
pub const WEIGHT_MAX: u32 = 100;

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            concurrency: 10,
            time_limit: Duration::from_secs(30 * 60),
            overrun: Duration::ZERO,
            stop_grace: Duration::from_secs(10),
            duplicates: Duplicates::Run,
            version: None,
            weight: 1,
        }
    }
}

/// What is done about jobs that are the same as an earlier one of the queue whose result is still kept.
#[derive(Clone, Default)]
pub enum Duplicates {
    /// They are run like any other.
    #[default]
    Run,
    /// A job with the data of an earlier one ends as its duplicate.
    ByData,
    /// A job with the hash of an earlier one ends as its duplicate.
    By(Arc<HashFn>),
}

/// What a job has in common with its duplicates, or why that cannot be told.
pub type HashFn = dyn Fn(&Job) -> Result<JobHash, String> + Send + Sync;

impl std::fmt::Debug for Duplicates {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Duplicates::Run => "Run",
            Duplicates::ByData => "ByData",
            Duplicates::By(_) => "By",
        })
    }
}

impl Worker {
    /// A worker that serves no queue yet.
    pub fn new(hive: &Hive) -> Worker {
        Worker {
            hive: hive.clone(),
            timeouts: WorkerTimeouts::default(),
            drain: DRAIN,
            shared_concurrency: None,
            registrations: Vec::new(),
            settled: None,
        }
    }

    /// Sets the timings; all workers of a queue should agree on them.
    pub fn timeouts(mut self, timeouts: WorkerTimeouts) -> Worker {
        self.timeouts = timeouts;
        self
    }

    /// Has somebody told whether the end of an attempt counts: the job may have been canceled or taken away meanwhile.
    pub fn on_settled(mut self, settled: Arc<OnSettled>) -> Worker {
        self.settled = Some(settled);
        self
    }

    /// How long jobs may go on after the worker was told to stop; then they are given back. 15 s unless set.
    pub fn drain(mut self, drain: Duration) -> Worker {
        self.drain = drain;
        self
    }

    /// How many jobs of all its queues run at once. Queues that have jobs take turns by their weights
    /// ([`Settings::weight`]), and what one does not need is for the others. [`Settings::concurrency`] holds for each queue
    /// besides. Unless set, each queue has its own places only.
    pub fn shared_concurrency(mut self, jobs: usize) -> Worker {
        self.shared_concurrency = Some(jobs);
        self
    }

    /// Serves a queue: `handler` is called for each job, and what it returns is the job's result.
    ///
    /// Quick jobs are run one after the other on a thread, so what blocks or computes for long belongs into
    /// `tokio::task::spawn_blocking`: otherwise other jobs, and what became of them, wait for it.
    pub fn on<F, R, T>(mut self, queue: QueueName, settings: Settings, handler: F) -> Worker
    where
        F: Fn(Context) -> R + Send + Sync + 'static,
        R: Future<Output = Result<T, Failure>> + Send + 'static,
        T: Serialize,
    {
        self.registrations.push(QueueRegistration {
            queue,
            settings,
            handler: Handler::new(handler),
        });
        self
    }

    /// Runs jobs until `shutdown`, then finishes those under way or gives them back.
    ///
    /// A lost connection does not end it: it goes on when the store is back.
    ///
    /// # Errors
    /// When two handlers serve one queue, since one of them would get nothing, when a weight or the shared concurrency makes
    /// no sense, or when a queue's worker cannot have an id.
    pub async fn run(self, shutdown: impl Future<Output = ()>) -> Result<(), Error> {
        let mut places = self.places()?.into_iter();
        let mut queues = HashSet::new();
        if let Some(registration) =
            self.registrations.iter().find(|registration| !queues.insert(&registration.queue))
        {
            let reason = format!("\"{}\" has two handlers; give it one", registration.queue);
            return Err(Error::invalid("queue", reason));
        }
        for registration in &self.registrations {
            registration.settings.version.as_deref().map_or(Ok(()), check_version)?;
        }
        let (stop, stopping) = watch::channel(false);
        let mut queue_workers = tokio::task::JoinSet::new();
        let quarantine = Quarantine::default();
        for registration in self.registrations {
            let queue_worker = QueueWorker::new(
                &self.hive,
                registration,
                self.timeouts,
                self.drain,
                quarantine.clone(),
                places.next(),
                self.settled.clone(),
            )?;
            queue_workers.spawn(queue_worker.run(stopping.clone()));
        }
        shutdown.await;
        let _ = stop.send(true);
        while let Some(ended) = queue_workers.join_next().await {
            if let Err(error) = ended
                && error.is_panic()
            {
                tracing::error!(%error, "a worker's loop ended by itself");
            }
        }
        Ok(())
    }

    /// The places of each queue, if they share them.
    fn places(&self) -> Result<Vec<PlacesOfQueue>, Error> {
        let weights = || self.registrations.iter().map(|registration| registration.settings.weight);
        if let Some(weight) = weights().find(|weight| !(1..=WEIGHT_MAX).contains(weight)) {
            return Err(Error::invalid("weight", format!("{weight}; give 1 to {WEIGHT_MAX}")));
        }
        match self.shared_concurrency {
            Some(0) => Err(Error::invalid("shared_concurrency", "0; give at least 1")),
            Some(n) => {
                let settings = self.registrations.iter().map(|registration| &registration.settings);
                Ok(Places::share(
                    n,
                    settings.map(|settings| (settings.weight, settings.concurrency)),
                ))
            }
            None => Ok(Vec::new()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_defaults_stop_a_worker_within_30_seconds() {
        let longest = DRAIN + Settings::default().stop_grace + queue_worker::LAST_CALL;
        assert!(longest < Duration::from_secs(30), "{longest:?}");
    }
}
