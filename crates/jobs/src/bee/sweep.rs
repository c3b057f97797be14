//! Cleaning up: results that expired, locks that nobody renewed, workers that are gone.

use std::time::Duration;

use keyrack_store::Script;

use super::{
    hive::Hive,
    keys::{QueueName, WorkerId},
};
use crate::Error;

static SWEEP: Script = bee_script!("sweep.lua");

/// When a worker counts as dead, and how much is kept. All workers of a queue should agree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WorkerTimeouts {
    /// For how long a claim or a heartbeat locks a job.
    pub lock: Duration,
    /// The time between two heartbeats of a worker.
    pub heartbeat: Duration,
    /// How often a lock may expire before the job goes to another worker.
    pub waits_max: u32,
    /// A job that has lost so many workers fails; 0 for no such limit. Before that it runs alone, so that it does not
    /// fail for what another job did.
    pub deaths_max: u32,
    /// How many completed jobs a queue keeps, and how many failed ones, unless its [`Limits`](super::queue::Limits) say
    /// otherwise. Beyond that, completed jobs are deleted that would expire first, and failed ones that failed first.
    pub finished_max: u64,
}

impl WorkerTimeouts {
    /// A silent worker loses its jobs within 12 s: its lock, and the 2 s between two checks.
    pub const KEYRACK: WorkerTimeouts = WorkerTimeouts {
        lock: Duration::from_secs(10),
        heartbeat: Duration::from_secs(3),
        waits_max: 0,
        deaths_max: 3,
        finished_max: 100_000,
    };

    /// The timings of the Node program, for queues that its workers share: a worker may be silent for three minutes.
    pub const BEE: WorkerTimeouts = WorkerTimeouts {
        lock: Duration::from_secs(45),
        heartbeat: Duration::from_secs(30),
        waits_max: 3,
        deaths_max: 0,
        finished_max: u64::MAX >> 11,
    };
}

impl Default for WorkerTimeouts {
    fn default() -> WorkerTimeouts {
        WorkerTimeouts::KEYRACK
    }
}

/// What a sweep did.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Swept {
    /// Results that expired.
    pub expired: u64,
    /// Jobs taken from workers that were gone.
    pub taken_away: u64,
    /// Those of them that failed for good: they had no more retries, or have lost too many workers.
    pub failed: Vec<String>,
    /// Where the next sweep is to go on.
    pub cursor: String,
}

impl Hive {
    /// Cleans up a queue. Workers among `gone` lose their jobs at once. Begin with an empty cursor.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn sweep(
        &self,
        queue: &QueueName,
        timeouts: &WorkerTimeouts,
        cursor: &str,
        gone: &[WorkerId],
    ) -> Result<Swept, Error> {
        let gone: Vec<&str> = gone.iter().map(WorkerId::as_str).collect();
        let call = self
            .call_on_queue(&SWEEP, queue)
            .arg("lock_ms", timeouts.lock.as_millis() as u64)
            .arg("waits_max", timeouts.waits_max)
            .arg("deaths_max", timeouts.deaths_max)
            .arg("last_chance_after", timeouts.last_chance_after())
            .arg("finished_max", timeouts.finished_max)
            .arg("cursor", if cursor.is_empty() { "0" } else { cursor })
            .args("gone", gone);
        let (expired, taken_away, cursor, failed) = call.run().await?;
        Ok(Swept { expired, taken_away, failed, cursor })
    }
}
