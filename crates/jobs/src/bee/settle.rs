//! Telling what became of claimed jobs, and claiming the next in the same call.

mod batch;

use std::{collections::BTreeMap, time::Duration};

use keyrack_store::Script;
use serde::{Serialize, de::IgnoredAny};

use self::batch::Batch;
use super::{
    claim::Claimed,
    history::{entry, needs_no_escapes},
    hive::Hive,
    job::Job,
    keys::{QueueName, WorkerId},
};
use crate::Error;

static SETTLE: Script = bee_script!("settle.lua");

/// What became of one claimed job.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// The job.
    pub jid: String,
    /// The attempt in which it was claimed; without it only the worker is compared.
    pub attempt: Option<u64>,
    /// The job's options as JSON if the worker changed them.
    pub options: Option<String>,
    /// What became of it.
    pub end: End,
    /// What its worker was told about it when it was claimed, if that is known: then less has to be read.
    pub told: Option<Told>,
}

/// What a worker knows of a job that it has claimed.
#[derive(Debug, Clone, PartialEq)]
pub struct Told {
    jid: String,
    queue: String,
    history: String,
}

/// How an attempt at a job ended.
#[derive(Debug, Clone, PartialEq)]
pub enum End {
    /// The work is done.
    Completed {
        /// The result as JSON text.
        result: String,
        /// For how long to keep it, if the worker knows.
        ttl_ms: Option<u64>,
    },
    /// The work failed.
    Failed(Failure),
    /// The worker gives the job back unfinished.
    Released,
}

/// Why an attempt failed, and whether to try again.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Failure {
    /// What happened.
    #[serde(skip)]
    pub message: String,
    /// Whether trying again makes sense.
    pub retry: bool,
    /// Milliseconds before the next try; the job's own unless set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_delay: Option<f64>,
    /// Whether to wait longer with each try; the job's own unless set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub progressive_delay: Option<bool>,
}

impl Failure {
    /// A failure after which the job is tried again, by its own options.
    pub fn new(message: impl Into<String>) -> Failure {
        Failure { message: message.into(), retry: true, retry_delay: None, progressive_delay: None }
    }

    /// A failure that trying again would not mend.
    pub fn fatal(message: impl Into<String>) -> Failure {
        Failure { retry: false, ..Failure::new(message) }
    }
}

/// Any error of a handler is a failure after which the job is tried again.
impl<E: std::error::Error> From<E> for Failure {
    fn from(error: E) -> Failure {
        Failure::new(error.to_string())
    }
}

impl Outcome {
    /// The end of a job that was claimed.
    pub fn of(job: &Job, end: End) -> Outcome {
        let told = || Told {
            jid: job.jid().to_owned(),
            queue: job.queue().to_owned(),
            history: job.history_json().to_owned(),
        };
        Outcome {
            jid: job.jid().to_owned(),
            attempt: Some(job.attempts()),
            options: None,
            end,
            // When the job of a tenant ends, the tenant's next is let in, which is never quick.
            told: job.tenant().is_none().then(told),
        }
    }

    fn check(&self) -> Result<(), Error> {
        self.options.as_deref().map_or(Ok(()), check_options)?;
        match &self.end {
            End::Completed { result, .. } => check_result(result),
            End::Failed(_) | End::Released => Ok(()),
        }
    }
}

/// Whether the end that a worker reported counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum Verdict {
    /// It does.
    Ok,
    /// There is no such job any more.
    Gone,
    /// The job was cancelled meanwhile.
    Canceled,
    /// The job was taken from the worker, or had ended already.
    Lost,
}

impl Verdict {
    pub(super) fn from_word(word: &str) -> Verdict {
        match word {
            "ok" => Verdict::Ok,
            "GONE" => Verdict::Gone,
            "CANCELED" => Verdict::Canceled,
            _ => Verdict::Lost,
        }
    }
}

/// What a call of [`Hive::settle`] brought.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Settled {
    /// One for each outcome, in order.
    pub verdicts: Vec<Verdict>,
    /// The next jobs.
    pub claimed: Claimed,
}

impl Hive {
    /// Settles a batch of jobs and claims up to `max` new ones, in one step.
    ///
    /// Only the worker that has a job, in the attempt in which it got it, can settle it: late ends change nothing.
    ///
    /// # Errors
    /// When a result is not JSON or options are no object, or when the store fails. Doing it again after a lost connection is safe: what was
    /// carried out is answered with [`Verdict::Lost`].
    pub async fn settle(
        &self,
        queue: &QueueName,
        worker: &WorkerId,
        outcomes: &[Outcome],
        max: usize,
        lock: Duration,
    ) -> Result<Settled, Error> {
        outcomes.iter().try_for_each(Outcome::check)?;
        let now = self.now_ms().to_string();
        let completed = needs_no_escapes(self.id()).then(|| entry("completed", &now, self.id()));
        let mut batch = Batch::new(outcomes, queue, completed.as_deref());
        let call = self
            .call_on_queue(&SETTLE, queue)
            .arg("now", &now)
            .arg("worker", worker.as_str())
            .arg("lock_ms", lock.as_millis() as u64)
            .arg("max", max)
            .arg("plain_ttl", batch.plain_ttl_ms())
            .arg("n_plain", batch.n_plain())
            .owned_args("outcomes", batch.take_args());
        let (refused, jobs, blocked, again_at): (Vec<(usize, String)>, _, _, _) =
            call.run().await?;
        Ok(Settled {
            verdicts: batch.verdicts(&refused),
            claimed: Claimed::from_reply(queue, worker, (jobs, blocked, again_at)),
        })
    }
}

/// The most bytes a result may have.
pub const RESULT_BYTES_MAX: usize = 1024 * 1024;

fn check_options(options: &str) -> Result<(), Error> {
    serde_json::from_str::<BTreeMap<String, IgnoredAny>>(options)
        .map(|_| ())
        .map_err(|error| Error::invalid("options", format!("not a JSON object: {error}")))
}

fn check_result(result: &str) -> Result<(), Error> {
    if result.len() > RESULT_BYTES_MAX {
        let reason = format!("{} bytes; at most {RESULT_BYTES_MAX} are taken", result.len());
        return Err(Error::invalid("result", reason));
    }
    serde_json::from_str::<IgnoredAny>(result)
        .map(|_| ())
        .map_err(|error| Error::invalid("result", format!("not JSON: {error}")))
}
