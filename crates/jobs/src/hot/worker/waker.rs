//! Ending a wait for jobs early, because the worker is told to stop.

use std::sync::Arc;

use super::Settings;
use crate::hot::keys;

/// Ends a pop that waits for jobs.
///
/// Dropping the call instead could lose a job that is already on its way.
#[derive(Debug)]
pub(super) struct Waker {
    settings: Arc<Settings>,
}

/// Long enough for a pop that begins just now to find it.
const WAKE_MS: u64 = 60_000;

impl Waker {
    pub(super) fn new(settings: Arc<Settings>) -> Waker {
        Waker { settings }
    }

    /// Wakes the worker. If that fails, the pop ends by itself a little later.
    pub(super) async fn wake(&self) {
        if self.settings.reliable {
            return;
        }
        let store = &self.settings.store;
        let key = keys::wake(&self.settings.id);
        let key = store.place(&key);
        let mut pipeline = redis::pipe();
        pipeline.atomic();
        pipeline.cmd("RPUSH").arg(&*key).arg("stop").ignore();
        pipeline.cmd("PEXPIRE").arg(&*key).arg(WAKE_MS).ignore();
        if let Err(error) = pipeline.exec_async(&mut store.connection()).await {
            tracing::debug!(worker = self.settings.id.as_str(), %error, "could not wake the worker");
        }
    }

    /// Takes the signal away that nobody waited for.
    pub(super) async fn clear(&self) {
        if self.settings.reliable {
            return;
        }
        let store = &self.settings.store;
        let key = keys::wake(&self.settings.id);
        let mut cmd = redis::cmd("DEL");
        cmd.arg(&*store.place(&key));
        // It expires soon anyway.
        let _ = cmd.exec_async(&mut store.connection()).await;
    }
}
