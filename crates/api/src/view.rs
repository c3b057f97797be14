//! Jobs as they go over the wire. Data and results keep every digit: they are passed on as they are stored.

use std::{borrow::Cow, collections::BTreeMap};

use keyrack_jobs::bee::{Job, Progress, Status, UniqueRequest};
use serde::Serialize;
use serde_json::value::RawValue;
use utoipa::{
    PartialSchema, ToSchema,
    openapi::{RefOr, Schema},
};

/// A job.
#[derive(Debug, Serialize)]
#[serde(transparent)]
pub(super) struct JobView(Job);

impl From<Job> for JobView {
    fn from(job: Job) -> JobView {
        JobView(job)
    }
}

/// What the description says about a job.
#[derive(ToSchema)]
#[schema(as = Job, rename_all = "camelCase")]
#[expect(dead_code, reason = "jobs write themselves; a test compares the two")]
struct JobSchema {
    /// Its id.
    jid: String,
    /// Its queue.
    queue: String,
    /// Its status.
    status: Status,
    /// The arguments for the worker.
    data: Vec<serde_json::Value>,
    /// Its options, as they are stored.
    #[schema(value_type = Object)]
    options: (),
    /// The worker that claimed it last.
    worker: Option<String>,
    /// When it was submitted, in Unix milliseconds.
    submitted: u64,
    /// How often it was retried.
    retries: u64,
    /// How often keyrack workers claimed it.
    attempts: u64,
    /// How many workers were lost while they ran it.
    deaths: u64,
    /// Words to find it by.
    tags: Vec<String>,
    /// On whose behalf it runs.
    tenant: Option<String>,
    /// The job that submitted it.
    parent: Option<String>,
    /// Which other submissions this job stands for: what they have in common and for how long, as `unique` said when it was
    /// submitted, with all defaults filled in. Null if it was submitted without.
    unique: Option<UniqueRequest>,
    /// The text that is equal for its duplicates.
    hash: Option<String>,
    /// The job that it is a duplicate of.
    duplicate: Option<String>,
    /// What the worker returned.
    result: serde_json::Value,
    /// Why it failed permanently.
    failed_reason: Option<String>,
    /// The group of failures that its last failed attempt is in.
    error_group: Option<String>,
    /// The last progress that its worker reported. Null for jobs in events.
    progress: Option<Progress>,
    /// The jobs that wait for it.
    dependants: Vec<String>,
    /// What happened to it, oldest first.
    #[schema(value_type = Vec<Object>)]
    history: Vec<()>,
}

impl PartialSchema for JobView {
    fn schema() -> RefOr<Schema> {
        JobSchema::schema()
    }
}

impl ToSchema for JobView {
    fn name() -> Cow<'static, str> {
        JobSchema::name()
    }

    fn schemas(schemas: &mut Vec<(String, RefOr<Schema>)>) {
        schemas.push((Status::name().into_owned(), Status::schema()));
        schemas.push((Progress::name().into_owned(), Progress::schema()));
        schemas.push((UniqueRequest::name().into_owned(), UniqueRequest::schema()));
        JobSchema::schemas(schemas);
    }
}

/// A job for the worker that has just claimed it.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct ClaimedJob {
    /// Its id.
    jid: String,
    /// The number of this attempt. Send it back with the outcome: the outcome of an older attempt is refused.
    attempt: u64,
    /// How many milliseconds this attempt may take, if that is limited. Then the job is taken from the worker, and the attempt
    /// has failed; heartbeats do not change that.
    timeout: Option<u64>,
    /// The arguments.
    #[schema(value_type = Vec<serde_json::Value>)]
    data: Box<RawValue>,
    /// Its options, as they are stored.
    #[schema(value_type = Object)]
    options: Box<RawValue>,
    /// Its queue.
    queue: String,
    /// When it was submitted, in Unix milliseconds.
    submitted: u64,
    /// How often it was retried.
    retries: u64,
    /// Words to find it by.
    tags: Vec<String>,
    /// On whose behalf it runs.
    tenant: Option<String>,
    /// The job that submitted it.
    parent: Option<String>,
    /// The span that submitted it, if it belongs to a trace, in the form of the W3C header: the parent of the worker's span.
    traceparent: Option<String>,
    /// What tracing systems have added, in the form of the W3C header.
    tracestate: Option<String>,
    /// What its submitter wants to be known of it, by name.
    metadata: BTreeMap<String, String>,
}

impl ClaimedJob {
    /// The job, and how long an attempt may take at jobs of its queue that do not say so.
    pub(super) fn new(job: &Job, queue_timeout_ms: Option<u64>) -> ClaimedJob {
        let options = job.options();
        ClaimedJob {
            timeout: options.timeout.or(queue_timeout_ms),
            traceparent: options.traceparent,
            tracestate: options.tracestate,
            metadata: options.metadata,
            jid: job.jid().to_owned(),
            attempt: job.attempts(),
            data: list(job.data()),
            options: object(job.options_json()),
            queue: job.queue().to_owned(),
            submitted: job.submitted(),
            retries: job.retries(),
            tags: job.tags(),
            tenant: job.tenant().map(str::to_owned),
            parent: job.parent().map(str::to_owned),
        }
    }
}

fn raw(text: &str) -> Option<Box<RawValue>> {
    RawValue::from_string(text.to_owned()).ok()
}

/// A list; what Lua has written as `{}` is an empty one.
fn list(text: &str) -> Box<RawValue> {
    raw(text).filter(|raw| raw.get().starts_with('[')).unwrap_or_else(|| constant("[]"))
}

fn object(text: &str) -> Box<RawValue> {
    raw(text).filter(|raw| raw.get().starts_with('{')).unwrap_or_else(|| constant("{}"))
}

fn constant(text: &str) -> Box<RawValue> {
    raw(text).expect("a constant of ours is JSON")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn keys(value: &serde_json::Value) -> BTreeSet<String> {
        value.as_object().expect("an object").keys().cloned().collect()
    }

    #[tokio::test]
    async fn jobs_have_the_fields_that_are_described() {
        let store = keyrack_store::Store::open("embedded:memory").await.expect("a store");
        let hive = keyrack_jobs::bee::Hive::open(store).await.expect("a hive");
        let job = keyrack_jobs::bee::Submission::new("emails").expect("a queue");
        let jid = hive.submit(job).await.expect("submitted");
        let job = JobView::from(hive.job(&jid).await.expect("the job"));
        let told = serde_json::to_value(&job).expect("JSON");
        let described = serde_json::to_value(JobView::schema()).expect("JSON");
        assert_eq!(keys(&told), keys(&described["properties"]));
    }
}
