//! What a queue holds, who works on it, and how fast.

use std::collections::BTreeMap;

use keyrack_store::Script;
use serde::Serialize;

use super::{
    heartbeat::WorkerInfo,
    hive::Hive,
    keys::{self, QueueName, WorkerId},
    list::JobState,
    queue::Limits,
    times::Minutes,
};
use crate::Error;

static STATS: Script = bee_script!("stats.lua");

/// What a queue holds at one moment.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Stats {
    /// The queue.
    pub queue: String,
    /// Whether no more jobs may start.
    pub paused: bool,
    /// Jobs that could start now.
    pub queued: u64,
    /// Jobs whose time has not come.
    pub delayed: u64,
    /// Jobs that wait for other jobs.
    pub waiting: u64,
    /// Jobs that wait for the turn of their tenant; an estimate when there are very many tenants.
    pub parked: u64,
    /// Jobs that run.
    pub running: u64,
    /// Jobs that have ended, the failed ones among them, and whose result is kept.
    pub ended: u64,
    /// Jobs that failed for good and are kept.
    pub failed: u64,
    /// Tenants that have jobs waiting or running.
    pub tenants: u64,
    /// For how long the first job has been queued, in milliseconds.
    pub oldest_ms: Option<u64>,
    /// When the next delayed job is due, in unix milliseconds.
    pub next_due_at: Option<u64>,
    /// Ended jobs that were deleted before their time in the last hour, because the queue keeps no more of them.
    pub dropped: u64,
    /// What limits it.
    pub limits: Limits,
    /// Who works on it, the last heard of first.
    pub workers: Vec<WorkerStats>,
    /// What happened in the last hour, minute by minute, oldest first. Jobs that Node workers ran are not in it.
    pub minutes: Vec<Minute>,
}

/// A worker that was not heard of for longer counts as gone. Node's workers sends a heartbeat every 30 s.
pub const SILENT_MS: u64 = 60_000;

impl Stats {
    /// How many jobs are in a place.
    pub fn jobs_in(&self, place: JobState) -> u64 {
        match place {
            JobState::Queued => self.queued,
            JobState::Delayed => self.delayed,
            JobState::Waiting => self.waiting,
            JobState::Parked => self.parked,
            JobState::Running => self.running,
            JobState::Failed => self.failed,
            JobState::Ended => self.ended,
        }
    }

    /// How many workers were heard of in the last minute.
    pub fn workers_alive(&self, now_ms: u64) -> u64 {
        self.workers.iter().filter(|worker| worker.is_alive(now_ms)).count() as u64
    }
}

impl WorkerStats {
    /// Whether the worker was heard of in the last minute.
    pub fn is_alive(&self, now_ms: u64) -> bool {
        now_ms.saturating_sub(self.seen_at) <= SILENT_MS
    }
}

/// A worker of a queue.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct WorkerStats {
    /// Its id.
    pub worker: String,
    /// Its last heartbeat, in unix milliseconds.
    pub seen_at: u64,
    /// How many jobs it has.
    pub running: u64,
    /// What it tells about itself; Node workers tell nothing.
    pub info: Option<WorkerInfo>,
}

/// What happened in one minute.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Minute {
    /// Its beginning, in unix milliseconds.
    pub at: u64,
    /// Jobs submitted.
    pub submitted: u64,
    /// Jobs claimed by workers.
    pub started: u64,
    /// Jobs completed.
    pub completed: u64,
    /// Jobs failed for good.
    pub failed: u64,
    /// Those of them whose group of failures was muted.
    pub muted: u64,
    /// Ended jobs that were deleted before their time, because the queue keeps no more of them.
    pub dropped: u64,
}

const MINUTE_MS: u64 = 60_000;
/// Older minutes are not told: the sweep forgets them in its own time.
const MINUTES_MAX: u64 = 60;

type Reply = (
    [u64; 8],
    String,
    String,
    BTreeMap<String, String>,
    Vec<(String, String)>,
    Vec<(String, String)>,
    Vec<(String, f64, u64, String)>,
);

impl Hive {
    /// What a queue holds now. Of a queue that nobody has used, everything is zero.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn stats(&self, queue: &QueueName) -> Result<Stats, Error> {
        let now = self.now_ms();
        let (counts, head, due, settings, counters, recorded, workers): Reply =
            self.call_on_queue(&STATS, queue).run().await?;
        let [queued, delayed, waiting, running, ended, failed, tenants, parked] = counts;
        let minutes = minutes_of(Minutes::new(&counters, &recorded), now);
        let moment = |text: &str| text.parse::<f64>().ok().map(|at| at.max(0.0) as u64);
        Ok(Stats {
            queue: queue.to_string(),
            paused: settings.get("paused").is_some_and(|paused| paused == "1"),
            queued,
            delayed,
            waiting,
            parked,
            running,
            ended,
            failed,
            tenants,
            oldest_ms: moment(&head).map(|at| now.saturating_sub(at)),
            next_due_at: moment(&due),
            limits: Limits::from_settings(&settings),
            workers: workers.into_iter().map(WorkerStats::from_reply).collect(),
            dropped: minutes.iter().map(|minute| minute.dropped).sum(),
            minutes,
        })
    }
}

impl Hive {
    /// What a worker of a queue has told about itself, if anything.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn worker_info(
        &self,
        queue: &QueueName,
        worker: &WorkerId,
    ) -> Result<Option<WorkerInfo>, Error> {
        let mut cmd = redis::cmd("HGET");
        cmd.arg(&*self.store().place(&keys::workers(queue, &queue.group()))).arg(worker.as_str());
        let info: Option<String> = cmd.query_async(&mut self.store().connection()).await?;
        Ok(info.and_then(|info| serde_json::from_str(&info).ok()))
    }
}

impl WorkerStats {
    fn from_reply((worker, seen_at, running, info): (String, f64, u64, String)) -> WorkerStats {
        let info = serde_json::from_str(&info).ok();
        WorkerStats { worker, seen_at: seen_at as u64, running, info }
    }
}

/// What is known of the last hour; a minute in which nothing happened is left out.
fn minutes_of(minutes: Minutes, now: u64) -> Vec<Minute> {
    let is_old = |minute: u64| minute.saturating_add(MINUTES_MAX) <= now / MINUTE_MS;
    let recent = minutes.0.into_iter().filter(|(minute, _)| !is_old(*minute));
    let minutes = recent.map(|(minute, record)| Minute {
        at: minute.saturating_mul(MINUTE_MS),
        submitted: record.submitted,
        started: record.started,
        completed: record.completed,
        failed: record.failed,
        muted: record.muted,
        dropped: record.dropped,
    });
    minutes.collect()
}

#[cfg(test)]
mod tests;
