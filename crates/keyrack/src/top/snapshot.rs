//! Everything that is drawn, read from the store.

use std::time::Duration;

use keyrack_jobs::hot::Producer;
use keyrack_services::{Options, Services, alerts::AlertFacts};
use keyrack_store::{Info, Store};
use tokio::time::Instant;

use super::runs::{self, TraceRow};

/// Everything that is drawn.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Snapshot {
    /// Which store it is.
    pub(super) store: String,
    pub(super) info: Info,
    /// Commands in a second since the last snapshot.
    pub(super) commands_per_s: Option<u64>,
    /// How long the store takes to answer.
    pub(super) ping: Duration,
    /// The queues, and everything that alerts are about.
    pub(super) facts: AlertFacts,
    pub(super) runs: Vec<TraceRow>,
    pub(super) hot: Hot,
}

/// The hot queue.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Hot {
    pub(super) waiting: u64,
    pub(super) oldest: Option<Duration>,
}

/// Reads snapshots.
#[derive(Debug)]
pub(super) struct SnapshotReader {
    services: Services,
    producer: Producer,
    last: Option<(Instant, u64)>,
}

impl SnapshotReader {
    pub(super) fn new(store: Store) -> SnapshotReader {
        let producer = Producer::new(store.clone());
        SnapshotReader { services: Services::new(store, Options::default()), producer, last: None }
    }

    /// Reads a snapshot.
    pub(super) async fn read(&mut self) -> anyhow::Result<Snapshot> {
        let asked = Instant::now();
        self.services.store.ping().await?;
        let ping = asked.elapsed();
        let info = self.services.store.info().await?;
        let hot = Hot {
            waiting: self.producer.depth().await?,
            oldest: self.producer.oldest_age().await?,
        };
        Ok(Snapshot {
            store: self.services.store.to_string(),
            commands_per_s: self.pace(info.commands),
            info,
            ping,
            facts: AlertFacts::read(&self.services).await,
            runs: runs::read(&self.services.progress).await?,
            hot,
        })
    }

    fn pace(&mut self, commands: u64) -> Option<u64> {
        let now = Instant::now();
        let (then, before) = self.last.replace((now, commands))?;
        let seconds = now.duration_since(then).as_secs_f64();
        // A server that was started again counts from the beginning.
        let done = commands.checked_sub(before)?;
        (seconds > 0.0).then(|| (done as f64 / seconds).round() as u64)
    }
}
