//! Running jobs from any language: claim, tell how far one is, say what came of it.

mod several;
mod wire;

use std::{collections::HashSet, sync::Arc, time::Duration};

use axum::{Json, extract::State, http::StatusCode};
use keyrack_jobs::bee::{
    Claim, ClaimGuard, Claimed, End, Failure, Hive, Outcome, Progress as JobProgress, Status,
    Verdict, WorkerInfo, WorkerTimeouts,
    errors::check_version,
    keys::{Jid, QueueName, WorkerId},
};
use keyrack_services::Jobs;
use keyrack_web::{
    App, Problem,
    error::{bad_name, conflict, invalid},
    extract::{Body, Job, Queue},
};

pub(super) use self::several::{__path_claim_several, claim_several};
use self::wire::{
    ClaimedJobs, Claiming, Completion, Failing, Heartbeat, HeldJobs, Leaving, LeftJobs, Progress,
    Releasing, Settled, Settlement, Settling, Snoozing,
};
use super::wait;

/// The most jobs of one claim, and the most outcomes of one settlement.
const BATCH_MAX: usize = 1000;
/// How long a claim may lock jobs.
const LOCK_S_MAX: f64 = 3600.0;

/// Claims jobs. If the queue is empty, waits up to `wait_s` for a job.
///
/// The jobs are locked for the worker until `lock_s` after its last claim or heartbeat; then other workers get them. A
/// client that disconnects while it waits gets no job.
#[utoipa::path(post, path = "/queues/{queue}/claim", tag = "worker", operation_id = "claim", params(("queue" = String, Path)),
    request_body = Claiming,
    responses((status = OK, body = ClaimedJobs)))]
pub(super) async fn claim(
    State(app): State<Arc<App>>,
    Queue(queue): Queue,
    Body(wish): Body<Claiming>,
) -> Result<Json<ClaimedJobs>, Problem> {
    let wait = wait::time(wish.wait_s)?;
    let worker = worker_id(&app, wish.worker.as_deref(), &queue).await?;
    let jobs = app.services.jobs().await?;
    let claim = Claim {
        max: batch("max", wish.max.unwrap_or(1))?,
        lock: lock(jobs, &queue, &worker, wish.lock_s).await?,
        worker,
        queue,
    };
    if claim.max == 0 {
        return Err(invalid("max", "0; give at least 1"));
    }
    let mut visit = Visit { jobs, claim: &claim, is_over: wish.worker.is_some() };
    wish.version.as_deref().map_or(Ok(()), check_version)?;
    register(jobs, &claim, wish.holding, wish.version).await?;
    let _permit = app.permit_to_wait()?;
    let claimed = keep(claim_unless_stopped(&app, jobs, &claim, wait).await?);
    visit.is_over = visit.is_over || !claimed.jobs.is_empty();
    Ok(Json(ClaimedJobs::new(&claim.worker, &claimed, jobs.hive.now_ms())))
}

/// A worker without a name that has no jobs is forgotten with its request: nobody will hear of it again.
struct Visit<'a> {
    jobs: &'a Jobs,
    claim: &'a Claim,
    /// Whether it has a name, or jobs.
    is_over: bool,
}

impl Drop for Visit<'_> {
    fn drop(&mut self) {
        if self.is_over {
            return;
        }
        self.jobs.waiters.note_left(&self.claim.queue, &self.claim.worker);
        let (hive, claim) = (self.jobs.hive.clone(), self.claim.clone());
        tokio::spawn(async move {
            if let Err(error) = hive.leave(&claim.queue, &claim.worker).await {
                tracing::debug!(%error, "could not forget a worker; that happens in an hour");
            }
        });
    }
}

/// Renews the locks of a worker's jobs.
#[utoipa::path(post, path = "/queues/{queue}/heartbeat", tag = "worker", operation_id = "heartbeat", params(("queue" = String, Path)),
    request_body = Heartbeat,
    responses((status = OK, body = HeldJobs)))]
pub(super) async fn heartbeat(
    State(app): State<Arc<App>>,
    Queue(queue): Queue,
    Body(sign): Body<Heartbeat>,
) -> Result<Json<HeldJobs>, Problem> {
    let worker = worker_id(&app, Some(&sign.worker), &queue).await?;
    let jobs = app.services.jobs().await?;
    let (hive, lock) = (&jobs.hive, lock(jobs, &queue, &worker, sign.lock_s).await?);
    let kept = match &sign.holding {
        Some(holding) => hive.heartbeat_holding(&queue, &worker, lock, holding).await?,
        None => hive.heartbeat(&queue, &worker, lock, None).await?,
    };
    let holding = sign.holding.unwrap_or_default();
    let lost = holding.into_iter().filter(|jid| !kept.contains(jid)).collect();
    let mut jobs: Vec<String> = kept.into_iter().collect();
    jobs.sort_unstable();
    Ok(Json(HeldJobs { worker: worker.to_string(), jobs, lost }))
}

/// Reports the outcomes of many jobs and claims the next ones, in one step.
#[utoipa::path(post, path = "/queues/{queue}/settle", tag = "worker", operation_id = "settle", params(("queue" = String, Path)),
    request_body = Settling,
    responses((status = OK, body = Settled)))]
pub(super) async fn settle(
    State(app): State<Arc<App>>,
    Queue(queue): Queue,
    Body(wish): Body<Settling>,
) -> Result<Json<Settled>, Problem> {
    let wait = wait::time(wish.wait_s)?;
    let worker = worker_id(&app, Some(&wish.worker), &queue).await?;
    let jobs = app.services.jobs().await?;
    let claim = Claim {
        max: batch("max", wish.max.unwrap_or(0))?,
        lock: lock(jobs, &queue, &worker, wish.lock_s).await?,
        worker,
        queue,
    };
    batch("outcomes", wish.outcomes.len())?;
    let outcomes = wish.outcomes.into_iter().enumerate();
    let outcomes = outcomes
        .map(|(place, outcome)| outcome.into_outcome().map_err(|problem| problem.within(place)))
        .collect::<Result<Vec<Outcome>, Problem>>()?;
    let told = outcomes.clone();
    let (mut verdicts, mut caught) = jobs.waiters.settle(outcomes, &claim).await?;
    for (verdict, outcome) in verdicts.iter_mut().zip(&told) {
        if *verdict == Verdict::Lost
            && let Ok(jid) = Jid::new(outcome.jid.as_str())
            && was_told(&jobs.hive, &jid, &claim.worker, outcome).await?
        {
            *verdict = Verdict::Ok;
        }
    }
    if caught.is_empty() && claim.max > 0 && !wait.is_zero() {
        let _permit = app.permit_to_wait()?;
        // What was settled is, whatever becomes of the claim.
        if let Ok(Some(later)) = claim_unless_stopped(&app, jobs, &claim, wait).await {
            caught = later;
        }
    }
    let now_ms = jobs.hive.now_ms();
    let claimed = ClaimedJobs::new(&claim.worker, &keep(Some(caught)), now_ms);
    Ok(Json(Settled { verdicts, claimed }))
}

/// Removes a worker; its jobs return to the queue.
#[utoipa::path(post, path = "/queues/{queue}/leave", tag = "worker", operation_id = "leave", params(("queue" = String, Path)),
    request_body = Leaving,
    responses((status = OK, body = LeftJobs)))]
pub(super) async fn leave(
    State(app): State<Arc<App>>,
    Queue(queue): Queue,
    Body(Leaving { worker }): Body<Leaving>,
) -> Result<Json<LeftJobs>, Problem> {
    let worker = worker_id(&app, Some(&worker), &queue).await?;
    let jobs = app.services.jobs().await?;
    jobs.waiters.note_left(&queue, &worker);
    let released = jobs.hive.leave(&queue, &worker).await?;
    Ok(Json(LeftJobs { released }))
}

/// Publishes the progress of a running job to listeners, and stores the last of it with the job.
#[utoipa::path(post, path = "/jobs/{jid}/progress", tag = "worker", operation_id = "progress", params(("jid" = String, Path)),
    request_body = Progress,
    responses((status = NO_CONTENT)))]
pub(super) async fn progress(
    State(app): State<Arc<App>>,
    Job(jid): Job,
    Body(Progress { progress, message, attempt }): Body<Progress>,
) -> Result<StatusCode, Problem> {
    let hive = &app.services.jobs().await?.hive;
    let job = hive.job(&jid).await?;
    if job.status() != Status::Running {
        return Err(keyrack_jobs::Error::Conflict {
            jid: jid.to_string(),
            status: job.status().to_string(),
            hint: "only a running job can tell how far it is",
        }
        .into());
    }
    if let Some(attempt) = attempt.filter(|attempt| *attempt != job.attempts()) {
        let present = job.attempts();
        return Err(conflict("job_lost").title("the job is in another attempt").detail(format!(
            "the job \"{jid}\" is in attempt {present}, not {attempt}; its lock expired"
        )));
    }
    let progress = JobProgress::of(&job, progress, message, hive.now_ms())?;
    hive.report_progress(&job, &progress).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Completes a job.
#[utoipa::path(post, path = "/jobs/{jid}/complete", tag = "worker", operation_id = "complete", params(("jid" = String, Path)),
    request_body = Completion,
    responses((status = OK, body = Settlement)))]
pub(super) async fn complete(
    app: State<Arc<App>>,
    jid: Job,
    Body(done): Body<Completion>,
) -> Result<Json<Settlement>, Problem> {
    let end = End::Completed { result: wire::result_text(done.result), ttl_ms: done.ttl };
    settle_one(app, jid, &done.worker, done.attempt, end).await
}

/// Fails the attempt; the job is retried as its options or the worker say.
#[utoipa::path(post, path = "/jobs/{jid}/fail", tag = "worker", operation_id = "fail", params(("jid" = String, Path)),
    request_body = Failing,
    responses((status = OK, body = Settlement)))]
pub(super) async fn fail(
    app: State<Arc<App>>,
    jid: Job,
    Body(failing): Body<Failing>,
) -> Result<Json<Settlement>, Problem> {
    let failure = Failure {
        message: failing.message,
        retry: failing.retry,
        retry_delay: failing.retry_delay,
        progressive_delay: failing.progressive_delay,
        snooze_ms: None,
    };
    settle_one(app, jid, &failing.worker, failing.attempt, End::Failed(failure)).await
}

/// Runs a job later because it cannot be done now. This is no failure and uses no retry.
#[utoipa::path(post, path = "/jobs/{jid}/snooze", tag = "worker", operation_id = "snooze", params(("jid" = String, Path)),
    request_body = Snoozing,
    responses((status = OK, body = Settlement)))]
pub(super) async fn snooze(
    app: State<Arc<App>>,
    jid: Job,
    Body(Snoozing { worker, attempt, delay }): Body<Snoozing>,
) -> Result<Json<Settlement>, Problem> {
    settle_one(app, jid, &worker, attempt, End::Snoozed { delay_ms: delay }).await
}

/// Returns a job to the queue unfinished, as if it had not been claimed.
#[utoipa::path(post, path = "/jobs/{jid}/release", tag = "worker", operation_id = "release", params(("jid" = String, Path)),
    request_body = Releasing,
    responses((status = OK, body = Settlement)))]
pub(super) async fn release(
    app: State<Arc<App>>,
    jid: Job,
    Body(Releasing { worker, attempt }): Body<Releasing>,
) -> Result<Json<Settlement>, Problem> {
    settle_one(app, jid, &worker, attempt, End::Released).await
}

async fn settle_one(
    State(app): State<Arc<App>>,
    Job(jid): Job,
    worker: &str,
    attempt: Option<u64>,
    end: End,
) -> Result<Json<Settlement>, Problem> {
    let jobs = app.services.jobs().await?;
    let hive = &jobs.hive;
    let queue = match jobs.waiters.queue_of(&jid) {
        Some(queue) => Some(queue),
        None => hive.job(&jid).await?.queue_name(),
    };
    let Some(queue) = queue else {
        return Err(invalid("jid", format!("the job \"{jid}\" has no queue that could be used")));
    };
    let worker = worker_id(&app, Some(worker), &queue).await?;
    let outcome = Outcome { jid: jid.to_string(), attempt, options: None, end, told: None };
    outcome.check_times()?;
    let claim = Claim { queue, worker, max: 0, lock: WorkerTimeouts::KEYRACK.lock };
    let (verdicts, _) = jobs.waiters.settle(vec![outcome.clone()], &claim).await?;
    let (verdict, worker) = (verdicts.first().copied().unwrap_or(Verdict::Gone), claim.worker);
    if verdict == Verdict::Ok
        || (verdict == Verdict::Lost && was_told(hive, &jid, &worker, &outcome).await?)
    {
        return Ok(Json(Settlement { jid: jid.to_string(), verdict: Verdict::Ok }));
    }
    Err(refusal(verdict, &jid, &worker))
}

/// Whether the same end of the same attempt was reported before: the answer to it may have been lost.
async fn was_told(
    hive: &Hive,
    jid: &Jid,
    worker: &WorkerId,
    outcome: &Outcome,
) -> Result<bool, Problem> {
    let job = match hive.job(jid).await {
        Err(keyrack_jobs::Error::NoSuchJob { .. }) => return Ok(false),
        job => job?,
    };
    let is_attempt = job.worker() == worker.as_str() && outcome.attempt == Some(job.attempts());
    Ok(is_attempt
        && match &outcome.end {
            End::Completed { result, .. } => {
                job.status() == Status::Completed && job.result() == Some(result.as_str())
            }
            End::Failed(_) => matches!(job.status(), Status::Failed | Status::Retried),
            // The script knows these.
            End::Snoozed { .. } | End::Released => false,
        })
}

fn refusal(verdict: Verdict, jid: &Jid, worker: &WorkerId) -> Problem {
    match verdict {
        Verdict::Gone => keyrack_jobs::Error::NoSuchJob { jid: jid.to_string() }.into(),
        Verdict::Canceled => conflict("job_canceled")
            .title("the job was canceled")
            .detail(format!("the job \"{jid}\" was canceled meanwhile; forget it")),
        Verdict::Lost | Verdict::Ok => conflict("job_lost")
            .title("the job is not the worker's any more")
            .detail(format!(
                "the worker \"{worker}\" does not have the job \"{jid}\" in this attempt; its lock expired, or it has ended"
            )),
    }
}

/// Claims unless the server stops meanwhile.
async fn claim_unless_stopped(
    app: &App,
    jobs: &Jobs,
    claim: &Claim,
    wait: Duration,
) -> Result<Option<ClaimGuard>, Problem> {
    tokio::select! {
        caught = jobs.waiters.claim(claim, wait) => Ok(Some(caught?)),
        () = app.stopped() => Ok(None),
    }
}

/// From here on nothing can keep the answer from the client but its connection.
fn keep(caught: Option<ClaimGuard>) -> Claimed {
    caught.map(ClaimGuard::keep).unwrap_or_default()
}

/// Registers a worker, unless it was a moment ago: being on the list of workers is what gives it a share of the jobs. Gives
/// back what it does not hold.
async fn register(
    jobs: &Jobs,
    claim: &Claim,
    holding: Option<Vec<String>>,
    version: Option<String>,
) -> Result<(), Problem> {
    if holding.is_none() && jobs.waiters.is_registered(claim) {
        return Ok(());
    }
    let info = info(&jobs.hive, claim, version).await?;
    let kept = jobs.hive.heartbeat(&claim.queue, &claim.worker, claim.lock, Some(&info)).await?;
    jobs.waiters.note_registered(claim);
    give_back_unknown(&jobs.hive, claim, kept, holding).await
}

/// What is stored about a worker over HTTP, which tells nothing about itself but its version.
async fn info(hive: &Hive, claim: &Claim, version: Option<String>) -> Result<WorkerInfo, Problem> {
    let known = hive.worker_info(&claim.queue, &claim.worker).await?;
    let known_version = known.as_ref().and_then(|info| info.version.clone());
    Ok(WorkerInfo {
        started_at: known.map_or_else(|| hive.now_ms(), |info| info.started_at),
        concurrency: claim.max as u64,
        lock_ms: claim.lock.as_millis() as u64,
        listens: false,
        // A claim gives it a job that has lost workers only alone.
        isolates: true,
        stop_ms: None,
        version: version.or(known_version),
    })
}

/// The worker by the id it was given, by a name of its own, or a new one.
async fn worker_id(app: &App, text: Option<&str>, queue: &QueueName) -> Result<WorkerId, Problem> {
    let named = |error| bad_name(&error).field("worker");
    match text {
        None => Ok(app.services.jobs().await?.hive.new_worker(queue)?),
        Some(id) if id.contains(':') => WorkerId::new(id).map_err(named),
        // The same in every process: whoever restarts under its name is the same worker.
        Some(name) => {
            let queue = queue.as_str().replace(':', "_");
            WorkerId::new(format!("{name}:0:http:{queue}")).map_err(named)
        }
    }
}

/// Returns jobs to the queue that are assigned to the worker but not known to it: an answer was lost.
async fn give_back_unknown(
    hive: &Hive,
    claim: &Claim,
    kept: HashSet<String>,
    holding: Option<Vec<String>>,
) -> Result<(), Problem> {
    let Some(holding) = holding else { return Ok(()) };
    let released =
        |jid| Outcome { jid, attempt: None, options: None, end: End::Released, told: None };
    let unknown = kept.into_iter().filter(|jid| !holding.contains(jid));
    let outcomes: Vec<Outcome> = unknown.map(released).collect();
    if !outcomes.is_empty() {
        hive.settle(&claim.queue, &claim.worker, &outcomes, 0, claim.lock).await?;
    }
    Ok(())
}

fn batch(field: &'static str, n: usize) -> Result<usize, Problem> {
    if n > BATCH_MAX {
        return Err(invalid(field, format!("{n}; at most {BATCH_MAX} are taken")));
    }
    Ok(n)
}

/// For how long jobs are locked: as asked for, or as the worker has asked for before.
async fn lock(
    jobs: &Jobs,
    queue: &QueueName,
    worker: &WorkerId,
    lock_s: Option<f64>,
) -> Result<Duration, Problem> {
    let Some(seconds) = lock_s else {
        if let Some(lock) = jobs.waiters.lock_of(queue, worker) {
            return Ok(lock);
        }
        let known = jobs.hive.worker_info(queue, worker).await?;
        return Ok(
            known.map_or(WorkerTimeouts::KEYRACK.lock, |info| Duration::from_millis(info.lock_ms))
        );
    };
    if !(1.0..=LOCK_S_MAX).contains(&seconds) {
        return Err(invalid("lock_s", format!("{seconds}; give 1 to {LOCK_S_MAX} seconds")));
    }
    Ok(Duration::from_secs_f64(seconds))
}
