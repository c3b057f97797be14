//! The worker of the hot queue: takes jobs, runs what it was taught, and stops in peace.

mod counters;
mod finish_entry;
mod handler;
mod held;
mod hot_loop;
mod intake;
mod membership;
mod outage;
mod perform;
mod waker;

use std::{collections::HashMap, future::Future, num::NonZero, sync::Arc};

use keyrack_store::Store;
use tokio::sync::watch;

pub(super) use self::membership::ALIVE_MS;
pub use self::{
    counters::{Counters, Counts},
    handler::{Failure, Job, Outcome},
};
use self::{
    handler::Handler, held::Held, hot_loop::HotLoop, intake::Intake, membership::Membership,
    waker::Waker,
};
use super::keys::WorkerId;

/// Runs jobs of the hot queue.
///
/// A job is run at most once: it is gone from the queue before it starts, and lost with a worker that dies. With
/// [`HotWorker::reliable`] it is moved aside meanwhile and run again by another worker instead: at least once.
///
/// Whatever a handler does, the worker goes on: an error or a panic is reported, and a lost connection waited out.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use keyrack_jobs::hot::{HotWorker, Job, Producer, keys::WorkerId};
/// use keyrack_store::Store;
/// use serde_json::json;
///
/// let store = Store::open("embedded:memory").await?;
/// Producer::new(store.clone()).push("greet", &json!({ "whom": "Ada" })).await?;
///
/// let (done, said) = tokio::sync::mpsc::unbounded_channel();
/// let worker = HotWorker::new(store, WorkerId::new("web-1.4711.c0ffee")?).on("greet", move |job: Job| {
///     let done = done.clone();
///     async move {
///         done.send(format!("hello {}", job.kwargs["whom"]))?;
///         Ok(None)
///     }
/// });
/// # let mut said = said;
/// worker.run(async { assert_eq!(said.recv().await.as_deref(), Some("hello \"Ada\"")) }).await;
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct HotWorker {
    settings: Settings,
    concurrency: u32,
}

/// What every part of a worker needs to know.
#[derive(Debug)]
struct Settings {
    store: Store,
    id: WorkerId,
    handlers: HashMap<String, Handler>,
    reliable: bool,
    unknown: Unknown,
    counters: Arc<Counters>,
    held: Held,
}

/// What becomes of a job whose name the worker was not taught.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Unknown {
    /// It is moved to `jobs:hot:unknown`, from where an operator can put it back.
    #[default]
    SetAside,
    /// It goes back to the end of the queue, for a worker that knows it. The worker pauses for longer and longer while it finds
    /// nothing else.
    Leave,
}

/// A worker of the original runs twice as many jobs as the machine has processors.
const JOBS_PER_PROCESSOR: u32 = 2;

impl HotWorker {
    /// A worker that knows no job yet. No other worker may have the same id, now or before.
    pub fn new(store: Store, id: WorkerId) -> HotWorker {
        let processors = std::thread::available_parallelism().map_or(1, NonZero::get);
        let settings = Settings {
            store,
            id,
            handlers: HashMap::new(),
            reliable: false,
            unknown: Unknown::default(),
            counters: Arc::default(),
            held: Held::default(),
        };
        let processors = u32::try_from(processors).unwrap_or(1);
        HotWorker { settings, concurrency: processors.saturating_mul(JOBS_PER_PROCESSOR) }
    }

    /// Teaches the worker a job. A later handler of the same name takes the place of the earlier one.
    ///
    /// What the handler returns is announced on `ps:job:<job_uid>` when the arguments hold a `job_uid`.
    #[must_use]
    pub fn on<F, R>(self, name: impl Into<String>, handler: F) -> HotWorker
    where
        F: Fn(Job) -> R + Send + Sync + 'static,
        R: Future<Output = Outcome> + Send + 'static,
    {
        self.teach(name.into(), Handler::new(handler, false))
    }

    /// Teaches the worker a job that runs alone: it waits until all others have ended, and nothing starts meanwhile.
    #[must_use]
    pub fn on_exclusive<F, R>(self, name: impl Into<String>, handler: F) -> HotWorker
    where
        F: Fn(Job) -> R + Send + Sync + 'static,
        R: Future<Output = Outcome> + Send + 'static,
    {
        self.teach(name.into(), Handler::new(handler, true))
    }

    fn teach(mut self, name: String, handler: Handler) -> HotWorker {
        self.settings.handlers.insert(name, handler);
        self
    }

    /// Says how many jobs may run at once; twice the number of processors unless set, and at least one.
    #[must_use]
    pub fn concurrency(mut self, jobs_max: u32) -> HotWorker {
        self.concurrency = jobs_max.max(1);
        self
    }

    /// Keeps each job aside while it runs, so that it is run again when this worker dies: at least once.
    #[must_use]
    pub fn reliable(mut self) -> HotWorker {
        self.settings.reliable = true;
        self
    }

    /// Says what becomes of jobs that nobody taught this worker.
    #[must_use]
    pub fn unknown(mut self, unknown: Unknown) -> HotWorker {
        self.settings.unknown = unknown;
        self
    }

    /// Whether the worker was taught a job of that name.
    pub fn knows(&self, name: &str) -> bool {
        self.settings.handlers.contains_key(name)
    }

    /// What the worker has done so far; goes on counting while it runs.
    pub fn counters(&self) -> Arc<Counters> {
        self.settings.counters.clone()
    }

    /// Works until `shutdown` resolves, then finishes the jobs that run. What was taken and not begun goes back to the queue.
    pub async fn run(self, shutdown: impl Future<Output = ()>) {
        let settings = Arc::new(self.settings);
        let (stop, stopping) = watch::channel(false);
        let membership = Membership::new(settings.clone());
        let intake = Intake::new(settings.clone(), membership.last_beat(), stopping.clone());
        let waker = Waker::new(settings.clone());
        let hot_loop = HotLoop::new(settings.clone(), intake, self.concurrency, stopping);
        let told_to_stop = async {
            shutdown.await;
            stop.send_replace(true);
            waker.wake().await;
            std::future::pending::<()>().await;
        };
        tokio::select! {
            () = hot_loop.run() => {}
            () = told_to_stop => {}
            () = membership.keep_up() => {}
        }
        membership.leave().await;
        waker.clear().await;
    }
}
