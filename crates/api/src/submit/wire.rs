//! Jobs to be submitted, and what became of them, as they go over the wire.

use keyrack_jobs::bee::{
    self, DEFAULT_RETRY_DELAY_MS, Submission,
    keys::{Hostname, Jid, QueueName, Tag, Tenant},
};
use keyrack_keys::PartError;
use keyrack_web::{Problem, error::bad_name};
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
    /// Number of retries. Default: 5.
    retries: Option<u32>,
    /// Time before each retry. Default: 30,000.
    retry_delay: Option<f64>,
    /// Wait 1, 2, 3, … times `retryDelay`.
    progressive_delay: Option<bool>,
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
        if self.retry_delay.is_some() || self.progressive_delay.is_some() {
            let delay = self.retry_delay.unwrap_or(DEFAULT_RETRY_DELAY_MS);
            job = job.retry_delay_ms(delay, self.progressive_delay.unwrap_or(false));
        }
        if let Some(ttl) = self.ttl {
            job = job.ttl_ms(ttl);
        }
        if let Some(ttl) = self.failed_ttl {
            job = job.failed_ttl_ms(ttl);
        }
        job.validate()?;
        Ok(job)
    }
}

fn part<T>(field: &'static str, part: Result<T, PartError>) -> Result<T, Problem> {
    part.map_err(|error| bad_name(&error).field(field))
}

/// A job that was submitted.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct SubmittedJob {
    /// Its id.
    pub(crate) jid: String,
    /// Whether this request created it; otherwise an earlier one with the same id or key did.
    pub(crate) created: bool,
}

/// A job that was submitted, and its queue.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct SubmittedOne {
    pub(crate) queue: String,
    #[serde(flatten)]
    pub(crate) job: SubmittedJob,
}

/// The answer to a list of jobs.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct SubmittedMany {
    /// One for each job, in order.
    jobs: Vec<Answer>,
}

/// The answer to a job, or to a list of jobs.
#[derive(Debug, Serialize, ToSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "only the description of the API has it")]
pub(crate) enum Submitted {
    One(SubmittedOne),
    Many(SubmittedMany),
}

/// The answer to one job of a list.
#[derive(Debug, Serialize, ToSchema)]
#[serde(untagged)]
#[schema(as = SubmittedAnswer)]
enum Answer {
    Submitted(SubmittedJob),
    /// Why it was refused.
    Refused {
        #[schema(value_type = keyrack_web::ProblemBody<'static>)]
        problem: serde_json::Value,
    },
}

impl From<Vec<Result<SubmittedJob, Problem>>> for SubmittedMany {
    fn from(submitted: Vec<Result<SubmittedJob, Problem>>) -> SubmittedMany {
        let answer = |job: Result<SubmittedJob, Problem>| match job {
            Ok(job) => Answer::Submitted(job),
            Err(problem) => Answer::Refused {
                problem: serde_json::to_value(problem.body()).unwrap_or_default(),
            },
        };
        SubmittedMany { jobs: submitted.into_iter().map(answer).collect() }
    }
}
