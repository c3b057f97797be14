//! The options of a job to be submitted.

use std::{
    fmt,
    marker::PhantomData,
    time::{Duration, SystemTime},
};

use futures_util::future::BoxFuture;
use keyrack_jobs::bee::{Backoff, Hive, Submission, Unique, checked_priority};
use keyrack_trace::TraceContext;

use super::{Context, Hostname, JobHandle, JobId, Jobs, LimitName, QueueName, Tag, Task, Tenant};
use crate::{Error, Keyrack, Result, rack::unix_ms};

/// Who submits a job: [`Jobs`], a [`Keyrack`], or the [`Context`] of a running job.
#[derive(Debug, Clone)]
pub struct Submitter {
    jobs: Jobs,
    parent: Option<Context>,
}

impl From<&Jobs> for Submitter {
    fn from(jobs: &Jobs) -> Submitter {
        Submitter { jobs: jobs.clone(), parent: None }
    }
}

impl From<&Keyrack> for Submitter {
    fn from(rack: &Keyrack) -> Submitter {
        Submitter { jobs: rack.jobs(), parent: None }
    }
}

impl From<&Hive> for Submitter {
    fn from(hive: &Hive) -> Submitter {
        Submitter { jobs: Jobs::new(hive.clone()), parent: None }
    }
}

impl From<&Context> for Submitter {
    fn from(context: &Context) -> Submitter {
        Submitter { jobs: Jobs::new(context.hive().clone()), parent: Some(context.clone()) }
    }
}

/// A task to be submitted, when it is awaited. What is not set is as its queue says, or as the defaults of all queues are.
#[must_use = "a job is submitted when this is awaited"]
pub struct Submit<T> {
    to: Submitter,
    /// Or the first option that made no sense.
    submission: Result<Submission>,
    at: Option<SystemTime>,
    task: PhantomData<fn() -> T>,
}

impl<T> fmt::Debug for Submit<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Submit").field(&self.submission).finish()
    }
}

impl<T: Task> Submit<T> {
    pub(super) fn new(task: &T, to: Submitter) -> Submit<T> {
        let queue = QueueName::new(T::QUEUE);
        let submission = queue.map(|queue| Submission::to(queue).arg(task)).map_err(Error::from);
        Submit { to, submission, at: None, task: PhantomData }
    }

    /// 10 runs next, 0 in order of submission, negative later.
    pub fn priority(self, priority: f64) -> Self {
        self.try_set(checked_priority(priority), Submission::priority)
    }

    /// Waits for this time before it may run.
    pub fn delay(self, delay: Duration) -> Self {
        let job = self.set(|job| job.delay_ms(delay.as_secs_f64() * 1000.0));
        Submit { at: None, ..job }
    }

    /// Waits until this time before it may run: a `SystemTime`, a [`Timestamp`](crate::Timestamp), or what becomes one. A
    /// time that is over is now.
    pub fn at(mut self, time: impl Into<SystemTime>) -> Self {
        self.at = Some(time.into());
        self
    }

    /// How often it is tried again after a failure; 5 by default.
    pub fn retries(self, retries: u32) -> Self {
        self.set(|job| job.retries(retries))
    }

    /// How long it waits before each retry; half a minute by default.
    pub fn backoff(self, backoff: Backoff) -> Self {
        self.set(|job| job.backoff(backoff))
    }

    /// How long an attempt may take before it is stopped and has failed.
    pub fn timeout(self, timeout: Duration) -> Self {
        self.set(|job| job.timeout(timeout))
    }

    /// Within what time it has to start. If it has not, it ends as expired and is never run.
    pub fn start_within(self, time: Duration) -> Self {
        self.set(|job| job.start_within(time))
    }

    /// Which other submissions are for the same job.
    pub fn unique(self, unique: Unique) -> Self {
        self.set(|job| job.unique(unique))
    }

    /// A text that is kept with the job under this name, such as the id of a request.
    pub fn metadata(self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.set(|job| job.metadata(name, value))
    }

    /// The trace that it belongs to. By default that of the job whose handler submits it, or of the request that the library's
    /// server answers.
    pub fn trace(self, context: TraceContext) -> Self {
        self.set(|job| job.trace(context))
    }

    /// How long its result is kept; half an hour by default.
    pub fn ttl(self, ttl: Duration) -> Self {
        self.set(|job| job.ttl_ms(whole_ms(ttl)))
    }

    /// How long it is kept if it fails; 7 days by default.
    pub fn failed_ttl(self, ttl: Duration) -> Self {
        self.set(|job| job.failed_ttl_ms(whole_ms(ttl)))
    }

    /// On whose behalf it runs: the tenants of a queue take turns.
    pub fn tenant<N>(self, tenant: N) -> Self
    where
        N: TryInto<Tenant, Error: Into<Error>>,
    {
        self.try_set(tenant.try_into(), Submission::tenant)
    }

    /// A limit of its queue that counts it, such as the host that it calls; repeatable. It starts when all of its limits let it.
    pub fn limit<N>(self, limit: N) -> Self
    where
        N: TryInto<LimitName, Error: Into<Error>>,
    {
        self.try_set(limit.try_into(), |job, limit| job.limit(&limit))
    }

    /// A word by which it is found.
    pub fn tag<N>(self, tag: N) -> Self
    where
        N: TryInto<Tag, Error: Into<Error>>,
    {
        self.try_set(tag.try_into(), Submission::tag)
    }

    /// Words by which it is found.
    pub fn tags<N>(self, tags: impl IntoIterator<Item = N>) -> Self
    where
        N: TryInto<Tag, Error: Into<Error>>,
    {
        tags.into_iter().fold(self, Submit::tag)
    }

    /// Waits until this job has ended, in whatever way.
    pub fn after<N>(self, job: N) -> Self
    where
        N: TryInto<JobId, Error: Into<Error>>,
    {
        self.try_set(job.try_into(), Submission::after)
    }

    /// Waits until all jobs that have all of this job's tags have ended.
    pub fn after_tags(self) -> Self {
        self.set(Submission::after_tags)
    }

    /// An id of one's own; submitting it again is refused, so that a repeated call makes no second job.
    pub fn id<N>(self, id: N) -> Self
    where
        N: TryInto<JobId, Error: Into<Error>>,
    {
        self.try_set(id.try_into(), Submission::id)
    }

    /// The host whose workers hear of it first; any worker may take it.
    pub fn preferred_host<N>(self, host: N) -> Self
    where
        N: TryInto<Hostname, Error: Into<Error>>,
    {
        self.try_set(host.try_into(), |job, host| job.preferred_host(&host))
    }

    fn set(self, set: impl FnOnce(Submission) -> Submission) -> Self {
        Submit { submission: self.submission.map(set), ..self }
    }

    fn try_set<N, E: Into<Error>>(
        self,
        name: std::result::Result<N, E>,
        set: impl FnOnce(Submission, N) -> Submission,
    ) -> Self {
        let submission = self.submission.and_then(|job| {
            let name = name.map_err(Into::into)?;
            Ok(set(job, name))
        });
        Submit { submission, ..self }
    }

    /// The submission for the queue, at this time.
    pub(super) fn into_submission(self, now_ms: u64) -> Result<Submission> {
        let job = self.submission?;
        Ok(match self.at {
            Some(at) => job.delay_ms(unix_ms(at).saturating_sub(now_ms) as f64),
            None => job,
        })
    }
}

impl<T: Task> IntoFuture for Submit<T> {
    type Output = Result<JobHandle<T>>;
    type IntoFuture = BoxFuture<'static, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move {
            let (to, hive) = (self.to.clone(), self.to.jobs.hive().clone());
            let mut job = self.into_submission(hive.now_ms())?;
            if let Some(parent) = &to.parent {
                job = parent.as_parent(job).await?;
            }
            let stored = hive.submit_unique(job).await?;
            to.jobs.run_inline().await?;
            Ok(JobHandle::new(hive, stored))
        })
    }
}

/// So many milliseconds that they are refused, if there are more than a number can hold.
fn whole_ms(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
