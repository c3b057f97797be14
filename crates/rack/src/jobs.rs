//! Job queues with typed tasks.
//!
//! In reading order: a [`Task`] is a type whose values are jobs, and [`Submit`] its options; [`JobHandle`] is a job that was
//! submitted. A [`Handler`] is a plain function, a [`Worker`] runs it, and [`TaskError`] says whether to try again. `batch`
//! lets one call do many jobs.

mod batch;
mod failure;
mod handle;
mod handler;
#[cfg(feature = "tracing")]
mod log_layer;
mod submit;
mod task;
mod worker;

use std::sync::Arc;

use futures_util::future::BoxFuture;
pub use keyrack_jobs::bee::{
    self, Backoff, Hive, Job, Stats, Status, SubmitOutcome, Unique, Why,
    keys::{Hostname, Jid as JobId, LimitName, QueueName, Tag, Tenant},
    worker::{Context, Stop},
};
pub use keyrack_jobs::{bee::logs, hot, recurring};
pub use keyrack_trace::TraceContext;

#[cfg(feature = "tracing")]
pub use self::log_layer::JobLogs;
pub use self::{
    batch::{BatchHandler, Batched},
    failure::{BoxError, ResultExt, TaskError},
    handle::JobHandle,
    handler::{FromContext, Handler, State},
    submit::{Submit, Submitter},
    task::Task,
    worker::{RunningWorker, Worker},
};
use crate::{Error, Result};

/// The job queues of a store. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Jobs {
    hive: Hive,
    /// Runs what is due after each submission, in the task of whoever submits.
    inline: Option<Arc<bee::worker::Worker>>,
}

impl Jobs {
    pub(crate) fn new(hive: Hive) -> Jobs {
        Jobs { hive, inline: None }
    }

    /// Everything else that can be done with queues and jobs.
    pub fn hive(&self) -> &Hive {
        &self.hive
    }

    /// A worker without handlers; [`Worker::on`] gives it some.
    pub fn worker(&self) -> Worker {
        Worker::new(&self.hive)
    }

    /// The same queues for a test: whoever submits a job through this handle runs it, and all others that are due, with the
    /// handlers of this worker before the submission returns. No worker has to run beside it.
    ///
    /// ```
    /// # use keyrack::prelude::*;
    /// # #[derive(serde::Serialize, serde::Deserialize)] struct Greet { name: String }
    /// # impl Task for Greet { const QUEUE: &str = "greetings"; type Output = String; }
    /// # async fn greet(greet: Greet) -> Result<String, BoxError> { Ok(format!("hello {}", greet.name)) }
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> keyrack::Result<()> {
    /// let rack = Keyrack::open("embedded:memory").await?;
    /// let jobs = rack.jobs().inline(rack.jobs().worker().on(greet))?;
    /// let greeting = Greet { name: "Ada".into() }.submit(&jobs).await?;
    /// assert_eq!(greeting.result().await?, "hello Ada");
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// When a queue of the worker has a name that cannot stand in a key.
    pub fn inline<S>(&self, worker: Worker<S>) -> Result<Jobs> {
        Ok(Jobs { inline: Some(Arc::new(worker.into_inner()?)), ..self.clone() })
    }

    /// Submits many tasks in few calls. Returns their handles in the same order.
    ///
    /// # Errors
    /// The first job that was refused, or a store that fails; others may have been submitted then.
    pub async fn submit_all<T: Task>(
        &self,
        tasks: impl IntoIterator<Item = T>,
    ) -> Result<Vec<JobHandle<T>>> {
        let now_ms = self.hive.now_ms();
        let submissions: Result<Vec<_>> =
            tasks.into_iter().map(|task| task.submit(self).into_submission(now_ms)).collect();
        let stored = self.hive.submit_each(submissions?).await?;
        self.run_inline().await?;
        let handle = |stored| Ok(JobHandle::new(self.hive.clone(), stored?));
        stored.into_iter().map(handle).collect()
    }

    /// A job that was submitted before, by its id.
    pub fn handle<T: Task>(&self, id: JobId) -> JobHandle<T> {
        let stored = bee::StoredJob { jid: id, outcome: SubmitOutcome::Existing };
        JobHandle::new(self.hive.clone(), stored)
    }

    /// A job as it is stored.
    ///
    /// # Errors
    /// When there is no such job, or when the store fails.
    pub async fn job<I>(&self, id: I) -> Result<Job>
    where
        I: TryInto<JobId, Error: Into<Error>>,
    {
        Ok(self.hive.job(&id.try_into().map_err(Into::into)?).await?)
    }

    /// Lets no more jobs of a queue start.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn pause<Q>(&self, queue: Q) -> Result<()>
    where
        Q: TryInto<QueueName, Error: Into<Error>>,
    {
        self.hive.pause(&queue.try_into().map_err(Into::into)?).await?;
        Ok(())
    }

    /// Lets jobs of a queue start again.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn resume<Q>(&self, queue: Q) -> Result<()>
    where
        Q: TryInto<QueueName, Error: Into<Error>>,
    {
        self.hive.resume(&queue.try_into().map_err(Into::into)?).await?;
        Ok(())
    }

    /// How many jobs a queue has in which state, and who works on them.
    ///
    /// # Errors
    /// When there is no such queue, or when the store fails.
    pub async fn stats<Q>(&self, queue: Q) -> Result<Stats>
    where
        Q: TryInto<QueueName, Error: Into<Error>>,
    {
        Ok(self.hive.stats(&queue.try_into().map_err(Into::into)?).await?)
    }

    /// Boxed, because a handler may submit to the same handle.
    fn run_inline(&self) -> BoxFuture<'_, Result<()>> {
        Box::pin(async move {
            if let Some(worker) = &self.inline {
                worker.run_due().await?;
            }
            Ok(())
        })
    }
}
