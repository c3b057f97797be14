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
    reservation::SettleAndClaim,
    submit::DELAY_MS_MAX,
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
    /// The job as its worker got it, if that is known: then less has to be read.
    pub told: Option<Job>,
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
    /// The job is to be run later, and this attempt does not count as a failure.
    Snoozed {
        /// In so many milliseconds.
        delay_ms: f64,
    },
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
    /// Run it in so many milliseconds, and do not count this as a failure.
    #[serde(skip)]
    pub snooze_ms: Option<f64>,
}

impl Failure {
    /// A failure after which the job is tried again, by its own options.
    pub fn new(message: impl Into<String>) -> Failure {
        Failure {
            message: message.into(),
            retry: true,
            retry_delay: None,
            progressive_delay: None,
            snooze_ms: None,
        }
    }

    /// The job is tried again in just this time, whatever it says itself; the failure counts.
    pub fn retry_in(mut self, wait: Duration) -> Failure {
        (self.retry_delay, self.progressive_delay) = (Some(wait.as_millis() as f64), Some(false));
        self
    }

    /// No failure: the job cannot be run now, and is to be run again in this time. No retry is used up.
    pub fn snooze(time: Duration) -> Failure {
        let snooze_ms = Some(time.as_millis() as f64);
        Failure { snooze_ms, ..Failure::new("snoozed") }
    }

    /// A failure that trying again would not mend.
    pub fn fatal(message: impl Into<String>) -> Failure {
        Failure { retry: false, ..Failure::new(message) }
    }
}

/// Any error of a handler is a failure after which the job is tried again. The message has its sources too.
impl<E: std::error::Error> From<E> for Failure {
    fn from(error: E) -> Failure {
        Failure::new(with_sources(&error))
    }
}

/// What an error says, and then what its sources say.
pub fn with_sources(error: &dyn std::error::Error) -> String {
    let mut message = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        // Many errors say what their source says.
        let cause_text = cause.to_string();
        if !message.contains(&cause_text) {
            message = format!("{message}: {cause_text}");
        }
        source = cause.source();
    }
    message
}

impl Outcome {
    /// The end of a job that was claimed.
    pub fn of(job: &Job, end: End) -> Outcome {
        Outcome {
            jid: job.jid().to_owned(),
            attempt: Some(job.attempts()),
            options: None,
            end,
            told: Some(job.clone()),
        }
    }

    /// The reservation in which its worker took the job, if it did not claim it by itself.
    pub(super) fn reservation(&self) -> Option<u64> {
        self.told.as_ref().and_then(Job::reservation)
    }

    fn check(&self) -> Result<(), Error> {
        self.options.as_deref().map_or(Ok(()), check_options)?;
        match &self.end {
            End::Completed { result, .. } => check_result(result),
            End::Snoozed { .. } => self.check_times(),
            End::Failed(_) | End::Released => Ok(()),
        }
    }

    /// Fails unless its times make sense. The store would replace most of those that do not by its defaults, so that a job of
    /// a careless handler still ends; who can be told is better told.
    ///
    /// # Errors
    /// What is wrong with them, by the name of the field.
    pub fn check_times(&self) -> Result<(), Error> {
        let (field, ms) = match &self.end {
            End::Completed { ttl_ms, .. } => ("ttl", ttl_ms.map(|ttl| ttl as f64)),
            End::Failed(failure) => ("retryDelay", failure.retry_delay),
            End::Snoozed { delay_ms } => ("delay", Some(*delay_ms)),
            End::Released => return Ok(()),
        };
        match ms {
            Some(ms) if !(0.0..=DELAY_MS_MAX).contains(&ms) => {
                let reason = format!("{ms} ms; give 0 to {DELAY_MS_MAX} milliseconds");
                Err(Error::invalid(field, reason))
            }
            _ => Ok(()),
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
    /// The job was canceled meanwhile.
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
    /// Or the ids of those that were reserved.
    pub reserved: Vec<String>,
    /// Jobs of the reservation that were to begin and are not the worker's any more.
    pub not_begun: Vec<String>,
}

impl Hive {
    /// Settles a batch of jobs and claims up to `max` new ones, in one step.
    ///
    /// Only the worker that has a job, in the attempt in which it got it, can settle it: late ends change nothing.
    ///
    /// # Errors
    /// When a result is not JSON or options are no object, or when the store fails. Repeating the call after a lost
    /// connection, or when no replica has acknowledged, is safe: the same end of the same attempt counts once and
    /// is answered with [`Verdict::Ok`] again. A repeated [`End::Released`] is answered with [`Verdict::Lost`].
    pub async fn settle(
        &self,
        queue: &QueueName,
        worker: &WorkerId,
        outcomes: &[Outcome],
        max: usize,
        lock: Duration,
    ) -> Result<Settled, Error> {
        let request = SettleAndClaim { outcomes, max, lock, ..SettleAndClaim::default() };
        self.settle_and_claim(queue, worker, &request).await
    }

    /// The same, with reservations: closes one, and reserves the next jobs instead of claiming them.
    ///
    /// # Errors
    /// As [`Hive::settle`]. Who has lost the connection asks again with the same numbers.
    pub async fn settle_and_claim(
        &self,
        queue: &QueueName,
        worker: &WorkerId,
        request: &SettleAndClaim<'_>,
    ) -> Result<Settled, Error> {
        request.outcomes.iter().try_for_each(Outcome::check)?;
        let writing = self.store().writing().await;
        let settled = self.run_exchange(queue, worker, request).await?;
        // Whoever only claims has told nobody of an outcome.
        let tells_outcomes = !request.outcomes.is_empty() || request.closes.is_some();
        if tells_outcomes && let Err(error) = writing.acknowledged().await {
            self.give_back(queue, worker, &settled.claimed.jobs, request.lock).await;
            return Err(error.into());
        }
        Ok(settled)
    }

    /// Gives back jobs whose worker will not be told that it has them.
    async fn give_back(&self, queue: &QueueName, worker: &WorkerId, jobs: &[Job], lock: Duration) {
        let outcomes: Vec<Outcome> =
            jobs.iter().map(|job| Outcome::of(job, End::Released)).collect();
        if outcomes.is_empty() {
            return;
        }
        let back = SettleAndClaim { outcomes: &outcomes, lock, ..SettleAndClaim::default() };
        if let Err(error) = self.run_exchange(queue, worker, &back).await {
            tracing::debug!(%queue, %error, "could not give jobs back; a heartbeat will");
        }
    }

    async fn run_exchange(
        &self,
        queue: &QueueName,
        worker: &WorkerId,
        request: &SettleAndClaim<'_>,
    ) -> Result<Settled, Error> {
        let SettleAndClaim { outcomes, max, lock, reserve, closes, alone_after } = request;
        let now_ms = self.now_ms();
        let now = now_ms.to_string();
        let completed = self.writes_history().then(|| entry("completed", &now, self.id()));
        let mut batch = Batch::new(outcomes, closes.as_ref(), queue, now_ms, completed.as_deref());
        let plain_times = self.slowest().with(queue, now_ms, |passes| batch.times().text(passes));
        let number = |reservation: Option<u64>| {
            reservation.map(|reservation| reservation.to_string()).unwrap_or_default()
        };
        let call = self
            .call_on_queue(&SETTLE, queue)
            .arg("now", &now)
            .arg("worker", worker.as_str())
            .arg("lock_ms", lock.as_millis() as u64)
            .arg("max", max)
            .arg("reserve_as", number(*reserve))
            .arg("closes", number(closes.as_ref().map(|closing| closing.reservation)))
            .arg("plain_ttl", batch.plain_ttl_ms())
            .arg("n_reserved", batch.n_reserved())
            .arg("n_plain", batch.n_plain())
            .arg("n_begun", batch.n_begun())
            .arg("plain_times", plain_times)
            .arg("alone_after", alone_after.map(|n| n.to_string()).unwrap_or_default())
            .many_args("values", batch.take_args());
        let (refused, jobs, blocked, again_at, timeout_ms, reserved, not_begun): Reply =
            call.run().await?;
        Ok(Settled {
            verdicts: batch.verdicts(&refused),
            claimed: Claimed::from_reply(queue, worker, (jobs, blocked, again_at, timeout_ms)),
            reserved,
            not_begun,
        })
    }

    /// Whether entries of a history can be written without the script.
    pub(super) fn writes_history(&self) -> bool {
        needs_no_escapes(self.id())
    }
}

type Reply =
    (Vec<(usize, String)>, Vec<Option<Vec<u8>>>, String, String, u64, Vec<String>, Vec<String>);

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

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("the mail could not be sent")]
    struct Unsent(#[source] Refused);

    #[derive(Debug, thiserror::Error)]
    #[error("the server refused: {0}")]
    struct Refused(#[source] std::num::ParseIntError);

    #[test]
    fn a_failure_tells_the_whole_chain_of_an_error_and_nothing_twice() {
        let error = "x".parse::<i32>().expect_err("not a number");
        let failure = Failure::from(Unsent(Refused(error)));
        let expected =
            "the mail could not be sent: the server refused: invalid digit found in string";
        assert_eq!(failure.message, expected);
    }
}
