//! Taking entries from the queue.

use std::{sync::Arc, time::Duration};

use keyrack_store::{BlockingConnection, Error};
use tokio::{
    sync::watch,
    time::{Instant, timeout},
};

use super::{Settings, outage::Outage};
use crate::hot::keys;

/// How long one pop waits for a job, as documented.
const POP_WAIT: Duration = Duration::from_secs(5);
/// How long one move waits. It cannot be woken, so this is also how long a worker may take to notice that it should stop.
const MOVE_WAIT: Duration = Duration::from_secs(1);
/// How much later than asked for an answer may come before the connection counts as dead.
const GRACE: Duration = Duration::from_secs(5);
/// A worker takes nothing when it was last known to live this long ago: others might take it for dead.
const BEAT_AGE_MAX: Duration = Duration::from_secs(10);

/// The worker's own connection to the queue.
#[derive(Debug)]
pub(super) struct Intake {
    settings: Arc<Settings>,
    connection: BlockingConnection,
    last_beat: watch::Receiver<Option<Instant>>,
    stopping: watch::Receiver<bool>,
    outage: Outage,
}

impl Intake {
    pub(super) fn new(
        settings: Arc<Settings>,
        last_beat: watch::Receiver<Option<Instant>>,
        stopping: watch::Receiver<bool>,
    ) -> Intake {
        let connection = settings.store.blocking();
        Intake { settings, connection, last_beat, stopping, outage: Outage::new("taking jobs") }
    }

    /// The next entry. `None` when none came for a while, the worker should stop or the store is out of reach.
    pub(super) async fn take(&mut self) -> Option<Vec<u8>> {
        if self.settings.reliable && !self.known_to_live().await {
            return None;
        }
        let wait = if self.settings.reliable { MOVE_WAIT } else { POP_WAIT };
        let taking = async {
            if self.settings.reliable { self.move_aside(wait).await } else { self.pop(wait).await }
        };
        let taken = match timeout(wait + GRACE, taking).await {
            Ok(taken) => taken,
            Err(_) => Err(Error::Lost(std::io::Error::from(std::io::ErrorKind::TimedOut).into())),
        };
        match taken {
            Ok(taken) => {
                self.outage.over(self.settings.id.as_str());
                taken
            }
            Err(error) => {
                // A connection that gave no answer gives none to the next command either.
                self.connection = self.settings.store.blocking();
                self.outage.wait(self.settings.id.as_str(), &error).await;
                None
            }
        }
    }

    /// At most once: whoever pops an entry has the only copy.
    async fn pop(&mut self, wait: Duration) -> Result<Option<Vec<u8>>, Error> {
        let store = &self.settings.store;
        let (hot, wake) = (keys::hot(), keys::wake(&self.settings.id));
        let mut cmd = redis::cmd("BLPOP");
        cmd.arg(&*store.place(&hot)).arg(&*store.place(&wake)).arg(wait.as_secs());
        let popped: Option<(String, Vec<u8>)> = cmd.query_async(&mut self.connection).await?;
        Ok(popped.and_then(|(key, entry)| (key == store.place(&hot)).then_some(entry)))
    }

    /// At least once: the entry stands in the worker's own list until it has ended.
    async fn move_aside(&mut self, wait: Duration) -> Result<Option<Vec<u8>>, Error> {
        let store = &self.settings.store;
        let mut cmd = redis::cmd("BLMOVE");
        cmd.arg(&*store.place(&keys::hot())).arg(&*store.place(&keys::taken(&self.settings.id)));
        cmd.arg("LEFT").arg("RIGHT").arg(wait.as_secs());
        Ok(cmd.query_async(&mut self.connection).await?)
    }

    /// Waits until the worker's sign of life is fresh; false when it should stop instead.
    async fn known_to_live(&mut self) -> bool {
        let fresh = |beat: &Option<Instant>| beat.is_some_and(|at| at.elapsed() < BEAT_AGE_MAX);
        tokio::select! {
            beat = self.last_beat.wait_for(fresh) => beat.is_ok(),
            _ = self.stopping.wait_for(|stop| *stop) => false,
        }
    }

    /// What ends a wait for jobs early.
    pub(super) fn waker(&self) -> Waker {
        Waker { settings: self.settings.clone() }
    }
}

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
        let store = &self.settings.store;
        let key = keys::wake(&self.settings.id);
        let mut cmd = redis::cmd("DEL");
        cmd.arg(&*store.place(&key));
        // It expires soon anyway.
        let _ = cmd.exec_async(&mut store.connection()).await;
    }
}
