//! Keeping a worker's locks alive, and taking the jobs of workers that are not.

use std::{
    collections::{HashMap, HashSet},
    time::Duration,
};

use keyrack_store::Event;
use tokio::time::{Instant, MissedTickBehavior, interval};

use super::super::{
    claim::Claimed,
    heartbeat::WorkerInfo,
    hive::Hive,
    job::Status,
    keys::{self, Jid, QueueName, WorkerId},
    settle::{End, Outcome},
    sweep::WorkerTimeouts,
};
use super::{context::Stop, job_span::JOB_SPAN_TARGET as LOG_TARGET, queue_worker::Shared};
use crate::Error;

/// The time between two sweeps of one worker.
const SWEEP_EVERY: Duration = Duration::from_secs(2);
/// How long nobody may listen on a worker's channel before it counts as gone: longer than a reconnect takes.
const SILENCE_MAX: Duration = Duration::from_secs(2);
/// The time between two questions to a worker on whose channel nobody listens. Who listens in between was away twice for a moment, as
/// when a server restarts twice, and not for all that time.
const SUSPECTS_EVERY: Duration = Duration::from_millis(250);
/// Workers asked in one sweep: many workers share the work of watching each other.
const ASKED_MAX: usize = 16;
/// The clocks of two machines drift apart by far less in this time.
const ADJUST_CLOCK_EVERY: Duration = Duration::from_secs(300);

/// Watches over a queue: sweeps it and notices workers whose connection is closed.
///
/// Every worker does so for its own queue; a server can do it for queues that only other programs work on.
#[derive(Debug)]
pub struct Watch {
    hive: Hive,
    queue: QueueName,
    timeouts: WorkerTimeouts,
    cursor: String,
    /// Since when nobody listens on the channel of a worker.
    silent: HashMap<WorkerId, Instant>,
    /// Where to go on asking.
    next_asked: usize,
}

impl Watch {
    /// A watch over this queue.
    pub fn new(hive: &Hive, queue: QueueName, timeouts: WorkerTimeouts) -> Watch {
        Watch {
            hive: hive.clone(),
            queue,
            timeouts,
            cursor: String::new(),
            silent: HashMap::new(),
            next_asked: 0,
        }
    }

    /// Forgets who was silent: after a lost connection everybody seems so.
    pub fn forget_silence(&mut self) {
        self.silent.clear();
    }

    /// Sweeps once. To be called every second or two.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn sweep(&mut self) -> Result<(), Error> {
        // All locks were taken by the clock as it was; within this time every living worker renews its own.
        let last_jump = self.hive.store().clock().last_jump();
        if last_jump.is_some_and(|at| at.elapsed() < self.timeouts.lock) {
            return Ok(());
        }
        let gone = self.gone().await.inspect_err(|_| self.silent.clear())?;
        for worker in &gone {
            tracing::warn!(queue = %self.queue, %worker, "a worker's connection is closed; others get its jobs");
            self.silent.remove(worker);
        }
        let swept = self.hive.sweep(&self.queue, &self.timeouts, &self.cursor, &gone).await?;
        if swept.taken_away > 0 {
            tracing::warn!(queue = %self.queue, jobs = swept.taken_away, "took jobs from workers that were gone");
        }
        for jid in &swept.failed {
            tracing::error!(
                target: LOG_TARGET, queue = %self.queue, %jid, "the job failed for good: its workers were lost"
            );
        }
        self.cursor = swept.cursor;
        Ok(())
    }

    /// Asks the workers again on whose channel nobody listened; those that listen now are not suspected any more.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn ask_suspects(&mut self) -> Result<(), Error> {
        let suspects: Vec<WorkerId> = self.silent.keys().cloned().collect();
        for worker in suspects {
            if self.hive.is_listening(&self.queue, &worker).await? {
                self.silent.remove(&worker);
            }
        }
        Ok(())
    }

    fn has_suspects(&self) -> bool {
        !self.silent.is_empty()
    }

    /// The workers on whose channel nobody has listened for too long.
    async fn gone(&mut self) -> Result<Vec<WorkerId>, Error> {
        let mut workers = self.listening_workers().await?;
        self.silent.retain(|worker, _| workers.contains(worker));
        workers.sort();
        let start = if workers.is_empty() { 0 } else { self.next_asked % workers.len() };
        self.next_asked = start + ASKED_MAX;
        let suspects: HashSet<WorkerId> = self.silent.keys().cloned().collect();
        let turn = workers.iter().cycle().skip(start).take(ASKED_MAX.min(workers.len())).cloned();
        let asked: HashSet<WorkerId> = suspects.into_iter().chain(turn).collect();
        let mut gone = Vec::new();
        for worker in asked {
            if self.hive.is_listening(&self.queue, &worker).await? {
                self.silent.remove(&worker);
                continue;
            }
            let since = *self.silent.entry(worker.clone()).or_insert_with(Instant::now);
            if since.elapsed() >= SILENCE_MAX {
                gone.push(worker);
            }
        }
        Ok(gone)
    }

    /// Workers that listen as long as they live; Node's do not.
    async fn listening_workers(&self) -> Result<Vec<WorkerId>, Error> {
        let key = keys::workers(&self.queue, &self.queue.group());
        let mut cmd = redis::cmd("HGETALL");
        cmd.arg(&*self.hive.store().place(&key));
        let infos: Vec<(String, String)> =
            cmd.query_async(&mut self.hive.store().connection()).await?;
        let listens =
            |info: &str| serde_json::from_str::<WorkerInfo>(info).is_ok_and(|info| info.listens);
        Ok(infos
            .into_iter()
            .filter(|(_, info)| listens(info))
            .filter_map(|(worker, _)| WorkerId::new(worker).ok())
            .collect())
    }
}

/// Sends heartbeats for a queue worker and sweeps its queue, until dropped.
pub(super) async fn maintain(shared: &Shared, timeouts: WorkerTimeouts, info: WorkerInfo) {
    let mut watch = Watch::new(&shared.hive, shared.queue.clone(), timeouts);
    let mut heartbeats = interval(timeouts.heartbeat);
    let mut sweeps = interval(SWEEP_EVERY);
    let mut questions = interval(SUSPECTS_EVERY);
    let mut adjustments = interval(ADJUST_CLOCK_EVERY);
    for ticks in [&mut heartbeats, &mut sweeps, &mut questions, &mut adjustments] {
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    }
    adjustments.reset();
    let mut orphans = HashSet::new();
    loop {
        let done = tokio::select! {
            _ = heartbeats.tick() => send_heartbeat(shared, timeouts, &info, &mut orphans).await,
            _ = sweeps.tick() => watch.sweep().await,
            _ = questions.tick(), if watch.has_suspects() => watch.ask_suspects().await,
            _ = adjustments.tick() => shared.hive.adjust_clock().await,
        };
        if let Err(error) = done {
            watch.forget_silence();
            tracing::debug!(queue = %shared.queue, %error, "could not take care of the queue; will try again");
        }
    }
}

/// One heartbeat. Jobs that are no longer ours are stopped; jobs that we have without knowing, because the answer to
/// a claim was lost, are given back when they are still unknown the next time.
async fn send_heartbeat(
    shared: &Shared,
    timeouts: WorkerTimeouts,
    info: &WorkerInfo,
    orphans: &mut HashSet<String>,
) -> Result<(), Error> {
    let known_before = shared.registry.attempts();
    let calls_before = shared.registry.calls();
    let kept =
        shared.hive.heartbeat(&shared.queue, &shared.worker, timeouts.lock, Some(info)).await?;
    // An attempt that ended meanwhile is gone too, and the next one of the same job may run by now.
    for (jid, attempt) in known_before.iter().filter(|(jid, _)| !kept.contains(jid)) {
        shared.registry.stop(jid, Some(*attempt), why_gone(shared, jid).await);
    }
    let unknown: HashSet<String> =
        kept.into_iter().filter(|jid| !shared.registry.knows(jid)).collect();
    // A call under way may be about any of them.
    if calls_before != shared.registry.calls() || shared.registry.is_calling() {
        orphans.clear();
        return Ok(());
    }
    let lost: Vec<Outcome> = orphans
        .intersection(&unknown)
        .map(|jid| Outcome {
            jid: jid.clone(),
            attempt: None,
            options: None,
            end: End::Released,
            told: None,
        })
        .collect();
    *orphans = unknown;
    if !lost.is_empty() {
        shared.hive.settle(&shared.queue, &shared.worker, &lost, 0, timeouts.lock).await?;
    }
    Ok(())
}

/// Why a job is no longer ours. The heartbeat can be quicker than the message that says so.
pub(super) async fn why_gone(shared: &Shared, jid: &str) -> Stop {
    let Ok(jid) = Jid::new(jid) else { return Stop::Lost };
    match shared.hive.job(&jid).await {
        Ok(job) if job.status() == Status::Canceled => Stop::Canceled,
        _ => Stop::Lost,
    }
}

/// Listens on the worker's own channel, until dropped. Jobs that are canceled or taken away are stopped at once.
///
/// Node's hives know no such channel and announce what they cancel on that of the queue, so a worker that shares its queue
/// with them listens there too.
pub(super) async fn follow_orders(shared: &Shared, shares_queue: bool) {
    let group = shared.queue.group();
    let mut channels = vec![keys::worker_events(&shared.worker, &group)];
    if shares_queue {
        channels.push(keys::queue_events(&shared.queue, &group));
    }
    loop {
        let Ok(mut orders) = shared.hive.store().subscribe(&channels).await else {
            tokio::time::sleep(Duration::from_millis(200)).await;
            continue;
        };
        // What was announced before could not be heard.
        stop_canceled(shared).await;
        while let Some(event) = orders.next().await {
            match event {
                Event::Message(message) => carry_out(shared, &message.payload),
                Event::Gap => stop_canceled(shared).await,
            }
        }
    }
}

/// Stops the jobs that were canceled while nobody listened.
async fn stop_canceled(shared: &Shared) {
    for (jid, attempt) in shared.registry.attempts() {
        if why_gone(shared, &jid).await == Stop::Canceled {
            shared.registry.stop(&jid, Some(attempt), Stop::Canceled);
        }
    }
}

fn carry_out(shared: &Shared, order: &[u8]) {
    // Of what is announced in the queue nearly nothing is an order, and not worth parsing.
    let says = |what: &[u8]| order.windows(what.len()).any(|window| window == what);
    if !says(br#""canceled""#) && !says(br#""lost""#) {
        return;
    }
    let Ok(order) = serde_json::from_slice::<serde_json::Value>(order) else { return };
    let reason = match order["type"].as_str() {
        Some("canceled") => Stop::Canceled,
        Some("lost") => Stop::Lost,
        _ => return,
    };
    // What is announced in the queue has the whole job, which may be another worker's.
    if order.get("job").is_some_and(|job| job["worker"] != shared.worker.as_str()) {
        return;
    }
    if let Some(jid) = order["jid"].as_str() {
        // The message may be about an attempt before the one that runs now.
        shared.registry.stop(jid, order["attempt"].as_u64(), reason);
    }
}

/// How long to wait for events after a claim.
pub(super) fn wait_after(claimed: &Claimed, now_ms: u64) -> Option<Duration> {
    claimed.again_at.map(|at| Duration::from_millis(at.saturating_sub(now_ms).max(1)))
}
