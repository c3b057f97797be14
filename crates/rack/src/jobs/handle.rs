//! A job that was submitted.

use std::{any::type_name, fmt, marker::PhantomData, time::Duration};

use keyrack_jobs::bee::{Hive, Job, Status, StoredJob, SubmitOutcome, Why};

use super::{JobId, Task};
use crate::{Error, Result};

/// A job that was submitted, or the one that stands for it.
pub struct JobHandle<T> {
    hive: Hive,
    stored: StoredJob,
    task: PhantomData<fn() -> T>,
}

impl<T> Clone for JobHandle<T> {
    fn clone(&self) -> Self {
        JobHandle { hive: self.hive.clone(), stored: self.stored.clone(), task: PhantomData }
    }
}

impl<T> fmt::Debug for JobHandle<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("JobHandle").field(&self.stored).finish()
    }
}

impl<T: Task> JobHandle<T> {
    pub(super) fn new(hive: Hive, stored: StoredJob) -> JobHandle<T> {
        JobHandle { hive, stored, task: PhantomData }
    }

    /// Its id.
    pub fn id(&self) -> &JobId {
        &self.stored.jid
    }

    /// Whether the submission made a new job. Not so if an equal one stands for it; see [`Unique`](super::Unique).
    pub fn is_new(&self) -> bool {
        self.stored.outcome == SubmitOutcome::Created
    }

    /// What became of the submission.
    pub fn submit_outcome(&self) -> SubmitOutcome {
        self.stored.outcome
    }

    /// Waits for this time at most until the job has ended, and returns its result.
    ///
    /// # Errors
    /// [`Error::JobFailed`] with the reason when it failed for good, [`Error::JobEnded`] when it was canceled or has expired,
    /// [`Error::NotEnded`] when the time is over: the job goes on then.
    pub async fn wait(&self, patience: Duration) -> Result<T::Output> {
        match self.hive.outcome(self.id(), patience).await? {
            Some(job) => output::<T>(&job),
            None => Err(Error::NotEnded { jid: self.id().to_string(), waited: patience }),
        }
    }

    /// The result of a job that has ended.
    ///
    /// # Errors
    /// As [`JobHandle::wait`].
    pub async fn result(&self) -> Result<T::Output> {
        self.wait(Duration::ZERO).await
    }

    /// The job as it is stored.
    ///
    /// # Errors
    /// When it is not there any more, or when the store fails.
    pub async fn job(&self) -> Result<Job> {
        Ok(self.hive.job(self.id()).await?)
    }

    /// Where in its life the job is.
    ///
    /// # Errors
    /// As [`JobHandle::job`].
    pub async fn status(&self) -> Result<Status> {
        Ok(self.job().await?.status())
    }

    /// Why it does not run, in sentences.
    ///
    /// # Errors
    /// As [`JobHandle::job`].
    pub async fn why(&self) -> Result<Why> {
        Ok(self.hive.why(self.id()).await?)
    }

    /// Cancels it, and the jobs that it has submitted.
    ///
    /// # Errors
    /// When it has ended already, or when the store fails.
    pub async fn cancel(&self) -> Result<()> {
        self.hive.cancel(self.id()).await?;
        Ok(())
    }

    /// Lets a job that has failed or was canceled run again.
    ///
    /// # Errors
    /// When it is in another state, or when the store fails.
    pub async fn retry(&self) -> Result<()> {
        self.hive.retry(self.id()).await?;
        Ok(())
    }
}

/// What a job that has ended gave.
fn output<T: Task>(job: &Job) -> Result<T::Output> {
    let jid = job.jid().to_owned();
    let reason = job.failed_reason().map(ToOwned::to_owned);
    match job.status() {
        Status::Completed => serde_json::from_str(job.result().unwrap_or("null"))
            .map_err(|source| Error::Result { jid, output: type_name::<T::Output>(), source }),
        Status::Failed => Err(Error::JobFailed { jid, reason: reason.unwrap_or_default() }),
        status => Err(Error::JobEnded { jid, status, reason }),
    }
}
