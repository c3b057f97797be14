//! A look at everything that is drawn.

use std::{sync::Arc, time::Duration};

use keyrack_entitlements::{Entitlements, NoSource, Settings, State};
use keyrack_files::Files;
use keyrack_jobs::{
    bee::{Hive, Stats},
    hot::{self, Producer},
};
use keyrack_progress::Progress;
use keyrack_store::{Info, Store};
use tokio::time::Instant;

use super::runs::{self, Run};

/// The most queues that are looked at: each is one script.
const QUEUES_MAX: usize = 200;

/// What was seen.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Picture {
    /// Which store it is.
    pub(super) store: String,
    pub(super) info: Info,
    /// Commands in a second since the last look.
    pub(super) commands_per_s: Option<u64>,
    /// How long the store takes to answer.
    pub(super) ping: Duration,
    pub(super) queues: Vec<Stats>,
    pub(super) runs: Vec<Run>,
    pub(super) hot: Hot,
    /// Files that wait to be deleted, and how many of them are due.
    pub(super) files: (u64, u64),
    /// Whether the billing provider is asked.
    pub(super) breaker: Breaker,
    /// Why there is no newer picture.
    pub(super) trouble: Option<String>,
    pub(super) now_ms: u64,
}

/// The hot queue.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Hot {
    pub(super) waiting: u64,
    pub(super) oldest: Option<Duration>,
    /// Jobs that no worker knew.
    pub(super) unknown: u64,
}

/// Whether the billing provider is asked.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Breaker {
    #[default]
    Closed,
    HalfOpen,
    Open,
}

/// Whoever looks.
#[derive(Debug)]
pub(super) struct Looker {
    store: Store,
    hive: Hive,
    progress: Progress,
    producer: Producer,
    files: Files,
    entitlements: Entitlements,
    last: Option<(Instant, u64)>,
}

impl Looker {
    pub(super) async fn open(store: Store) -> anyhow::Result<Looker> {
        let progress = Progress::open(store.clone(), hot::keys::hot());
        Ok(Looker {
            hive: Hive::open(store.clone()).await?,
            progress,
            producer: Producer::new(store.clone()),
            files: Files::new(store.clone()),
            entitlements: Entitlements::open(
                store.clone(),
                Arc::new(NoSource),
                Settings::default(),
            )?,
            last: None,
            store,
        })
    }

    /// Looks at everything.
    pub(super) async fn look(&mut self) -> anyhow::Result<Picture> {
        let asked = Instant::now();
        self.store.ping().await?;
        let ping = asked.elapsed();
        let info = self.store.info().await?;
        let mut queues = Vec::new();
        for queue in self.hive.queues().await?.iter().take(QUEUES_MAX) {
            queues.push(self.hive.stats(queue).await?);
        }
        let hot = Hot {
            waiting: self.producer.depth().await?,
            oldest: self.producer.oldest_age().await?,
            unknown: self.producer.unknown_depth().await?,
        };
        let breaker = match self.entitlements.breaker().await? {
            State::Closed => Breaker::Closed,
            State::HalfOpen => Breaker::HalfOpen,
            State::Open => Breaker::Open,
        };
        Ok(Picture {
            store: self.store.to_string(),
            commands_per_s: self.pace(info.commands),
            info,
            ping,
            queues,
            runs: runs::look(&self.progress).await?,
            hot,
            files: self.files.count().await?,
            breaker,
            trouble: None,
            now_ms: self.hive.now_ms(),
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
