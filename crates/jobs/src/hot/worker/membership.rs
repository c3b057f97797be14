//! Being known to live: what keeps others from taking over this worker's jobs.
//!
//! Only workers in reliable mode have jobs that can be taken over; for others nothing here does anything.

use std::{sync::Arc, time::Duration};

use tokio::{sync::watch, time::Instant};

use super::{Settings, outage::Outage};
use crate::hot::{
    keys,
    rescue::{rescue_others, rescue_worker},
};

/// How often a worker sends a heartbeat.
const BEAT_INTERVAL: Duration = Duration::from_secs(5);
/// How long a heartbeat lasts: two may be missed.
pub(in crate::hot) const ALIVE_MS: u64 = 15_000;

#[derive(Debug)]
pub(super) struct Membership {
    settings: Arc<Settings>,
    last_beat: watch::Sender<Option<Instant>>,
}

impl Membership {
    pub(super) fn new(settings: Arc<Settings>) -> Membership {
        Membership { settings, last_beat: watch::Sender::new(None) }
    }

    /// When the last heartbeat was given.
    pub(super) fn last_beat(&self) -> watch::Receiver<Option<Instant>> {
        self.last_beat.subscribe()
    }

    /// Gives signs of life and takes over from workers that do not. Never ends.
    pub(super) async fn keep_up(&self) {
        if !self.settings.reliable {
            return std::future::pending().await;
        }
        let worker = self.settings.id.as_str();
        let mut outage = Outage::new("sending a heartbeat");
        loop {
            let before = Instant::now();
            let beat = self.beat().await;
            // Before the worker takes anything new: what others left is older.
            let rescued = match &beat {
                Ok(()) => rescue_others(&self.settings.store, Some(&self.settings.id)).await,
                Err(_) => Ok(0),
            };
            if beat.is_ok() {
                self.last_beat.send_replace(Some(before));
            }
            match beat.and(rescued) {
                Ok(rescued) => {
                    outage.over(worker);
                    if rescued > 0 {
                        tracing::warn!(worker, rescued, "put jobs of lost workers back");
                    }
                }
                Err(error) => {
                    outage.wait(worker, &error).await;
                    continue;
                }
            }
            tokio::time::sleep_until(before + BEAT_INTERVAL).await;
        }
    }

    async fn beat(&self) -> Result<(), keyrack_store::Error> {
        let Settings { store, id, .. } = &*self.settings;
        let now = store.now_ms() as f64 / 1000.0;
        let mut pipeline = redis::pipe();
        pipeline.atomic();
        let alive = keys::alive(id);
        pipeline.cmd("SET").arg(&*store.place(&alive)).arg(now).arg("PX").arg(ALIVE_MS).ignore();
        let workers = keys::workers();
        pipeline.cmd("ZADD").arg(&*store.place(&workers)).arg(now).arg(id.as_str()).ignore();
        Ok(pipeline.exec_async(&mut store.connection()).await?)
    }

    /// Leaves in order: nobody has to wait until this worker counts as dead.
    pub(super) async fn leave(&self) {
        if !self.settings.reliable {
            return;
        }
        let Settings { store, id, .. } = &*self.settings;
        let mut cmd = redis::cmd("DEL");
        cmd.arg(&*store.place(&keys::alive(id)));
        let leaving = async {
            cmd.exec_async(&mut store.connection()).await.map_err(keyrack_store::Error::from)?;
            rescue_worker(store, id, f64::INFINITY).await
        };
        if let Err(error) = leaving.await {
            tracing::warn!(worker = id.as_str(), %error, "could not sign off; others will notice");
        }
    }
}
