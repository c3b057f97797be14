//! Jobs to be submitted, and what became of them, as they go over the wire.

use std::{collections::BTreeMap, time::Duration};

use keyrack_jobs::bee::{
    self, BackoffKind, BackoffWish, StoredJob, Submission, SubmitOutcome, UniqueRequest,
    keys::{Hostname, Jid, LimitName, QueueName, Tag, Tenant},
};
use keyrack_keys::PartError;
use keyrack_web::Problem;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use utoipa::ToSchema;

/// One job or a list of jobs.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(untagged)]
#[expect(
    dead_code,
    reason = "only the description of the API has it: data is to keep all its digits"
)]
pub(crate) enum NewJobs {
    One(Box<NewJob>),
    Many(Vec<NewJob>),
}

/// A job to submit. Times are in milliseconds.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct NewJob {
    /// The arguments for the worker.
    #[schema(value_type = Option<Vec<serde_json::Value>>)]
    data: Option<Box<RawValue>>,
    /// Your own id. Default: a new one.
    jid: Option<String>,
    /// 10 runs next, 0 in order of submission, negative later; at most 10. Default: 0.
    priority: Option<f64>,
    /// Earliest start, from now. Default: 0.
    delay: Option<f64>,
    /// Ids of jobs that must end first, in any state. An unknown id counts as ended.
    #[serde(default)]
    dependencies: Vec<String>,
    /// Wait for all jobs that have all of this job's tags.
    #[serde(default)]
    dependencies_on_tags: bool,
    /// The host whose workers are notified first.
    preferred_hostname: Option<String>,
    /// Number of retries. Default: the queue's retries, which are 5 by default.
    retries: Option<u32>,
    /// Time before the first retry. Default: the queue's retry delay, which is 30,000 by default.
    retry_delay: Option<f64>,
    /// Wait 1, 2, 3, … times `retryDelay`: the same as the backoff `linear`.
    progressive_delay: Option<bool>,
    /// How the time before a retry grows: not at all, by `retryDelay` each time, or to twice the last one.
    backoff: Option<BackoffKind>,
    /// The longest time before a retry, at least `retryDelay`.
    retry_delay_max: Option<f64>,
    /// The random share of each time before a retry, from 0 to 1. Default: 0.
    #[schema(minimum = 0, maximum = 1)]
    retry_jitter: Option<f64>,
    /// How long an attempt may take. Default: the queue's timeout, or the worker's.
    #[schema(minimum = 1)]
    timeout: Option<u64>,
    /// How long after its submission it must have started; otherwise it ends as expired.
    #[schema(minimum = 1)]
    start_within: Option<u64>,
    /// How long the result is kept. Default: 1,800,000.
    ttl: Option<u64>,
    /// How long a failed job is kept; 0 means as long as a result. Default: the queue's failed TTL, which is 7 days by
    /// default.
    failed_ttl: Option<u64>,
    /// Words to find it by.
    #[serde(default)]
    tags: Vec<String>,
    /// The job that submits it; canceling the parent cancels it.
    parent: Option<String>,
    /// On whose behalf it runs: the tenants of a queue take turns.
    tenant: Option<String>,
    /// The limits of its queue that count it, by name; at most 10.
    #[serde(default)]
    limits: Vec<String>,
    /// Which other submissions are for the same job.
    unique: Option<UniqueRequest>,
    /// Texts that are kept with it, by name: at most 16, and 4,096 bytes in all.
    #[serde(default)]
    metadata: BTreeMap<String, String>,
    /// The span that submits it, in the form of the W3C header. Default: the header `traceparent` of the request.
    traceparent: Option<String>,
    /// What tracing systems have added. Default: the header `tracestate`, if `traceparent` is a header.
    tracestate: Option<String>,
}

impl NewJob {
    /// The job as the queue takes it, under the id that it brings or else the one given.
    pub(crate) fn into_submission(
        self,
        queue: &QueueName,
        jid: Option<Jid>,
    ) -> Result<Submission, Problem> {
        let mut job = Submission::to(queue.clone());
        if let Some(data) = &self.data {
            job = job.args_json(data.get())?;
        }
        let own = self.jid.map(|jid| part("jid", Jid::new(jid))).transpose()?;
        if let Some(jid) = own.or(jid) {
            job = job.id(jid);
        }
        for dependency in self.dependencies {
            job = job.after(part("dependencies", Jid::new(dependency))?);
        }
        for tag in self.tags {
            job = job.tag(part("tags", Tag::new(tag))?);
        }
        if let Some(parent) = self.parent {
            job = job.parent(part("parent", Jid::new(parent))?);
        }
        if let Some(tenant) = self.tenant {
            job = job.tenant(part("tenant", Tenant::new(tenant))?);
        }
        for limit in self.limits {
            job = job.limit(&part("limits", LimitName::new(limit))?);
        }
        if let Some(host) = self.preferred_hostname {
            job = job.preferred_host(&part("preferredHostname", Hostname::new(host))?);
        }
        if self.dependencies_on_tags {
            job = job.after_tags();
        }
        let priority = bee::checked_priority(self.priority.unwrap_or(0.0))?;
        job = job.priority(priority).delay_ms(self.delay.unwrap_or(0.0));
        if let Some(retries) = self.retries {
            job = job.retries(retries);
        }
        let asked = BackoffWish {
            kind: self.backoff,
            progressive: self.progressive_delay.unwrap_or(false),
            delay: self.retry_delay,
            longest: self.retry_delay_max,
            jitter: self.retry_jitter,
        };
        if let Some(backoff) = asked.backoff()? {
            job = job.backoff(backoff);
        }
        if let Some(timeout) = self.timeout {
            job = job.timeout(Duration::from_millis(timeout));
        }
        if let Some(time) = self.start_within {
            job = job.start_within(Duration::from_millis(time));
        }
        if let Some(unique) = self.unique {
            job = job.unique(unique.unique()?);
        }
        if let Some(ttl) = self.ttl {
            job = job.ttl_ms(ttl);
        }
        if let Some(ttl) = self.failed_ttl {
            job = job.failed_ttl_ms(ttl);
        }
        for (name, value) in self.metadata {
            job = job.metadata(name, value);
        }
        let trace = bee::trace_context(self.traceparent.as_deref(), self.tracestate.as_deref())?;
        if let Some(trace) = trace {
            job = job.trace(trace);
        }
        job.validate()?;
        Ok(job)
    }
}

fn part<T>(field: &'static str, part: Result<T, PartError>) -> Result<T, Problem> {
    part.map_err(|reason| keyrack_jobs::Error::Name { field, reason }.into())
}

/// A job that was submitted.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct SubmittedJob {
    /// Its id.
    pub(crate) jid: String,
    /// Whether this request created it; otherwise an earlier one with the same id or key did.
    pub(crate) created: bool,
    /// What has become of the submission, if it has `unique`: the job is new, it existed before, or it existed and has the
    /// arguments of this submission now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) outcome: Option<SubmitOutcome>,
}

impl SubmittedJob {
    pub(crate) fn new(stored: &StoredJob, is_unique: bool) -> SubmittedJob {
        SubmittedJob {
            jid: stored.jid.to_string(),
            created: stored.outcome == SubmitOutcome::Created,
            outcome: is_unique.then_some(stored.outcome),
        }
    }
}

/// A job that was submitted, and its queue.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct SubmittedOne {
    pub(crate) queue: String,
    #[serde(flatten)]
    pub(crate) job: SubmittedJob,
}

/// A list of jobs that was submitted.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct SubmittedMany {
    /// One for each, in order.
    pub(crate) jobs: Vec<SubmittedJob>,
}

/// The answer to a job, or to a list of jobs.
#[derive(Debug, Serialize, ToSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "only the description of the API has it")]
pub(crate) enum Submitted {
    One(SubmittedOne),
    Many(SubmittedMany),
}
