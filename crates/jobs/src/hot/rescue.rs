//! Putting back what lost workers had taken.

use keyrack_store::{Error, Script, Store};

use super::{
    error,
    keys::{self, WorkerId},
    push::Producer,
    worker::ALIVE_MS,
};

static RESCUE: Script = keyrack_store::script!("rescue.lua");

/// How long a lost worker stays listed: it may only have slept and take one more job before its next heartbeat.
const FORGET_AFTER_S: f64 = 3600.0;

impl Producer {
    /// Puts the jobs that lost workers had taken back at the head of the queue; returns how many.
    ///
    /// Workers in reliable mode do this by themselves. It is for when none of them is left.
    ///
    /// # Errors
    /// When the store cannot be reached.
    pub async fn rescue(&self) -> Result<u64, error::Error> {
        Ok(rescue_others(&self.store, None).await?)
    }
}

/// Looks after all workers that have been silent for a while.
pub(super) async fn rescue_others(store: &Store, but: Option<&WorkerId>) -> Result<u64, Error> {
    let now = store.now_ms() as f64 / 1000.0;
    let mut cmd = redis::cmd("ZRANGEBYSCORE");
    cmd.arg(&*store.place(&keys::workers())).arg("-inf").arg(now - ALIVE_MS as f64 / 1000.0);
    let silent: Vec<String> = cmd.query_async(&mut store.connection()).await?;
    let mut rescued = 0;
    for worker in silent.iter().filter_map(|worker| WorkerId::new(worker.as_str()).ok()) {
        if Some(&worker) != but {
            rescued += rescue_worker(store, &worker, now - FORGET_AFTER_S).await?;
        }
    }
    Ok(rescued)
}

/// Puts back what a worker had taken, unless it lives.
pub(super) async fn rescue_worker(
    store: &Store,
    worker: &WorkerId,
    forget_before: f64,
) -> Result<u64, Error> {
    RESCUE
        .call(store)
        .key("alive", &keys::alive(worker))
        .key("taken", &keys::taken(worker))
        .key("hot", &keys::hot())
        .key("workers", &keys::workers())
        .arg("worker", worker.as_str())
        .arg("forget_before", forget_before)
        .run()
        .await
}
