//! A job as it is stored, and as listeners get it.

mod options;
mod wire;

use std::sync::{Arc, LazyLock};

use keyrack_trace::TraceContext;
use redis::{FromRedisValue, ParsingError, Value};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};

use self::options::plain_number;
pub use self::options::{DEFAULT_RETRIES, DEFAULT_RETRY_DELAY_MS, DEFAULT_TTL_MS, Options};
use super::{
    json_compat,
    keys::{Jid, QueueName, WorkerId},
    progress::Progress,
    submit::UniqueRequest,
};

/// The fields of a job, in the order in which the scripts return them.
const FIELDS: [&str; 20] = [
    "jid",
    "queue",
    "data",
    "options",
    "worker",
    "status",
    "submitted",
    "retries",
    "tags",
    "history",
    "result",
    "parent",
    "hash",
    "duplicate",
    "failedReason",
    "dependants",
    "attempts",
    "deaths",
    "tenant",
    "errorGroup",
];

/// The fields that a claim tells, in the order of the script.
const CLAIM_FIELDS: [&str; 13] = [
    "jid",
    "data",
    "options",
    "submitted",
    "retries",
    "tags",
    "history",
    "parent",
    "hash",
    "attempts",
    "deaths",
    "tenant",
    "dependants",
];

static CLAIM_FIELDS_AT: LazyLock<[usize; CLAIM_FIELDS.len()]> = LazyLock::new(|| {
    CLAIM_FIELDS
        .map(|name| FIELDS.iter().position(|field| *field == name).expect("a field of a job"))
});

/// Where in its life a job is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum Status {
    /// Stored; waits for other jobs, for its time, or for its tenant's turn.
    New,
    /// In the working queue.
    Queued,
    /// On a worker.
    Running,
    /// Done; the result is stored.
    Completed,
    /// The same as an earlier job, whose outcome counts.
    Duplicate,
    /// Failed, and will be tried again.
    Retried,
    /// Failed for good.
    Failed,
    /// Canceled.
    Canceled,
    /// Ended long ago; about to go.
    Expired,
}

impl Status {
    /// Every status, in the order of a job's life.
    pub const ALL: [Status; 9] = [
        Status::New,
        Status::Queued,
        Status::Running,
        Status::Completed,
        Status::Duplicate,
        Status::Retried,
        Status::Failed,
        Status::Canceled,
        Status::Expired,
    ];

    /// The word that is stored.
    pub fn as_str(self) -> &'static str {
        match self {
            Status::New => "new",
            Status::Queued => "queued",
            Status::Running => "running",
            Status::Completed => "completed",
            Status::Duplicate => "duplicate",
            Status::Retried => "retried",
            Status::Failed => "failed",
            Status::Canceled => "canceled",
            Status::Expired => "expired",
        }
    }

    /// Whether nothing more will happen to the job by itself.
    pub fn is_final(self) -> bool {
        !matches!(self, Status::New | Status::Queued | Status::Running | Status::Retried)
    }
}

impl std::fmt::Display for Status {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.as_str())
    }
}

impl std::str::FromStr for Status {
    type Err = String;

    fn from_str(text: &str) -> Result<Status, String> {
        Status::ALL.into_iter().find(|status| status.as_str() == text).ok_or_else(|| {
            let words = Status::ALL.map(Status::as_str).join("\", \"");
            format!("\"{text}\" is no status; use one of \"{words}\"")
        })
    }
}

/// One thing that happened to a job.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HistoryEntry {
    /// What happened.
    pub event: String,
    /// When, in unix milliseconds.
    #[serde(serialize_with = "plain_number")]
    pub timestamp: f64,
    /// The hive whose call made it happen.
    #[serde(default)]
    pub hive: String,
    /// What else is known.
    #[serde(flatten)]
    pub more: Map<String, Json>,
}

/// A job: its stored fields, read when asked for. As JSON it is for programs that are not Node hives. Cheap to clone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Job {
    stored: Arc<Stored>,
}

#[derive(Debug, Default, PartialEq, Eq)]
struct Stored {
    fields: [Option<String>; FIELDS.len()],
    reservation: Option<u64>,
    /// Scripts do not read it.
    progress: Option<String>,
}

impl Stored {
    fn field(&self, name: &'static str) -> Option<&str> {
        let at = FIELDS.iter().position(|field| *field == name)?;
        self.fields[at].as_deref()
    }

    fn set(&mut self, name: &'static str, value: String) {
        if let Some(at) = FIELDS.iter().position(|field| *field == name) {
            self.fields[at] = Some(value);
        }
    }

    /// What the script tells of a job that was just claimed, and what the worker knows.
    fn from_claim_fields(
        fields: &mut impl Iterator<Item = Option<String>>,
        queue: &QueueName,
        worker: &WorkerId,
    ) -> Stored {
        let mut job = Stored::default();
        for (&place, value) in CLAIM_FIELDS_AT.iter().zip(fields) {
            job.fields[place] = value;
        }
        job.set("queue", queue.as_str().to_owned());
        job.set("worker", worker.as_str().to_owned());
        job.set("status", Status::Running.as_str().to_owned());
        job
    }
}

impl From<Stored> for Job {
    fn from(stored: Stored) -> Job {
        Job { stored: Arc::new(stored) }
    }
}

impl Job {
    fn field(&self, name: &'static str) -> Option<&str> {
        self.stored.field(name)
    }

    /// Its id.
    pub fn jid(&self) -> &str {
        self.field("jid").unwrap_or_default()
    }

    /// Its id, if it can stand in a key.
    pub fn id(&self) -> Option<Jid> {
        Jid::new(self.jid()).ok()
    }

    /// Its queue.
    pub fn queue(&self) -> &str {
        self.field("queue").unwrap_or_default()
    }

    /// Its queue, if it can stand in a key.
    pub fn queue_name(&self) -> Option<QueueName> {
        QueueName::new(self.queue()).ok()
    }

    /// The arguments of the call as JSON text: an array, or `{}` where Node had none.
    pub fn data(&self) -> &str {
        self.field("data").unwrap_or("[]")
    }

    /// The arguments of the call.
    pub fn args(&self) -> Vec<Json> {
        serde_json::from_str(self.data()).unwrap_or_default()
    }

    /// How it is to be run.
    pub fn options(&self) -> Options {
        Options::parse(self.options_json())
    }

    /// The span that submitted it, if it belongs to a trace.
    pub fn trace(&self) -> Option<TraceContext> {
        // Few have one, and reading JSON for each would be felt.
        if !self.options_json().contains("\"traceparent\":") {
            return None;
        }
        let Options { traceparent, tracestate, .. } = self.options();
        TraceContext::from_headers(&traceparent?, tracestate.as_deref())
    }

    /// Which other submissions are for it, if it was submitted so: as its own submission said, with nothing left to a default.
    pub fn unique(&self) -> Option<UniqueRequest> {
        // Few are, and reading JSON for each would be felt.
        if !self.options_json().contains("\"unique\":") {
            return None;
        }
        self.options().unique
    }

    /// Whether its end lets no other start. When the job of a tenant ends, or one that names limits, the next of these is let in,
    /// which is never quick.
    pub(super) fn ends_alone(&self) -> bool {
        self.tenant().is_none() && !self.options_json().contains("\"limits\":")
    }

    /// How many bytes its fields have.
    pub(super) fn stored_bytes(&self) -> usize {
        self.stored.fields.iter().flatten().map(String::len).sum()
    }

    /// How it is to be run, as it is stored.
    pub fn options_json(&self) -> &str {
        self.field("options").unwrap_or("{}")
    }

    /// The worker that took it last; empty before the first.
    pub fn worker(&self) -> &str {
        self.field("worker").unwrap_or_default()
    }

    /// Where in its life it is.
    pub fn status(&self) -> Status {
        self.field("status").and_then(|word| word.parse().ok()).unwrap_or(Status::New)
    }

    /// When it was submitted, in unix milliseconds.
    pub fn submitted(&self) -> u64 {
        self.number("submitted")
    }

    /// How often it was tried again.
    pub fn retries(&self) -> u64 {
        self.number("retries")
    }

    /// How often keyrack workers took it: who settles it must name the attempt.
    pub fn attempts(&self) -> u64 {
        self.number("attempts")
    }

    /// How many workers were lost while they ran it.
    pub fn deaths(&self) -> u64 {
        self.number("deaths")
    }

    fn number(&self, name: &'static str) -> u64 {
        self.field(name).and_then(|text| text.parse::<f64>().ok()).unwrap_or(0.0) as u64
    }

    /// The words it is found by.
    pub fn tags(&self) -> Vec<String> {
        self.list("tags")
    }

    /// The jobs that wait for it.
    pub fn dependants(&self) -> Vec<String> {
        self.list("dependants")
    }

    /// Whether jobs wait for it, or did when it was read.
    pub(crate) fn is_awaited(&self) -> bool {
        self.field("dependants").is_some()
    }

    /// What happened to it, as it is stored.
    pub(crate) fn history_json(&self) -> &str {
        self.field("history").unwrap_or_default()
    }

    /// What happened to it, oldest first.
    pub fn history(&self) -> Vec<HistoryEntry> {
        self.list("history")
    }

    // Lua writes an empty list as `{}`.
    fn list<T: serde::de::DeserializeOwned>(&self, name: &'static str) -> Vec<T> {
        self.field(name).and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default()
    }

    /// What the worker returned, as JSON text.
    pub fn result(&self) -> Option<&str> {
        self.field("result")
    }

    /// The job that submitted it.
    pub fn parent(&self) -> Option<&str> {
        self.field("parent")
    }

    /// What its duplicates have in common with it.
    pub fn hash(&self) -> Option<&str> {
        self.field("hash")
    }

    /// The hash that its data gives, which is the one Node hives find.
    ///
    /// # Errors
    /// When the data is not JSON, which only a stray write can have caused.
    pub fn data_hash(&self) -> Result<String, json_compat::Error> {
        json_compat::data_hash(self.data())
    }

    /// The job that it is a duplicate of.
    pub fn duplicate_of(&self) -> Option<&str> {
        self.field("duplicate")
    }

    /// Why it failed for good.
    pub fn failed_reason(&self) -> Option<&str> {
        self.field("failedReason")
    }

    /// The [group](super::errors::ErrorGroup) of its last failed attempt.
    pub fn error_group(&self) -> Option<&str> {
        self.field("errorGroup")
    }

    /// The last progress that its worker reported. Known of jobs that were looked up, not of those in events or just claimed.
    pub fn progress(&self) -> Option<Progress> {
        serde_json::from_str(self.stored.progress.as_deref()?).ok()
    }

    /// On whose behalf it runs.
    pub fn tenant(&self) -> Option<&str> {
        self.field("tenant")
    }

    /// The reservation in which its worker took it, if it did not claim it by itself.
    pub fn reservation(&self) -> Option<u64> {
        self.stored.reservation
    }

    /// Jobs that were just claimed: what the script tells of them, one after the other, and what the worker knows.
    pub(crate) fn from_claim(
        fields: Vec<Option<Vec<u8>>>,
        queue: &QueueName,
        worker: &WorkerId,
    ) -> Vec<Job> {
        let mut jobs = Vec::with_capacity(fields.len() / CLAIM_FIELDS.len());
        let mut fields = fields.into_iter().map(|value| value.map(into_text));
        while fields.len() >= CLAIM_FIELDS.len() {
            jobs.push(Stored::from_claim_fields(&mut fields, queue, worker).into());
        }
        jobs
    }

    /// A job that was just taken in a reservation: what is stored of it, and what will be when its worker tells of it. Nothing if
    /// there is no such job, or if it waits no longer.
    pub(crate) fn from_reservation(
        jid: &Jid,
        stored: Vec<Value>,
        reservation: u64,
        queue: &QueueName,
        worker: &WorkerId,
        popped: &str,
    ) -> Option<Job> {
        let mut stored = stored.into_iter().map(|value| match value {
            Value::BulkString(bytes) => Some(into_text(bytes)),
            _ => None,
        });
        if stored.next().flatten().as_deref() != Some(Status::Queued.as_str()) {
            return None;
        }
        let mut fields = std::iter::once(Some(jid.to_string())).chain(stored);
        let mut job = Stored {
            reservation: Some(reservation),
            ..Stored::from_claim_fields(&mut fields, queue, worker)
        };
        job.field("data")?;
        job.field("options")?;
        let history = match job.field("history").and_then(|history| history.strip_suffix(']')) {
            Some(entries) if entries.len() > 1 => [entries, ",", popped, "]"].concat(),
            _ => ["[", popped, "]"].concat(),
        };
        let attempts = job.field("attempts").and_then(|text| text.parse().ok()).unwrap_or(0.0);
        job.set("attempts", (attempts as u64 + 1).to_string());
        job.set("history", history);
        Some(job.into())
    }

    /// The job in an event, which is a snapshot in the form of JSON of Node hives.
    pub(crate) fn from_snapshot(snapshot: &Json) -> Option<Job> {
        let text = |name: &str| match snapshot.get(name)? {
            Json::Null | Json::Bool(false) => None,
            Json::String(text) => Some(text.clone()),
            other => Some(other.to_string()),
        };
        let json = |name: &str| snapshot.get(name).map(ToString::to_string);
        let fields = FIELDS.map(|name| match name {
            "data" | "options" | "tags" | "history" | "result" | "dependants" => json(name),
            "duplicate" => snapshot.get(name)?.get("jid")?.as_str().map(Into::into),
            name => text(name),
        });
        fields[0].is_some().then(|| Stored { fields, ..Stored::default() }.into())
    }
}

impl FromRedisValue for Job {
    fn from_redis_value(value: Value) -> Result<Job, ParsingError> {
        let fields = <Vec<Option<Vec<u8>>>>::from_redis_value(value)?;
        let count = fields.len();
        let mut texts: Vec<_> = fields.into_iter().map(|field| field.map(into_text)).collect();
        // Scripts have joined the two fields of dependants already.
        let mut further = texts.drain(FIELDS.len().min(count)..);
        let (more_dependants, progress) = (further.next().flatten(), further.next().flatten());
        drop(further);
        let fields = texts.try_into().map_err(|_| {
            ParsingError::from(format!("a job has {} fields, not {count}", FIELDS.len()))
        })?;
        let mut stored = Stored { fields, progress, ..Stored::default() };
        if let Some(more) = more_dependants.filter(|more| more.len() > 2) {
            let all = match stored.field("dependants").and_then(|list| list.strip_suffix(']')) {
                Some(first) => format!("{first},{}", more.trim_start_matches('[')),
                None => more,
            };
            stored.set("dependants", all);
        }
        Ok(stored.into())
    }
}

/// Other programs may have written bytes that are no text; one such job must not stop a whole claim.
fn into_text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes)
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

/// The names of the fields that [`Job::from_reservation`] takes, in order.
pub(crate) fn names_for_reservations() -> impl Iterator<Item = &'static str> {
    // The id is known.
    std::iter::once("status").chain(CLAIM_FIELDS.into_iter().skip(1))
}

/// The names of the fields in the order of the scripts, for reads without a script.
pub(crate) fn field_names() -> impl Iterator<Item = &'static str> {
    FIELDS.into_iter().chain(["moreDependants", "progress"])
}
