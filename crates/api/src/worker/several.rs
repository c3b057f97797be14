//! Claiming jobs of several queues in one request.

use std::{collections::BTreeMap, sync::Arc};

use axum::{Json, extract::State};
use keyrack_jobs::bee::{
    Claim, ClaimGuard, WeightedClaim, errors::check_version, keys::QueueName, record_wait,
    worker::WEIGHT_MAX,
};
use keyrack_web::{
    App, Problem,
    error::{bad_name, invalid},
    extract::Body,
};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{batch, lock, register, wire::blocked_word, worker_id};
use crate::{view::ClaimedJob, wait};

/// The most queues of one claim.
const QUEUES_MAX: usize = 50;

/// A claim of jobs of several queues.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ClaimingSeveral {
    /// A name that no other worker of these queues uses, without a colon.
    worker: String,
    /// The queues, 1 to 50.
    queues: Vec<ClaimedQueue>,
    /// Most jobs to claim at all queues together, 1 to 1,000. Default: 1.
    max: Option<usize>,
    /// How many seconds to wait for a job if all queues are empty, at most 60. Default: 0.
    wait_s: Option<f64>,
    /// For how many seconds the jobs are locked, 1 to 3,600. Default: the value of the worker's last claim at the queue, or 10.
    lock_s: Option<f64>,
    /// The jobs that the worker is running. If given, all other jobs of these queues that are assigned to it return first.
    holding: Option<Vec<String>>,
    /// The version of the program that runs the jobs, at most 64 bytes. Groups of failures tell in which they were seen.
    version: Option<String>,
}

/// A queue of a claim.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ClaimedQueue {
    /// Its name.
    queue: String,
    /// How many turns it has for one of a queue of weight 1, 1 to 100. Default: 1.
    #[serde(default = "one")]
    weight: u32,
}

fn one() -> u32 {
    1
}

/// Claimed jobs of several queues.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ClaimedOfSeveral {
    /// The worker's name. Requests about the jobs take it.
    worker: String,
    /// The jobs; each names its queue.
    jobs: Vec<ClaimedJob>,
    /// Why queues that were asked have no more jobs, unless they are empty: `paused`, `concurrency`, `rate`, `share` or
    /// `quarantine`.
    blocked: BTreeMap<String, &'static str>,
}

/// Claims jobs of several queues, which take turns by weight. If all are empty, waits up to `wait_s` for a job.
///
/// Heartbeats are sent to each queue of which the worker has jobs.
#[utoipa::path(post, path = "/claim", tag = "worker", operation_id = "claim_several",
    request_body = ClaimingSeveral,
    responses((status = OK, body = ClaimedOfSeveral)))]
pub(crate) async fn claim_several(
    State(app): State<Arc<App>>,
    Body(wish): Body<ClaimingSeveral>,
) -> Result<Json<ClaimedOfSeveral>, Problem> {
    let wait = wait::time(wish.wait_s)?;
    let max = batch("max", wish.max.unwrap_or(1))?;
    if max == 0 {
        return Err(invalid("max", "0; give at least 1"));
    }
    if wish.worker.contains(':') {
        let reason = format!("\"{}\" has a colon; give a name without one", wish.worker);
        return Err(invalid("worker", reason));
    }
    wish.version.as_deref().map_or(Ok(()), check_version)?;
    let queues = weighted(&wish.queues)?;
    let jobs = app.services.jobs().await?;
    let mut claims = Vec::with_capacity(queues.len());
    for (queue, weight) in queues {
        let worker = worker_id(&app, Some(&wish.worker), &queue).await?;
        let lock = lock(jobs, &queue, &worker, wish.lock_s).await?;
        claims.push(WeightedClaim { claim: Claim { queue, worker, max, lock }, weight });
    }
    for of in &claims {
        register(jobs, &of.claim, wish.holding.clone(), wish.version.clone()).await?;
    }
    let _permit = app.permit_to_wait()?;
    let guards = tokio::select! {
        guards = jobs.waiters.claim_several(&wish.worker, &claims, max, wait) => guards?,
        () = app.stopped() => Vec::new(),
    };
    Ok(Json(ClaimedOfSeveral::new(wish.worker, guards, jobs.hive.now_ms())))
}

/// The queues by name, each once.
fn weighted(queues: &[ClaimedQueue]) -> Result<Vec<(QueueName, u32)>, Problem> {
    if queues.is_empty() || queues.len() > QUEUES_MAX {
        return Err(invalid("queues", format!("{} of them; give 1 to {QUEUES_MAX}", queues.len())));
    }
    let mut found: Vec<(QueueName, u32)> = Vec::with_capacity(queues.len());
    for (at, ClaimedQueue { queue, weight }) in queues.iter().enumerate() {
        let name = QueueName::new(queue.as_str())
            .map_err(|error| bad_name(&error).field(format!("queues[{at}].queue")))?;
        if !(1..=WEIGHT_MAX).contains(weight) {
            let reason = format!("{weight}; give 1 to {WEIGHT_MAX}");
            return Err(invalid(format!("queues[{at}].weight"), reason));
        }
        if found.iter().any(|(other, _)| *other == name) {
            let reason = format!("\"{queue}\" is there twice; give it once");
            return Err(invalid(format!("queues[{at}].queue"), reason));
        }
        found.push((name, *weight));
    }
    Ok(found)
}

impl ClaimedOfSeveral {
    /// From here on nothing can keep the jobs from the client but its connection.
    fn new(worker: String, guards: Vec<ClaimGuard>, now_ms: u64) -> ClaimedOfSeveral {
        let (mut jobs, mut blocked) = (Vec::new(), BTreeMap::new());
        for guard in guards {
            let queue = guard.queue().to_string();
            let claimed = guard.keep();
            let word = claimed.blocked.map(blocked_word);
            blocked.extend(word.map(|word| (queue, word)));
            claimed.jobs.iter().for_each(|job| record_wait(job, now_ms));
            jobs.extend(claimed.jobs.iter().map(|job| ClaimedJob::new(job, claimed.timeout_ms)));
        }
        ClaimedOfSeveral { worker, jobs, blocked }
    }
}
