//! Taking jobs for a worker.

use std::time::Duration;

use keyrack_store::Script;

use super::{
    hive::Hive,
    job::Job,
    keys::{QueueName, WorkerId},
};
use crate::Error;

static CLAIM: Script = bee_script!("claim.lua");

/// What a claim brought.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Claimed {
    /// The jobs, first to run first.
    pub jobs: Vec<Job>,
    /// Why there are not more, if something else than an empty queue is the reason.
    pub blocked: Option<Blocked>,
    /// When it is worth asking again without having heard of a new job, in unix milliseconds.
    pub again_at: Option<u64>,
}

/// What keeps jobs of a queue from starting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Blocked {
    /// The queue is paused.
    Paused,
    /// As many jobs run as may at once.
    Concurrency,
    /// As many jobs have started as may in that time.
    Rate,
    /// The other workers are to have theirs.
    Share,
}

impl Claimed {
    pub(crate) fn from_reply(
        queue: &QueueName,
        worker: &WorkerId,
        (fields, blocked, again_at): (Vec<Option<Vec<u8>>>, String, String),
    ) -> Claimed {
        let jobs = Job::from_claim(fields, queue, worker);
        let blocked = match blocked.as_str() {
            "paused" => Some(Blocked::Paused),
            "concurrency" => Some(Blocked::Concurrency),
            "rate" => Some(Blocked::Rate),
            "share" => Some(Blocked::Share),
            _ => None,
        };
        let again_at = again_at.parse::<f64>().ok().map(|at| at.ceil() as u64);
        Claimed { jobs, blocked, again_at }
    }
}

impl Hive {
    /// Claims up to `max` jobs for a worker and locks them for so long.
    ///
    /// # Errors
    /// When the store fails. If the connection was lost, jobs may have been claimed: a heartbeat tells.
    pub async fn claim(
        &self,
        queue: &QueueName,
        worker: &WorkerId,
        max: usize,
        lock: Duration,
    ) -> Result<Claimed, Error> {
        let call = self
            .call_on_queue(&CLAIM, queue)
            .arg("worker", worker.as_str())
            .arg("lock_ms", lock.as_millis() as u64)
            .arg("max", max);
        Ok(Claimed::from_reply(queue, worker, call.run().await?))
    }
}
