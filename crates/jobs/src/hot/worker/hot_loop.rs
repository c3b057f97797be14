//! The worker's loop: a free place, an entry, its handler, and again.

use std::{sync::Arc, time::Duration};

use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore, watch},
    task::JoinSet,
};

use super::{Settings, Unknown, counters::count, finish_entry::shown, intake::Intake};
use crate::hot::entry::Entry;

/// How long a worker pauses at most when it finds nothing but jobs for others.
const PAUSE_MAX: Duration = Duration::from_secs(5);
const PAUSE_MIN: Duration = Duration::from_millis(50);

/// Entries that are taken at once: enough to make the way to the server cheap, few enough to leave some to other workers.
const ENTRIES_MAX: usize = 16;

pub(super) struct HotLoop {
    settings: Arc<Settings>,
    intake: Intake,
    concurrency: u32,
    places: Arc<Semaphore>,
    running: JoinSet<()>,
    stopping: watch::Receiver<bool>,
    /// How long to pause when the next entry is for others, too.
    pause: Duration,
}

impl HotLoop {
    pub(super) fn new(
        settings: Arc<Settings>,
        intake: Intake,
        concurrency: u32,
        stopping: watch::Receiver<bool>,
    ) -> HotLoop {
        let places = Arc::new(Semaphore::new(concurrency as usize));
        let running = JoinSet::new();
        HotLoop { settings, intake, concurrency, places, running, stopping, pause: PAUSE_MIN }
    }

    /// Works until told to stop and everything that runs has ended.
    pub(super) async fn run(mut self) {
        // Places first: an entry is never taken to wait in this process.
        while let Some(mut places) = self.places(1).await {
            while self.running.try_join_next().is_some() {}
            if let Some(more) = self.more_places() {
                places.merge(more);
            }
            let entries = self.intake.take(places.num_permits()).await;
            if *self.stopping.borrow() {
                for entry in entries.iter().rev() {
                    self.settings.put_back(entry).await;
                }
                break;
            }
            for entry in entries {
                let place =
                    places.split(1).expect("no more entries are taken than there are places");
                self.begin(entry, place).await;
            }
        }
        while self.running.join_next().await.is_some() {}
    }

    /// Places for several entries at once, where each of them begins at once: none waits until another has ended.
    fn more_places(&self) -> Option<OwnedSemaphorePermit> {
        let waits = self.settings.unknown == Unknown::Leave
            || self.settings.handlers.values().any(|handler| handler.exclusive);
        if waits {
            return None;
        }
        let free = self.places.available_permits().min(ENTRIES_MAX - 1);
        self.places.clone().try_acquire_many_owned(u32::try_from(free).ok()?).ok()
    }

    /// Waits for free places; `None` when told to stop.
    async fn places(&mut self, n: u32) -> Option<OwnedSemaphorePermit> {
        tokio::select! {
            biased;
            _ = self.stopping.wait_for(|stop| *stop) => None,
            places = self.places.clone().acquire_many_owned(n) => places.ok(),
        }
    }

    async fn begin(&mut self, text: Vec<u8>, place: OwnedSemaphorePermit) {
        let entry = match Entry::decode(&text) {
            Ok(entry) => entry,
            Err(reason) => return self.refuse_malformed(&text, &reason).await,
        };
        let Some(handler) = self.settings.handlers.get(&entry.name) else {
            return self.refuse_unknown(&text, &entry.name).await;
        };
        self.pause = PAUSE_MIN;
        let others = if handler.exclusive { self.concurrency - 1 } else { 0 };
        let Some(other_places) = self.places(others).await else {
            return self.settings.put_back(&text).await;
        };
        let (settings, stopping) = (self.settings.clone(), self.stopping.clone());
        self.running.spawn(async move {
            let _places = (place, other_places);
            if let Some(handler) = settings.handlers.get(&entry.name) {
                settings.perform(handler, entry, &text, stopping).await;
            }
        });
    }

    async fn refuse_malformed(&self, text: &[u8], reason: &serde_json::Error) {
        count(&self.settings.counters.malformed);
        let worker = self.settings.id.as_str();
        tracing::error!(worker, %reason, entry = shown(text), "an entry is no job; moved to jobs:hot:unknown");
        self.settings.set_aside(text).await;
    }

    async fn refuse_unknown(&mut self, text: &[u8], name: &str) {
        count(&self.settings.counters.unknown);
        let worker = self.settings.id.as_str();
        match self.settings.unknown {
            Unknown::SetAside => {
                tracing::error!(
                    worker,
                    job = name,
                    "nobody taught this worker the job; moved to jobs:hot:unknown"
                );
                self.settings.set_aside(text).await;
            }
            Unknown::Leave => {
                tracing::debug!(worker, job = name, "left a job to others");
                self.settings.leave_to_others(text).await;
                tokio::select! {
                    () = tokio::time::sleep(self.pause) => {}
                    _ = self.stopping.wait_for(|stop| *stop) => {}
                }
                self.pause = (self.pause * 2).min(PAUSE_MAX);
            }
        }
    }
}
