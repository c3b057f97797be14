//! Running tasks.

use std::{future::Future, sync::Arc, time::Duration};

use keyrack_jobs::bee::{
    Hive,
    keys::QueueName,
    worker::{self, Context, Settings},
};
use tokio::{sync::oneshot, task::JoinHandle};

use super::{
    Task,
    batch::{self, BatchHandler, Batcher},
    failure::failure,
    handler::{Handler, task},
};
use crate::{Error, Result};

/// Runs the tasks of some queues with handlers, one for each kind of task.
///
/// ```no_run
/// # use keyrack::prelude::*;
/// # #[derive(serde::Serialize, serde::Deserialize)] struct Charge { cents: u64 }
/// # impl Task for Charge { const QUEUE: &str = "charges"; type Output = (); }
/// # async fn charge(_: Charge) -> Result<(), BoxError> { Ok(()) }
/// # async fn example() -> keyrack::Result<()> {
/// let rack = Keyrack::open("redis://127.0.0.1:6379").await?;
/// rack.jobs().worker().concurrency(20).on(charge).run().await
/// # }
/// ```
#[derive(Debug)]
pub struct Worker<S = ()> {
    inner: worker::Worker,
    settings: Settings,
    batch_linger: Duration,
    state: S,
    /// The first queue whose name makes no sense.
    wrong: Option<Error>,
}

impl Worker {
    pub(super) fn new(hive: &Hive) -> Worker {
        Worker {
            inner: worker::Worker::new(hive),
            settings: Settings::default(),
            batch_linger: batch::LINGER,
            state: (),
            wrong: None,
        }
    }
}

impl<S> Worker<S> {
    /// Gives the handlers that follow a state, which each of them gets a clone of: an `Arc`, a client, a pool.
    pub fn state<N: Clone + Send + Sync + 'static>(self, state: N) -> Worker<N> {
        let Worker { inner, settings, batch_linger, wrong, .. } = self;
        Worker { inner, settings, batch_linger, state, wrong }
    }

    /// How many jobs of each queue that follows run at once; 10 unless set.
    pub fn concurrency(mut self, jobs: usize) -> Self {
        self.settings.concurrency = jobs;
        self
    }

    /// How many jobs of all queues run at once. Queues that have jobs take turns by their weights ([`Worker::weight`]), and what
    /// one does not need is for the others. Unless set, each queue has its own places only.
    pub fn shared_concurrency(mut self, jobs: usize) -> Self {
        self.inner = self.inner.shared_concurrency(jobs);
        self
    }

    /// How many jobs of each queue that follows start for one of a queue of weight 1, from 1 to 100, if the queues share
    /// their places; 1 unless set.
    pub fn weight(mut self, weight: u32) -> Self {
        self.settings.weight = weight;
        self
    }

    /// How long an attempt may take at the jobs that follow, if neither the job nor its queue says so; half an hour unless set.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.settings.time_limit = timeout;
        self
    }

    /// The version of the program, at the jobs that follow: groups of failures tell in which versions they were seen.
    pub fn version(mut self, version: impl Into<String>) -> Self {
        self.settings.version = Some(version.into());
        self
    }

    /// How long the first job waits for others before a batch that is not full runs, for the batch handlers that follow; 10 ms
    /// unless set.
    pub fn batch_linger(mut self, time: Duration) -> Self {
        self.batch_linger = time;
        self
    }

    /// How long jobs may go on after the worker was told to stop; then they are given back. 15 s unless set.
    pub fn drain(mut self, time: Duration) -> Self {
        self.inner = self.inner.drain(time);
        self
    }

    /// Runs until the process is told to stop, by Ctrl-C or SIGTERM, then finishes the jobs under way or gives them back.
    ///
    /// # Errors
    /// When two handlers serve one queue, or when a queue has a name that cannot stand in a key. A store that cannot be
    /// reached is waited for.
    pub async fn run(self) -> Result<()> {
        self.run_until(told_to_stop()).await
    }

    /// Runs until `stop` resolves, then finishes the jobs under way or gives them back.
    ///
    /// # Errors
    /// As [`Worker::run`].
    pub async fn run_until(self, stop: impl Future<Output = ()>) -> Result<()> {
        Ok(self.into_inner()?.run(stop).await?)
    }

    /// Runs beside the caller until it is stopped or dropped.
    ///
    /// # Panics
    /// Outside of a tokio runtime.
    pub fn spawn(self) -> RunningWorker {
        let (stop, stopped) = oneshot::channel::<()>();
        // What cannot run says so to whoever stops it.
        let inner = self.into_inner();
        let running = tokio::spawn(async move {
            let stopped = async { drop(stopped.await) };
            Ok(inner?.run(stopped).await?)
        });
        RunningWorker { stop, running }
    }

    /// Runs what is due in the task of the caller until nothing is left, and returns how many attempts that were. For tests.
    ///
    /// # Errors
    /// When the store fails. A failed attempt is no error: the job says why.
    pub async fn run_due(&self) -> Result<u64> {
        Ok(self.inner.run_due().await?)
    }

    pub(super) fn into_inner(self) -> Result<worker::Worker> {
        self.wrong.map_or(Ok(self.inner), Err)
    }
}

impl<S: Clone + Send + Sync + 'static> Worker<S> {
    /// Runs the tasks that this handler takes, from their queue.
    pub fn on<H, Args>(self, handler: H) -> Self
    where
        H: Handler<S, Args>,
        Args: 'static,
    {
        let (state, settings) = (self.state.clone(), self.settings.clone());
        self.serve::<H::Task, _, _>(settings, move |context: Context| {
            let (handler, state) = (handler.clone(), state.clone());
            async move {
                let running = handler.call(task(&context)?, context, state);
                running.await.map_err(|error| failure(&*error))
            }
        })
    }

    /// Runs up to so many tasks with one call of this handler, which says what became of each.
    ///
    /// A call is made when so many jobs are there, or some time after the first ([`Worker::batch_linger`]). Each job has its own lease, retries and result.
    pub fn on_batch<H, Args>(self, most: usize, handler: H) -> Self
    where
        H: BatchHandler<S, Args>,
        Args: 'static,
    {
        let concurrency = self.settings.concurrency.max(most);
        let settings = Settings { concurrency, ..self.settings.clone() };
        let batcher = Batcher::<H::Task>::new(most, self.batch_linger, handler, self.state.clone());
        self.serve::<H::Task, _, _>(settings, move |context: Context| {
            let batcher = Arc::clone(&batcher);
            async move {
                let task = task(&context)?;
                batcher.run(task, context).await.map_err(|error| failure(&*error))
            }
        })
    }

    fn serve<T, F, R>(mut self, settings: Settings, run: F) -> Self
    where
        T: Task,
        F: Fn(Context) -> R + Send + Sync + 'static,
        R: Future<Output = Result<T::Output, keyrack_jobs::bee::Failure>> + Send + 'static,
    {
        match QueueName::new(T::QUEUE) {
            Ok(queue) => self.inner = self.inner.on(queue, settings, run),
            Err(error) => self.wrong = self.wrong.or(Some(error.into())),
        }
        self
    }
}

/// A worker that runs beside its owner. Dropped, it stops too, but nobody waits for that.
#[derive(Debug)]
pub struct RunningWorker {
    stop: oneshot::Sender<()>,
    running: JoinHandle<Result<()>>,
}

impl RunningWorker {
    /// Stops it: the jobs under way are finished or given back.
    ///
    /// # Errors
    /// Why the worker could not run, as [`Worker::run`] says.
    ///
    /// # Panics
    /// When the worker's own loop has.
    pub async fn stop(self) -> Result<()> {
        drop(self.stop);
        match self.running.await {
            Ok(ended) => ended,
            Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
            // The runtime is about to end.
            Err(_) => Ok(()),
        }
    }
}

/// Resolves when the process is told to stop.
async fn told_to_stop() {
    let interrupt = async {
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    };
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        let terminate = async {
            match signal(SignalKind::terminate()) {
                Ok(mut signal) => drop(signal.recv().await),
                Err(_) => std::future::pending().await,
            }
        };
        tokio::select! {
            () = interrupt => {}
            () = terminate => {}
        }
    }
    #[cfg(not(unix))]
    interrupt.await;
}
