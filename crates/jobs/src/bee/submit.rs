//! Submitting jobs.

mod batch;
mod body;
mod builder;
mod check;
mod digest;
mod plain;
mod prepared;
mod send;
mod traced;
mod unique;
mod whole;

use std::time::Duration;

use keyrack_keys::PartError;
use keyrack_store::Script;
use keyrack_trace::TraceContext;

pub(super) use self::check::{check_time, check_ttl};
pub use self::{
    body::{BackoffWish, SubmissionBody, trace_context},
    unique::{UNIQUE_KEY_BYTES_MAX, Unique, UniqueBy, UniqueRequest, UniqueUntil},
    whole::{JOBS_AS_A_WHOLE_MAX, RefusedList, StoredJob, SubmitOutcome},
};
use self::{prepared::Prepared, traced::SubmitSpans};
use super::{
    hive::Hive,
    job::Options,
    keys::{Jid, QueueName, Tag, Tenant},
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
}

/// So many milliseconds that a check refuses them, if there are more than a number can hold.
fn whole_ms(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

impl Hive {
    /// Submits a job. Returns its id.
    ///
    /// # Errors
    /// When the job makes no sense, its id is taken, its parent was canceled, or the store fails.
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
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

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
