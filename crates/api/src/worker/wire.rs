//! Requests of workers, and the answers.

use keyrack_jobs::bee::{
    Blocked, Claimed, End, Failure, Outcome, Verdict, keys::WorkerId, record_wait,
};
use keyrack_web::{Problem, error::invalid};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use utoipa::ToSchema;

use crate::view::ClaimedJob;

/// A claim of jobs.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Claiming {
    /// A name that no other worker of the queue uses, without a colon, or the id from an earlier answer. By default a new id.
    pub(crate) worker: Option<String>,
    /// Most jobs to claim, 1 to 1,000. Default: 1.
    pub(crate) max: Option<usize>,
    /// How many seconds to wait for a job if the queue is empty, at most 60. Default: 0.
    pub(crate) wait_s: Option<f64>,
    /// For how many seconds the jobs are locked, 1 to 3,600. Default: the value of the worker's last claim, or 10.
    pub(crate) lock_s: Option<f64>,
    /// The version of the program that runs the jobs, at most 64 bytes. Groups of failures tell in which they were seen.
    pub(crate) version: Option<String>,
    /// The jobs that the worker is running. If given, all other jobs assigned to it return to the queue first, because the
    /// answer to their claim was lost. Do not send it while another claim of the worker is in flight.
    pub(crate) holding: Option<Vec<String>>,
}

/// Claimed jobs.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ClaimedJobs {
    /// The worker's id. Requests about the jobs take it or the worker's name.
    worker: String,
    /// The jobs, in the order in which to run them.
    jobs: Vec<ClaimedJob>,
    /// Why there are no more jobs, unless the queue is empty: `paused`, `concurrency`, `rate`, `share` or `quarantine`.
    blocked: Option<&'static str>,
}

impl ClaimedJobs {
    pub(crate) fn new(worker: &WorkerId, claimed: &Claimed, now_ms: u64) -> ClaimedJobs {
        claimed.jobs.iter().for_each(|job| record_wait(job, now_ms));
        ClaimedJobs {
            worker: worker.to_string(),
            jobs: claimed.jobs.iter().map(|job| ClaimedJob::new(job, claimed.timeout_ms)).collect(),
            blocked: claimed.blocked.map(blocked_word),
        }
    }
}

/// What keeps jobs of a queue from starting, in a word.
pub(crate) fn blocked_word(blocked: Blocked) -> &'static str {
    match blocked {
        Blocked::Paused => "paused",
        Blocked::Concurrency => "concurrency",
        Blocked::Rate => "rate",
        Blocked::Share => "share",
        Blocked::Quarantine => "quarantine",
    }
}

/// A heartbeat of a worker.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Heartbeat {
    /// The worker's name or id.
    pub(crate) worker: String,
    /// For how many seconds the jobs are locked from now on, 1 to 3,600. Default: the value of the worker's last claim. It
    /// never shortens a lock.
    pub(crate) lock_s: Option<f64>,
    /// The jobs that the worker is running. If given, other jobs assigned to it return to the queue, once the answer to
    /// their claim has had 5 s to arrive, or half of `lock_s` if that is less.
    pub(crate) holding: Option<Vec<String>>,
}

/// The jobs of a worker.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct HeldJobs {
    /// The worker's id.
    pub(crate) worker: String,
    /// The jobs that are still assigned to it.
    pub(crate) jobs: Vec<String>,
    /// Jobs of `holding` that are not: canceled, taken by another worker, or ended. The worker may stop them.
    pub(crate) lost: Vec<String>,
}

/// Outcomes of jobs, and how many new jobs to claim.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Settling {
    /// The worker's name or id.
    pub(crate) worker: String,
    /// The outcome of each job, at most 1,000.
    #[serde(default)]
    pub(crate) outcomes: Vec<Settle>,
    /// Most jobs to claim, up to 1,000. Default: none.
    pub(crate) max: Option<usize>,
    /// How many seconds to wait for a job if the queue is empty, at most 60. Default: 0.
    pub(crate) wait_s: Option<f64>,
    /// For how many seconds the jobs are locked, 1 to 3,600. Default: the value of the worker's last claim, or 10.
    pub(crate) lock_s: Option<f64>,
}

/// The outcome of one job.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Settle {
    jid: String,
    /// The attempt in which the job was claimed; without it, only the worker is compared.
    attempt: Option<u64>,
    end: AttemptEnd,
    /// For a completed job: its result. Default: `null`.
    #[schema(value_type = Option<serde_json::Value>)]
    result: Option<Box<RawValue>>,
    /// For a completed job: how many milliseconds to keep the result. Default: the job's `ttl`.
    ttl: Option<u64>,
    /// For a failed job: the reason. Required.
    message: Option<String>,
    /// For a failed job: whether to retry it. Default: true.
    retry: Option<bool>,
    /// For a failed job: how many milliseconds to wait before the retry. Default: the job's `retryDelay`.
    retry_delay: Option<f64>,
    /// For a failed job: whether to wait longer with each retry. Default: the job's `progressiveDelay`.
    progressive_delay: Option<bool>,
    /// For a snoozed job: in how many milliseconds to run it. Required.
    delay: Option<f64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
enum AttemptEnd {
    /// The job is done.
    Completed,
    /// The attempt failed.
    Failed,
    /// The job cannot be done now and runs again later. This is no failure.
    Snoozed,
    /// The job is unfinished and returns to the queue.
    Released,
}

impl Settle {
    pub(crate) fn into_outcome(self) -> Result<Outcome, Problem> {
        self.check()?;
        let end = match self.end {
            AttemptEnd::Completed => {
                End::Completed { result: result_text(self.result), ttl_ms: self.ttl }
            }
            AttemptEnd::Failed => End::Failed(Failure {
                message: self.message.unwrap_or_default(),
                retry: self.retry.unwrap_or(true),
                retry_delay: self.retry_delay,
                progressive_delay: self.progressive_delay,
                snooze_ms: None,
            }),
            AttemptEnd::Snoozed => End::Snoozed { delay_ms: self.delay.unwrap_or_default() },
            AttemptEnd::Released => End::Released,
        };
        let outcome =
            Outcome { jid: self.jid, attempt: self.attempt, options: None, end, told: None };
        outcome.check_times()?;
        Ok(outcome)
    }

    /// Refuses fields that belong to another end.
    fn check(&self) -> Result<(), Problem> {
        let given = [
            ("result", AttemptEnd::Completed, self.result.is_some()),
            ("ttl", AttemptEnd::Completed, self.ttl.is_some()),
            ("message", AttemptEnd::Failed, self.message.is_some()),
            ("retry", AttemptEnd::Failed, self.retry.is_some()),
            ("retryDelay", AttemptEnd::Failed, self.retry_delay.is_some()),
            ("progressiveDelay", AttemptEnd::Failed, self.progressive_delay.is_some()),
            ("delay", AttemptEnd::Snoozed, self.delay.is_some()),
        ];
        let stray = given.iter().find(|(_, end, is_given)| *is_given && *end != self.end);
        if let Some((field, end, _)) = stray {
            let end = match end {
                AttemptEnd::Completed => "completed",
                AttemptEnd::Failed => "failed",
                AttemptEnd::Snoozed => "snoozed",
                AttemptEnd::Released => "released",
            };
            return Err(invalid(*field, format!("only for an end \"{end}\"")));
        }
        if self.end == AttemptEnd::Failed && self.message.is_none() {
            return Err(invalid("message", "missing; say what happened"));
        }
        if self.end == AttemptEnd::Snoozed && self.delay.is_none() {
            return Err(invalid("delay", "missing; say in how many milliseconds to run it"));
        }
        Ok(())
    }
}

/// The answer to outcomes, with the jobs claimed.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Settled {
    /// Whether each outcome was accepted, in order: `ok`, or why not.
    pub(crate) verdicts: Vec<Verdict>,
    #[serde(flatten)]
    pub(crate) claimed: ClaimedJobs,
}

/// A worker that stops.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Leaving {
    /// The worker's name or id.
    pub(crate) worker: String,
}

/// The jobs that a worker gave back.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct LeftJobs {
    /// Ids of the jobs that returned to the queue.
    pub(crate) released: Vec<String>,
}

/// Progress of a job.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Progress {
    /// Any JSON, usually a number up to 100.
    pub(crate) progress: serde_json::Value,
    /// What to say about it. With `progress` at most 4,096 bytes.
    pub(crate) message: Option<String>,
    /// The attempt in which the job was claimed. If given, another attempt that runs now is left alone.
    pub(crate) attempt: Option<u64>,
}

/// A completed job.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Completion {
    /// The worker's name or id.
    pub(crate) worker: String,
    /// The attempt in which the job was claimed; without it, only the worker is compared.
    pub(crate) attempt: Option<u64>,
    /// The result. Default: `null`.
    #[schema(value_type = Option<serde_json::Value>)]
    pub(crate) result: Option<Box<RawValue>>,
    /// How many milliseconds to keep the result. Default: the job's `ttl`.
    pub(crate) ttl: Option<u64>,
}

/// A failed attempt.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Failing {
    /// The worker's name or id.
    pub(crate) worker: String,
    /// The attempt in which the job was claimed; without it, only the worker is compared.
    pub(crate) attempt: Option<u64>,
    /// The reason.
    pub(crate) message: String,
    /// Whether to retry the job. Default: true.
    #[serde(default = "yes")]
    pub(crate) retry: bool,
    /// How many milliseconds to wait before the retry. Default: the job's `retryDelay`.
    pub(crate) retry_delay: Option<f64>,
    /// Whether to wait longer with each retry. Default: the job's `progressiveDelay`.
    pub(crate) progressive_delay: Option<bool>,
}

fn yes() -> bool {
    true
}

/// A job that runs later.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Snoozing {
    /// The worker that has it.
    pub(crate) worker: String,
    /// The attempt in which the job was claimed; without it, only the worker is compared.
    pub(crate) attempt: Option<u64>,
    /// In how many milliseconds to run it.
    pub(crate) delay: f64,
}

/// A job that returns to the queue unfinished.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Releasing {
    /// The worker's name or id.
    pub(crate) worker: String,
    /// The attempt in which the job was claimed; without it, only the worker is compared.
    pub(crate) attempt: Option<u64>,
}

/// The answer to one outcome.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Settlement {
    /// The job's id.
    pub(crate) jid: String,
    /// Whether the outcome was accepted; always `ok`, since others are answered with 404 or 409.
    pub(crate) verdict: Verdict,
}

/// A result as it is stored: without the white space between its parts.
pub(crate) fn result_text(result: Option<Box<RawValue>>) -> String {
    let Some(result) = result else { return "null".into() };
    let (mut text, mut in_string, mut escaped) = (String::new(), false, false);
    for c in result.get().chars() {
        if in_string || !c.is_ascii_whitespace() {
            text.push(c);
        }
        in_string ^= c == '"' && !escaped;
        escaped = in_string && c == '\\' && !escaped;
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_lose_their_spaces_and_nothing_else() {
        for (given, kept) in [
            (r#" { "a" : [ 1 , 2.50 ] } "#, r#"{"a":[1,2.50]}"#),
            (r#""a \" b \\ " "#, r#""a \" b \\ ""#),
            ("[ \n\t true , \"x y\" ]", "[true,\"x y\"]"),
        ] {
            let raw = serde_json::from_str::<Box<RawValue>>(given).expect("JSON");
            assert_eq!(result_text(Some(raw)), kept);
        }
        assert_eq!(result_text(None), "null");
    }
}
