//! What workers and the server tell each other.

use keyrack_jobs::bee::{
    Blocked, Claimed, DELAY_MS_MAX, End, Failure, Outcome, Verdict, keys::WorkerId,
};
use keyrack_web::{Problem, error::invalid};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use utoipa::ToSchema;

use crate::view::ClaimedJob;

/// What a worker wants.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Claiming {
    /// A name of its own without a colon, or the id that it was given before. Without one it gets a new id.
    pub(crate) worker: Option<String>,
    /// The most jobs that it takes, 1 to 1,000; 1 unless given.
    pub(crate) max: Option<usize>,
    /// How many seconds to wait when there are none, at most 60; 0 unless given.
    pub(crate) wait_s: Option<f64>,
    /// For how many seconds the jobs are locked, 1 to 3,600. Without it as the worker's last claim said, at first 10.
    pub(crate) lock_s: Option<f64>,
    /// The jobs that it is working on. If given, all others that it should have are given back first: it has not heard
    /// of them because an answer was lost. Not for a worker that has another claim under way.
    pub(crate) holding: Option<Vec<String>>,
}

/// What a worker gets.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ClaimedJobs {
    /// The worker's id, to be given with everything it does with the jobs.
    worker: String,
    /// The jobs, first to run first.
    jobs: Vec<ClaimedJob>,
    /// Why there are not more, if something else than an empty queue is the reason: `paused`, `concurrency`, `rate` or
    /// `share`.
    blocked: Option<&'static str>,
}

impl ClaimedJobs {
    pub(crate) fn new(worker: &WorkerId, claimed: &Claimed) -> ClaimedJobs {
        ClaimedJobs {
            worker: worker.to_string(),
            jobs: claimed.jobs.iter().map(Into::into).collect(),
            blocked: claimed.blocked.map(|blocked| match blocked {
                Blocked::Paused => "paused",
                Blocked::Concurrency => "concurrency",
                Blocked::Rate => "rate",
                Blocked::Share => "share",
            }),
        }
    }
}

/// A sign of life.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Heartbeat {
    /// Whose.
    pub(crate) worker: String,
    /// For how many seconds the jobs are locked from now on, 1 to 3,600. Without it as the worker's last claim said. Jobs
    /// that are locked for longer stay so.
    pub(crate) lock_s: Option<f64>,
    /// The jobs that it is working on. If given, only these stay locked, and others are given back once the answer to
    /// their claim has had 5 s to arrive, or half of `lock_s` if that is less.
    pub(crate) holding: Option<Vec<String>>,
}

/// What a worker has.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct HeldJobs {
    /// The worker.
    pub(crate) worker: String,
    /// The jobs that are still its own.
    pub(crate) jobs: Vec<String>,
    /// Those of `holding` that are not: cancelled, taken away, or ended. It may stop working on them.
    pub(crate) lost: Vec<String>,
}

/// What came of some jobs, and how many new ones are wanted.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Settling {
    /// Who did it.
    pub(crate) worker: String,
    /// What came of each, at most 1,000.
    #[serde(default)]
    pub(crate) outcomes: Vec<Settle>,
    /// The most jobs to claim, up to 1,000; none unless given.
    pub(crate) max: Option<usize>,
    /// How many seconds to wait when there are none, at most 60; 0 unless given.
    pub(crate) wait_s: Option<f64>,
    /// For how many seconds the jobs are locked, 1 to 3,600. Without it as the worker's last claim said, at first 10.
    pub(crate) lock_s: Option<f64>,
}

/// What came of one job.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Settle {
    jid: String,
    /// The attempt in which it was claimed; without it only the worker is compared.
    attempt: Option<u64>,
    end: HowItEnded,
    /// Of a completed job, what it gave; `null` unless given.
    #[schema(value_type = Option<serde_json::Value>)]
    result: Option<Box<RawValue>>,
    /// Of a completed job, for how many milliseconds to keep the result.
    ttl: Option<u64>,
    /// Of a failed job, what happened.
    message: Option<String>,
    /// Of a failed job, whether trying again makes sense; true unless given.
    retry: Option<bool>,
    /// Of a failed job, how many milliseconds to wait before the next try.
    retry_delay: Option<f64>,
    /// Of a failed job, whether to wait longer with each try.
    progressive_delay: Option<bool>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
enum HowItEnded {
    /// The work is done.
    Completed,
    /// The work failed.
    Failed,
    /// The worker gives it back unfinished.
    Released,
}

impl Settle {
    pub(crate) fn into_outcome(self) -> Result<Outcome, Problem> {
        self.check()?;
        let end = match self.end {
            HowItEnded::Completed => {
                End::Completed { result: result_text(self.result), ttl_ms: self.ttl }
            }
            HowItEnded::Failed => End::Failed(Failure {
                message: self.message.unwrap_or_default(),
                retry: self.retry.unwrap_or(true),
                retry_delay: self.retry_delay,
                progressive_delay: self.progressive_delay,
            }),
            HowItEnded::Released => End::Released,
        };
        let outcome =
            Outcome { jid: self.jid, attempt: self.attempt, options: None, end, told: None };
        check_times(&outcome)?;
        Ok(outcome)
    }

    /// What belongs to another end than this was meant for that end.
    fn check(&self) -> Result<(), Problem> {
        let given = [
            ("result", HowItEnded::Completed, self.result.is_some()),
            ("ttl", HowItEnded::Completed, self.ttl.is_some()),
            ("message", HowItEnded::Failed, self.message.is_some()),
            ("retry", HowItEnded::Failed, self.retry.is_some()),
            ("retryDelay", HowItEnded::Failed, self.retry_delay.is_some()),
            ("progressiveDelay", HowItEnded::Failed, self.progressive_delay.is_some()),
        ];
        let stray = given.iter().find(|(_, end, is_given)| *is_given && *end != self.end);
        if let Some((field, end, _)) = stray {
            let end = if *end == HowItEnded::Completed { "completed" } else { "failed" };
            return Err(invalid(*field, format!("only for an end \"{end}\"")));
        }
        if self.end == HowItEnded::Failed && self.message.is_none() {
            return Err(invalid("message", "missing; say what happened"));
        }
        Ok(())
    }
}

/// What became of a settlement.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Settled {
    /// Whether each outcome counts, in order.
    pub(crate) verdicts: Vec<Verdict>,
    #[serde(flatten)]
    pub(crate) claimed: ClaimedJobs,
}

/// Who leaves.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Leaving {
    /// The worker.
    pub(crate) worker: String,
}

/// What a worker that left had.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct LeftJobs {
    /// The jobs that were given back.
    pub(crate) released: Vec<String>,
}

/// How far a job is.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Progress {
    /// Whatever listeners understand.
    pub(crate) progress: serde_json::Value,
}

/// A job that is done.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Completion {
    /// Who did it.
    pub(crate) worker: String,
    /// The attempt in which it was claimed.
    pub(crate) attempt: Option<u64>,
    /// What it gave; `null` unless given.
    #[schema(value_type = Option<serde_json::Value>)]
    pub(crate) result: Option<Box<RawValue>>,
    /// For how many milliseconds to keep the result; the job's own time unless given.
    pub(crate) ttl: Option<u64>,
}

/// A job that could not be done.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Failing {
    /// Who tried.
    pub(crate) worker: String,
    /// The attempt in which it was claimed.
    pub(crate) attempt: Option<u64>,
    /// What happened.
    pub(crate) message: String,
    /// Whether trying again makes sense; true unless given.
    #[serde(default = "yes")]
    pub(crate) retry: bool,
    /// How many milliseconds to wait before the next try; the job's own unless given.
    pub(crate) retry_delay: Option<f64>,
    /// Whether to wait longer with each try; the job's own unless given.
    pub(crate) progressive_delay: Option<bool>,
}

fn yes() -> bool {
    true
}

/// A job that is given back.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Releasing {
    /// Who had it.
    pub(crate) worker: String,
    /// The attempt in which it was claimed.
    pub(crate) attempt: Option<u64>,
}

/// What was settled.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Settlement {
    /// The job.
    pub(crate) jid: String,
    /// That it counts.
    pub(crate) verdict: Verdict,
}

/// Refuses times that make no sense, which the store would put its own in place of.
pub(crate) fn check_times(outcome: &Outcome) -> Result<(), Problem> {
    let (field, ms) = match &outcome.end {
        End::Completed { ttl_ms, .. } => ("ttl", ttl_ms.map(|ttl| ttl as f64)),
        End::Failed(failure) => ("retryDelay", failure.retry_delay),
        End::Released => return Ok(()),
    };
    match ms {
        Some(ms) if !(0.0..=DELAY_MS_MAX).contains(&ms) => {
            Err(invalid(field, format!("{ms}; give 0 to {DELAY_MS_MAX} milliseconds")))
        }
        _ => Ok(()),
    }
}

/// A result as it is stored: without the spaces that the client may have put between.
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
