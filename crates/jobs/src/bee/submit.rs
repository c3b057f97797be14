//! Submitting jobs.

mod batch;
mod body;
mod check;
mod digest;
mod plain;
mod traced;
mod unique;
mod whole;

use std::{collections::HashMap, time::Duration};

use keyrack_keys::PartError;
use keyrack_store::Script;
use keyrack_trace::TraceContext;
use serde::Serialize;
use serde_json::{Map, Value as Json, value::RawValue};
use tokio::task::JoinSet;

pub(super) use self::check::{check_time, check_ttl};
use self::{
    batch::{Answer, Batch, Calls, take},
    traced::SubmitSpans,
};
pub use self::{
    body::{BackoffWish, SubmissionBody, trace_context},
    unique::{UNIQUE_KEY_BYTES_MAX, Unique, UniqueBy, UniqueRequest, UniqueUntil},
    whole::{JOBS_AS_A_WHOLE_MAX, RefusedList, StoredJob, SubmitOutcome},
};
use super::{
    backoff::{Backoff, BackoffKind},
    hive::Hive,
    job::{DEFAULT_RETRIES, Job, Options},
    json_compat,
    keys::{Hostname, Jid, LimitName, QueueName, Tag, Tenant},
};
use crate::Error;

static SUBMIT: Script = bee_script!("submit.lua");
static ENTER: Script = bee_script!("enter.lua");

/// The most bytes of data that a job may bring: more belongs into a file or a key of its own.
pub const DATA_BYTES_MAX: usize = 1024 * 1024;
/// The most jobs that one may wait for by name.
pub const DEPENDENCIES_MAX: usize = 1000;
/// The most tags of a job.
pub const TAGS_MAX: usize = 64;
/// The most limits that a job may name.
pub const LIMITS_MAX: usize = 10;
/// The most entries of a job's metadata.
pub const METADATA_MAX: usize = 16;
/// The most bytes of a name in it, and of all its names and values.
pub const METADATA_NAME_BYTES_MAX: usize = 64;
/// The most bytes of all its names and values.
pub const METADATA_BYTES_MAX: usize = 4_096;
/// The longest delay: ten years.
pub const DELAY_MS_MAX: f64 = 10.0 * 365.0 * 86_400_000.0;

/// Jobs and bytes that go into one call of the script, so that other clients are not kept waiting.
const JOBS_PER_CALL: usize = 200;
const BYTES_PER_CALL: usize = 1024 * 1024;
/// Calls under way at once.
const CALLS_MAX: usize = 2;

/// The highest priority that means something: there is no sooner than next.
pub const PRIORITY_MAX: f64 = 10.0;

/// A priority that somebody asks for. Higher ones count as [`PRIORITY_MAX`] where another program has stored them, but whoever
/// asks for one expects more than there is.
///
/// # Errors
/// When it is not a number up to [`PRIORITY_MAX`].
pub fn checked_priority(priority: f64) -> Result<f64, Error> {
    if priority <= PRIORITY_MAX && priority.is_finite() {
        return Ok(priority);
    }
    let reason = format!(
        "{priority}; give at most {PRIORITY_MAX}, which runs next, or less than 0 for later"
    );
    Err(Error::invalid("priority", reason))
}

/// A job to be submitted.
#[derive(Debug, Clone)]
pub struct Submission {
    queue: QueueName,
    /// Each as JSON text.
    args: Vec<String>,
    /// Why an argument is missing.
    wrong_arg: Option<String>,
    jid: Option<Jid>,
    options: Options,
    dependencies: Vec<Jid>,
    tags: Vec<Tag>,
    parent: Option<Jid>,
    tenant: Option<Tenant>,
    start_within_ms: Option<u64>,
    unique: Option<Unique>,
    /// Whether a digest of it is stored.
    is_remembered: bool,
    trace: Option<TraceContext>,
}

impl Submission {
    /// A job for this queue.
    ///
    /// # Errors
    /// When the name cannot stand in a key.
    pub fn new(queue: impl Into<String>) -> Result<Submission, PartError> {
        Ok(Submission::to(QueueName::new(queue)?))
    }

    /// A job for this queue.
    pub fn to(queue: QueueName) -> Submission {
        Submission {
            queue,
            args: Vec::new(),
            wrong_arg: None,
            jid: None,
            options: Options::default(),
            dependencies: Vec::new(),
            tags: Vec::new(),
            parent: None,
            tenant: None,
            start_within_ms: None,
            unique: None,
            is_remembered: false,
            trace: None,
        }
    }

    /// The queue it is for.
    pub fn queue(&self) -> &QueueName {
        &self.queue
    }

    /// One more argument for the worker. A job with one that cannot be JSON is refused when it is submitted.
    pub fn arg(mut self, value: impl Serialize) -> Self {
        // A `Value` in between would sort the keys of maps, and two hives would not agree on what is a duplicate.
        match serde_json::to_string(&value) {
            Ok(text) => self.args.push(text),
            Err(error) => {
                let reason = format!("argument {} cannot be JSON: {error}", self.args.len() + 1);
                self.wrong_arg.get_or_insert(reason);
            }
        }
        self
    }

    /// All arguments for the worker.
    pub fn args(mut self, values: Vec<Json>) -> Self {
        self.args = values.iter().map(Json::to_string).collect();
        self
    }

    /// All arguments for the worker, as a JSON list whose numbers keep all their digits.
    ///
    /// # Errors
    /// When the text is not a JSON list.
    pub fn args_json(mut self, list: &str) -> Result<Self, Error> {
        let items: Vec<&RawValue> = serde_json::from_str(list).map_err(|error| {
            Error::invalid("data", format!("not a JSON list of arguments: {error}"))
        })?;
        self.args = items.into_iter().map(|item| item.get().to_owned()).collect();
        Ok(self)
    }

    /// An id of one's own; submitting it again is refused, so that a repeated call makes no second job.
    pub fn id(mut self, jid: Jid) -> Self {
        self.jid = Some(jid);
        self
    }

    /// 10 runs next, 0 in order of submission, negative later. A job with more than 10 is refused when it is submitted.
    pub fn priority(mut self, priority: f64) -> Self {
        self.options.priority = priority;
        self
    }

    /// Milliseconds to wait before it may run.
    pub fn delay_ms(mut self, delay: f64) -> Self {
        self.options.delay = delay;
        self
    }

    /// Waits until this job has ended, in whatever way.
    pub fn after(mut self, jid: Jid) -> Self {
        self.dependencies.push(jid);
        self
    }

    /// Waits until all jobs that have all of this job's tags have ended.
    pub fn after_tags(mut self) -> Self {
        self.options.dependencies_on_tags = true;
        self
    }

    /// A word by which it is found.
    pub fn tag(mut self, tag: Tag) -> Self {
        self.tags.push(tag);
        self
    }

    /// The job that submits it; they are cancelled together.
    pub fn parent(mut self, jid: Jid) -> Self {
        self.parent = Some(jid);
        self
    }

    /// On whose behalf it runs: the tenants of a queue take turns.
    pub fn tenant(mut self, tenant: Tenant) -> Self {
        self.tenant = Some(tenant);
        self
    }

    /// A limit of its queue that counts it ([`Limits::named`](super::Limits::named)); it starts when all of its limits let it.
    pub fn limit(mut self, limit: &LimitName) -> Self {
        if !self.options.limits.iter().any(|named| named == limit.as_str()) {
            self.options.limits.push(limit.as_str().to_owned());
        }
        self
    }

    /// A text that is kept with the job under this name, such as the id of a request. keyrack makes nothing of it.
    pub fn metadata(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.options.metadata.insert(name.into(), value.into());
        self
    }

    /// The trace that it belongs to, and the span that submits it. By default that of the [current](keyrack_trace::current) task,
    /// such as the job whose handler submits it.
    pub fn trace(mut self, context: TraceContext) -> Self {
        self.trace = Some(context);
        self
    }

    /// The same if it names none.
    pub(super) fn trace_unless_set(mut self, context: TraceContext) -> Self {
        self.trace.get_or_insert(context);
        self
    }

    /// The host whose workers hear of it first; any worker may take it.
    pub fn preferred_host(mut self, host: &Hostname) -> Self {
        self.options.preferred_hostname = Some(host.as_str().to_owned());
        self
    }

    /// How often it is tried again after a failure; as its queue says unless set, which is 5 by default.
    pub fn retries(mut self, retries: u32) -> Self {
        self.options.retries = retries;
        self.options.own_retries = retries == DEFAULT_RETRIES;
        self
    }

    /// Milliseconds before it is tried again; with `progressive` times the number of the retry.
    pub fn retry_delay_ms(self, delay: f64, progressive: bool) -> Self {
        let kind = if progressive { BackoffKind::Linear } else { BackoffKind::Fixed };
        self.backoff(Backoff { kind, delay_ms: delay, ..Backoff::default() })
    }

    /// How long it waits before each retry; as its queue says unless set, which is half a minute by default.
    pub fn backoff(mut self, backoff: Backoff) -> Self {
        self.options.choose_backoff(backoff);
        self
    }

    /// How long an attempt may take. Then it is stopped and has failed; without it, its queue or its worker says so.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.options.timeout = Some(whole_ms(timeout));
        self
    }

    /// Within what time it has to start. If it has not, it ends as expired and is never run.
    pub fn start_within(mut self, time: Duration) -> Self {
        self.start_within_ms = Some(whole_ms(time));
        self
    }

    /// Which other submissions are for the same job. [`Hive::submit`] returns the id of the job that stands for this one, and
    /// [`Hive::submit_unique`] also whether it is new.
    pub fn unique(mut self, unique: Unique) -> Self {
        self.unique = Some(unique);
        self
    }

    /// Milliseconds for which its result is kept; half an hour unless set.
    pub fn ttl_ms(mut self, ttl: u64) -> Self {
        self.options.ttl = ttl;
        self
    }

    /// Milliseconds for which it is kept if it fails: as its queue says unless set, which is 7 days by default. 0 is as long
    /// as its result would be.
    pub fn failed_ttl_ms(mut self, ttl: u64) -> Self {
        self.options.failed_ttl = Some(ttl);
        self
    }

    /// Whether those before it in a list have to be submitted before it.
    fn needs_order(&self) -> bool {
        let waits = !self.dependencies.is_empty() || self.options.dependencies_on_tags;
        waits || self.unique.is_some()
    }

    /// The arguments as a JSON list.
    pub fn data_json(&self) -> String {
        format!("[{}]", self.args.join(","))
    }

    /// Whether it makes sense by itself: whatever else can refuse it lies in the store.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn validate(&self) -> Result<(), Error> {
        self.clone().prepare(0).map(drop)
    }

    /// The id that it is to have, if it says so.
    pub fn asked_id(&self) -> Option<&Jid> {
        self.jid.as_ref()
    }

    /// Whether another job may stand for it.
    pub fn is_unique(&self) -> bool {
        self.unique.is_some()
    }

    /// The job that submits it, if one does.
    pub fn asked_parent(&self) -> Option<&Jid> {
        self.parent.as_ref()
    }

    /// Whether a stored job may be what this submission has made: as far as nobody can have changed it since.
    pub fn made(&self, job: &Job) -> bool {
        let (asked, stored) = (&self.options, job.options());
        let dependencies: Vec<String> = self.dependencies.iter().map(ToString::to_string).collect();
        let args: Vec<Json> = serde_json::from_str(&self.data_json()).unwrap_or_default();
        let is_same = args == job.args()
            && self.queue.as_str() == job.queue()
            && self.parent.as_ref().map(Jid::as_str) == job.parent()
            && self.tenant.as_ref().map(Tenant::as_str) == job.tenant()
            && (asked.priority, asked.delay, &dependencies, asked.dependencies_on_tags)
                == (
                    stored.priority,
                    stored.delay,
                    &stored.dependencies,
                    stored.dependencies_on_tags,
                )
            && asked.preferred_hostname == stored.preferred_hostname
            && asked.limits == stored.limits
            && asked.metadata == stored.metadata;
        // A worker may change the others, and the tags.
        let is_untouched = job.attempts() == 0;
        let tags: Vec<&str> = self.tags.iter().map(Tag::as_str).collect();
        let retries = |options: &Options| (options.retries, options.own_backoff(), options.timeout);
        let (rest, stored_rest) = (retries(asked), retries(&stored));
        let kept = (asked.ttl, asked.failed_ttl) == (stored.ttl, stored.failed_ttl);
        is_same && (!is_untouched || (tags == job.tags() && rest == stored_rest && kept))
    }

    /// The six values that the script takes for it at this time.
    fn prepare(mut self, now_ms: u64) -> Result<Prepared, Error> {
        self.check()?;
        let digest = self.is_remembered.then(|| self.digest());
        let group = self.queue.group();
        let is_fresh = self.jid.is_none();
        let jid = self.jid.take().unwrap_or_else(|| Jid::fresh(&group));
        let data = self.stored_data()?;
        self.options.dependencies = self.dependencies.iter().map(ToString::to_string).collect();
        self.options.start_by = self.start_within_ms.map(|within| now_ms + within);
        // Not in the digest, which has it anyway.
        self.options.unique = self.unique.as_ref().map(UniqueRequest::from);
        if let Some(trace) = &self.trace {
            // Not in the digest: a request that is sent again may well be another span.
            self.options.traceparent = Some(trace.traceparent());
            self.options.tracestate = trace.tracestate().map(Into::into);
        }
        let tags: Vec<&str> = self.tags.iter().map(Tag::as_str).collect();
        Ok(Prepared {
            data,
            options: self.options.to_json(),
            priority: self.options.priority,
            tags: serde_json::to_string(&tags).expect("texts are JSON"),
            rest: self.rest(digest.as_deref()),
            digest,
            parent: self.parent,
            queue: self.queue,
            jid,
            is_fresh,
        })
    }

    /// The arguments as they are stored.
    pub(super) fn stored_data(&self) -> Result<String, Error> {
        let data = self.data_json();
        if data.len() > DATA_BYTES_MAX {
            let reason = format!(
                "{} bytes; at most {DATA_BYTES_MAX} are taken, so store it elsewhere and pass its name",
                data.len()
            );
            return Err(Error::invalid("data", reason));
        }
        let data = json_compat::cjson_order(&data)
            .map_err(|error| Error::invalid("data", error.to_string()))?;
        Ok(data.into_owned())
    }

    /// What few jobs have, as the script's JSON object; empty when it has nothing.
    fn rest(&self, digest: Option<&str>) -> String {
        let mut rest = Map::new();
        let options = &self.options;
        if options.delay > 0.0 {
            rest.insert("delay".into(), options.delay.into());
        }
        if !options.dependencies.is_empty() {
            rest.insert("dependencies".into(), options.dependencies.clone().into());
        }
        if options.dependencies_on_tags {
            rest.insert("on_tags".into(), true.into());
        }
        if let Some(start_by) = options.start_by {
            rest.insert("start_by".into(), start_by.into());
        }
        if let Some(unique) = &self.unique {
            rest.insert("unique".into(), unique.for_script(self));
        }
        let texts = [
            ("parent", self.parent.as_ref().map(Jid::as_str)),
            ("host", options.preferred_hostname.as_deref()),
            ("tenant", self.tenant.as_ref().map(Tenant::as_str)),
            ("digest", digest),
        ];
        for (name, text) in texts {
            if let Some(text) = text {
                rest.insert(name.into(), text.into());
            }
        }
        if rest.is_empty() { String::new() } else { Json::Object(rest).to_string() }
    }
}

/// So many milliseconds that a check refuses them, if there are more than a number can hold.
fn whole_ms(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// A submission as the script takes it.
struct Prepared {
    queue: QueueName,
    jid: Jid,
    /// Nobody else has had this id.
    is_fresh: bool,
    data: String,
    options: String,
    priority: f64,
    tags: String,
    rest: String,
    parent: Option<Jid>,
    digest: Option<String>,
}

impl Prepared {
    fn bytes(&self) -> usize {
        self.data.len() + self.options.len() + self.tags.len() + self.rest.len()
    }

    /// What became of it, by the script's word.
    fn outcome(self, word: &str, is_repeat: bool) -> Result<StoredJob, Error> {
        let created = |jid| Ok(StoredJob { jid, outcome: SubmitOutcome::Created });
        if let Some((word, jid)) = word.split_once(' ') {
            let is_replaced = word == "REPLACED";
            let outcome =
                if is_replaced { SubmitOutcome::Replaced } else { SubmitOutcome::Existing };
            return Ok(StoredJob { jid: Jid::new(jid)?, outcome });
        }
        match word {
            "ok" => created(self.jid),
            // An earlier call was carried out and its answer lost. A cluster's client may have repeated it by itself.
            "EXISTS" if is_repeat || self.is_fresh => created(self.jid),
            "EXISTS" => Err(Error::Exists { jid: self.jid.to_string() }),
            _ => Err(Error::ParentCanceled {
                parent: self.parent.map(|jid| jid.to_string()).unwrap_or_default(),
            }),
        }
    }
}

impl Hive {
    /// Submits a job. Returns its id.
    ///
    /// # Errors
    /// When the job makes no sense, its id is taken, its parent was cancelled, or the store fails.
    pub async fn submit(&self, job: Submission) -> Result<Jid, Error> {
        self.submit_unique(job).await.map(|stored| stored.jid)
    }

    /// Submits a job. Returns which job stands for it, and what has become of the submission.
    ///
    /// # Errors
    /// As for [`Hive::submit`].
    pub async fn submit_unique(&self, job: Submission) -> Result<StoredJob, Error> {
        self.submit_each(vec![job]).await?.pop().expect("one answer for one job")
    }

    /// Submits many jobs, each for itself: one that is refused does not stop the others.
    ///
    /// A job may wait for one that stands before it in the list.
    ///
    /// # Errors
    /// When the store fails; some of the jobs may have been submitted then.
    pub async fn submit_many(
        &self,
        jobs: Vec<Submission>,
    ) -> Result<Vec<Result<Jid, Error>>, Error> {
        let answers = self.submit_each(jobs).await?;
        Ok(answers.into_iter().map(|answer| answer.map(|stored| stored.jid)).collect())
    }

    /// The same, with what has become of each submission.
    ///
    /// # Errors
    /// As for [`Hive::submit_many`].
    pub async fn submit_each(
        &self,
        mut jobs: Vec<Submission>,
    ) -> Result<Vec<Result<StoredJob, Error>>, Error> {
        let spans = SubmitSpans::begin(&mut jobs);
        let stored = keyrack_trace::within(spans.context(), self.store_each(jobs)).await;
        spans.end(stored)
    }

    async fn store_each(
        &self,
        jobs: Vec<Submission>,
    ) -> Result<Vec<Result<StoredJob, Error>>, Error> {
        let mut answers: Vec<Option<Answer>> = Vec::with_capacity(jobs.len());
        let mut batches: HashMap<QueueName, Batch> = HashMap::new();
        // What a job waits for must be there before it: a job that is not counts as ended.
        let (in_order, now_ms) = (jobs.iter().any(Submission::needs_order), self.now_ms());
        let mut calls = Calls { set: JoinSet::new(), most: if in_order { 1 } else { CALLS_MAX } };
        for (at, job) in jobs.into_iter().enumerate() {
            answers.push(None);
            let job = match job.prepare(now_ms) {
                Ok(job) => job,
                Err(error) => {
                    answers[at] = Some(Err(error));
                    continue;
                }
            };
            if in_order && !batches.contains_key(&job.queue) {
                for (_, batch) in batches.drain() {
                    self.send(&mut calls, batch, &mut answers).await?;
                }
            }
            let batch = batches.entry(job.queue.clone()).or_default();
            if batch.is_full(&job) {
                self.send(&mut calls, std::mem::take(batch), &mut answers).await?;
            }
            batch.add(at, job);
        }
        for batch in batches.into_values() {
            self.send(&mut calls, batch, &mut answers).await?;
        }
        while let Some(call) = calls.set.join_next().await {
            take(call, &mut answers).await?;
        }
        Ok(answers.into_iter().map(|answer| answer.expect("every job was answered")).collect())
    }

    /// Sends a batch; while the store is busy with it the next is prepared.
    async fn send(
        &self,
        calls: &mut Calls,
        batch: Batch,
        answers: &mut [Option<Answer>],
    ) -> Result<(), Error> {
        let Some(queue) = batch.jobs.first().map(|job| job.queue.clone()) else { return Ok(()) };
        self.list_queue(&queue).await?;
        if calls.set.len() >= calls.most
            && let Some(call) = calls.set.join_next().await
        {
            take(call, answers).await?;
        }
        let hive = self.clone();
        let call = async move {
            let answers = hive.submit_batch(&queue, batch.jobs).await?;
            Ok(batch.places.into_iter().zip(answers).collect())
        };
        calls.set.spawn(keyrack_trace::within(keyrack_trace::current(), call));
        Ok(())
    }

    async fn submit_batch(
        &self,
        queue: &QueueName,
        jobs: Vec<Prepared>,
    ) -> Result<Vec<Answer>, Error> {
        let (words, is_repeat) = self.store_batch(queue, &jobs, false).await?;
        Ok(jobs.into_iter().zip(words).map(|(job, word)| job.outcome(&word, is_repeat)).collect())
    }

    /// Stores jobs in one call. Returns the script's word for each, and whether the call was made twice.
    async fn store_batch(
        &self,
        queue: &QueueName,
        jobs: &[Prepared],
        whole: bool,
    ) -> Result<(Vec<String>, bool), Error> {
        let mut writing = self.store().writing().await;
        if self.is_plain_batch(jobs) {
            match self.submit_plain(queue, jobs).await {
                // Whether they arrived is found out below.
                Err(keyrack_store::Error::Lost(_)) => writing = self.store().writing().await,
                done => {
                    done?;
                    writing.acknowledged().await?;
                    return Ok((vec!["ok".to_owned(); jobs.len()], false));
                }
            }
        }
        let run = || {
            let priorities: Vec<String> = jobs.iter().map(|job| job.priority.to_string()).collect();
            let args: Vec<&str> = jobs
                .iter()
                .zip(&priorities)
                .flat_map(|(job, priority)| {
                    [job.jid.as_str(), &job.data, &job.options, priority, &job.tags, &job.rest]
                })
                .collect();
            let call = self.call_on_queue(&SUBMIT, queue).arg("whole", u8::from(whole));
            call.args("jobs", args).run::<Vec<String>>()
        };
        let (words, is_repeat) = match run().await {
            // The ids are ours, so asking again cannot make a second job.
            Err(keyrack_store::Error::Lost(_)) => {
                writing = self.store().writing().await;
                (run().await?, true)
            }
            words => (words?, false),
        };
        writing.acknowledged().await?;
        Ok((words, is_repeat))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_argument_that_cannot_be_json_is_refused() {
        // JSON has no keys but texts.
        let wrong = HashMap::from([((1, 2), 3)]);
        let job = Submission::new("emails").expect("a queue").arg(1).arg(&wrong).arg(2);
        let refused = job.validate().expect_err("not as null").to_string();
        assert!(refused.starts_with("data: argument 2 cannot be JSON"), "{refused}");
    }
}
