//! Jobs as they go over the wire. Data and results keep every digit: they are passed on as they are stored.

use keyrack_jobs::bee::{HistoryEntry, Job, Status};
use serde::Serialize;
use serde_json::value::RawValue;
use utoipa::ToSchema;

/// A job.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Job)]
pub(super) struct JobView {
    /// Its id.
    jid: String,
    /// Its queue.
    queue: String,
    /// Where in its life it is.
    status: Status,
    /// The arguments for the worker.
    #[schema(value_type = Vec<serde_json::Value>)]
    data: Box<RawValue>,
    /// How it is to be run, as it is stored.
    #[schema(value_type = Object)]
    options: Box<RawValue>,
    /// The worker that took it last.
    worker: Option<String>,
    /// When it was submitted, in unix milliseconds.
    submitted: u64,
    /// How often it was tried again.
    retries: u64,
    /// How often keyrack workers took it.
    attempts: u64,
    /// How many workers were lost while they ran it.
    deaths: u64,
    /// The words it is found by.
    tags: Vec<String>,
    /// On whose behalf it runs.
    tenant: Option<String>,
    /// The job that submitted it.
    parent: Option<String>,
    /// What its duplicates have in common with it.
    hash: Option<String>,
    /// The job that it is a duplicate of.
    duplicate: Option<String>,
    /// What the worker returned.
    #[schema(value_type = serde_json::Value)]
    result: Option<Box<RawValue>>,
    /// Why it failed for good.
    #[serde(rename = "failedReason")]
    failed_reason: Option<String>,
    /// The jobs that wait for it.
    dependants: Vec<String>,
    /// What happened to it, oldest first.
    #[schema(value_type = Vec<Object>)]
    history: Vec<HistoryEntry>,
}

impl From<&Job> for JobView {
    fn from(job: &Job) -> JobView {
        let text = |text: Option<&str>| text.map(str::to_owned);
        JobView {
            jid: job.jid().to_owned(),
            queue: job.queue().to_owned(),
            status: job.status(),
            data: list(job.data()),
            options: object(job.options_json()),
            worker: text(Some(job.worker()).filter(|worker| !worker.is_empty())),
            submitted: job.submitted(),
            retries: job.retries(),
            attempts: job.attempts(),
            deaths: job.deaths(),
            tags: job.tags(),
            tenant: text(job.tenant()),
            parent: text(job.parent()),
            hash: text(job.hash()),
            duplicate: text(job.duplicate_of()),
            result: job.result().and_then(raw),
            failed_reason: text(job.failed_reason()),
            dependants: job.dependants(),
            history: job.history(),
        }
    }
}

/// A job for the worker that has just claimed it.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct ClaimedJob {
    /// Its id.
    jid: String,
    /// Which attempt this is. Give it back with the outcome: what belongs to an older attempt changes nothing.
    attempt: u64,
    /// The arguments.
    #[schema(value_type = Vec<serde_json::Value>)]
    data: Box<RawValue>,
    /// How it is to be run, as it is stored.
    #[schema(value_type = Object)]
    options: Box<RawValue>,
    /// Its queue.
    queue: String,
    /// When it was submitted, in unix milliseconds.
    submitted: u64,
    /// How often it was tried again.
    retries: u64,
    /// The words it is found by.
    tags: Vec<String>,
    /// On whose behalf it runs.
    tenant: Option<String>,
    /// The job that submitted it.
    parent: Option<String>,
}

impl From<&Job> for ClaimedJob {
    fn from(job: &Job) -> ClaimedJob {
        ClaimedJob {
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
