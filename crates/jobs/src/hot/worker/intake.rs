//! Taking entries from the queue.

use std::{sync::Arc, time::Duration};

use keyrack_store::{BlockingConnection, Error, Script, script};
use tokio::{
    sync::watch,
    time::{Instant, timeout},
};

use super::{Settings, outage::Outage};
use crate::hot::keys;

static TAKE: Script = script!("take.lua");

/// How long one pop waits for a job, as documented.
const POP_WAIT: Duration = Duration::from_secs(5);
/// How long one move waits. It cannot be woken, so this is also how long a worker may take to notice that it should stop.
const MOVE_WAIT: Duration = Duration::from_secs(1);
/// How much later than asked for an answer may come before the connection counts as dead.
const GRACE: Duration = Duration::from_secs(5);
/// A worker takes nothing when it was last known to live this long ago: others might take it for dead.
const BEAT_AGE_MAX: Duration = Duration::from_secs(10);
/// How long after a failure entries may still arrive unheard of: a move that the server still waits with ends sooner.
const DOUBT: Duration = Duration::from_secs(3);

/// The worker's own connection to the queue.
#[derive(Debug)]
pub(super) struct Intake {
    settings: Arc<Settings>,
    connection: BlockingConnection,
    last_beat: watch::Receiver<Option<Instant>>,
    stopping: watch::Receiver<bool>,
    outage: Outage,
    /// Whether the queue had something the last time, so that it may well have more.
    had_some: bool,
    /// Until when there may be entries in the worker's list that it has not heard of.
    doubt_until: Option<Instant>,
}

impl Intake {
    pub(super) fn new(
        settings: Arc<Settings>,
        last_beat: watch::Receiver<Option<Instant>>,
        stopping: watch::Receiver<bool>,
    ) -> Intake {
        let connection = settings.store.blocking();
        let outage = Outage::new("taking jobs");
        let (had_some, doubt_until) = (true, None);
        Intake { settings, connection, last_beat, stopping, outage, had_some, doubt_until }
    }

    /// The next entries, at most `max`. None when none came for a while, the worker should stop or the store is out of reach.
    pub(super) async fn take(&mut self, max: usize) -> Vec<Vec<u8>> {
        if self.settings.reliable && !self.known_to_live().await {
            return Vec::new();
        }
        let wait = if self.settings.reliable { MOVE_WAIT } else { POP_WAIT };
        let taken = match timeout(wait + GRACE, self.try_take(max, wait)).await {
            Ok(taken) => taken,
            Err(_) => Err(Error::Lost(std::io::Error::from(std::io::ErrorKind::TimedOut).into())),
        };
        match taken {
            Ok(entries) => {
                self.outage.over(self.settings.id.as_str());
                self.had_some = !entries.is_empty();
                entries
            }
            Err(error) => {
                // A connection that gave no answer gives none to the next command either.
                self.connection = self.settings.store.blocking();
                self.doubt_until = Some(Instant::now() + DOUBT);
                self.outage.wait(self.settings.id.as_str(), &error).await;
                Vec::new()
            }
        }
    }

    async fn try_take(&mut self, max: usize, wait: Duration) -> Result<Vec<Vec<u8>>, Error> {
        if self.settings.reliable {
            self.clear_doubt().await?;
        }
        let at_once = if self.had_some { self.take_at_once(max).await? } else { Vec::new() };
        let entries = match (at_once.is_empty(), self.settings.reliable) {
            (false, _) => at_once,
            (true, false) => self.pop(wait).await?.into_iter().collect(),
            (true, true) => self.move_aside(wait).await?.into_iter().collect(),
        };
        if self.settings.reliable {
            entries.iter().for_each(|entry| self.settings.held.add(entry));
        }
        Ok(entries)
    }

    /// Takes what is there, without waiting.
    async fn take_at_once(&self, max: usize) -> Result<Vec<Vec<u8>>, Error> {
        let store = &self.settings.store;
        if self.settings.reliable {
            let (hot, taken) = (keys::hot(), keys::taken(&self.settings.id));
            return TAKE
                .call(store)
                .key("hot", &hot)
                .key("taken", &taken)
                .arg("max", max)
                .run()
                .await;
        }
        let mut cmd = redis::cmd("LPOP");
        cmd.arg(&*store.place(&keys::hot())).arg(max);
        let popped: Option<Vec<Vec<u8>>> = cmd.query_async(&mut store.connection()).await?;
        Ok(popped.unwrap_or_default())
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

    /// After a failure, puts entries back that were taken without the worker hearing of it.
    async fn clear_doubt(&mut self) -> Result<(), Error> {
        if let Some(until) = self.doubt_until {
            self.settings.put_strangers_back().await?;
            self.doubt_until = Some(until).filter(|until| Instant::now() < *until);
        }
        Ok(())
    }

    /// Waits until the worker's heartbeat is fresh; false when it should stop instead.
    async fn known_to_live(&mut self) -> bool {
        let fresh = |beat: &Option<Instant>| beat.is_some_and(|at| at.elapsed() < BEAT_AGE_MAX);
        tokio::select! {
            beat = self.last_beat.wait_for(fresh) => beat.is_ok(),
            _ = self.stopping.wait_for(|stop| *stop) => false,
        }
    }
}
