//! Signs of life of a worker, and its leave.

use std::{collections::HashSet, time::Duration};

use keyrack_store::Script;
use serde::{Deserialize, Serialize};

use super::{
    hive::Hive,
    ids, keys,
    keys::{QueueName, WorkerId},
};
use crate::Error;

static HEARTBEAT: Script = bee_script!("heartbeat.lua");
static LEAVE: Script = bee_script!("leave.lua");

/// What a worker tells about itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct WorkerInfo {
    /// When it started, in unix milliseconds.
    pub started_at: u64,
    /// How many jobs it runs at once.
    pub concurrency: u64,
    /// For how long it locks jobs, in milliseconds.
    pub lock_ms: u64,
    /// Whether it listens on its channel as long as it lives.
    pub listens: bool,
    /// Whether it runs a job alone, and notes that, before the job would fail for the workers it has lost.
    #[serde(default)]
    pub isolates: bool,
    /// How long it may take to stop a canceled job, in milliseconds; as long as it locks jobs unless it says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop_ms: Option<u64>,
    /// The version of the program that it runs, if it says so: groups of failures tell in which they were seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
}

impl Hive {
    /// An id for a new worker of the queue.
    ///
    /// # Errors
    /// When none can be made from this hive's id.
    pub fn new_worker(&self, queue: &QueueName) -> Result<WorkerId, Error> {
        Ok(ids::worker_id(self.id(), queue)?)
    }

    /// Says that a worker is alive and renews its locks. Returns the jobs that it still has.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn heartbeat(
        &self,
        queue: &QueueName,
        worker: &WorkerId,
        lock: Duration,
        info: Option<&WorkerInfo>,
    ) -> Result<HashSet<String>, Error> {
        self.send_heartbeat(queue, worker, lock, info, None).await
    }

    /// The same for a worker that says which jobs it knows that it has: only their locks are renewed.
    ///
    /// The answer to a claim may have been lost, so jobs that the worker does not know of are given back, but not before
    /// the answer has had some seconds to arrive: 5, or half of `lock` if that is less.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn heartbeat_holding(
        &self,
        queue: &QueueName,
        worker: &WorkerId,
        lock: Duration,
        holding: &[String],
    ) -> Result<HashSet<String>, Error> {
        self.send_heartbeat(queue, worker, lock, None, Some(holding)).await
    }

    async fn send_heartbeat(
        &self,
        queue: &QueueName,
        worker: &WorkerId,
        lock: Duration,
        info: Option<&WorkerInfo>,
        holding: Option<&[String]>,
    ) -> Result<HashSet<String>, Error> {
        self.list_queue(queue).await?;
        let info = info.map(|info| serde_json::to_string(info).expect("plain data is JSON"));
        let call = self
            .call_on_queue(&HEARTBEAT, queue)
            .arg("worker", worker.as_str())
            .arg("lock_ms", lock.as_millis() as u64)
            .arg("info", info.unwrap_or_default())
            .arg("lists", u8::from(holding.is_some()))
            .args("holding", holding.unwrap_or_default());
        Ok(call.run().await?)
    }

    /// Gives back what a worker has and takes it off the list of workers. Returns the jobs given back.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn leave(&self, queue: &QueueName, worker: &WorkerId) -> Result<Vec<String>, Error> {
        Ok(self.call_on_queue(&LEAVE, queue).arg("worker", worker.as_str()).run().await?)
    }

    /// Whether anybody listens on a worker's channel, which a keyrack worker does as long as it is connected.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn is_listening(&self, queue: &QueueName, worker: &WorkerId) -> Result<bool, Error> {
        Ok(self.store().publish(&keys::worker_events(worker, &queue.group()), "").await? > 0)
    }
}
