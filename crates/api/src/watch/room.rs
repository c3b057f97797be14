//! Rooms: one for each trace that is watched.

use std::{
    collections::HashMap,
    sync::{Arc, Weak},
    time::Duration,
};

use futures_util::FutureExt as _;
use keyrack_keys::UserSub;
use keyrack_progress::{
    Error, Progress, Trace,
    keys::{self, BarName, TraceUid},
};
use parking_lot::Mutex;
use tokio::{
    sync::watch,
    task::AbortHandle,
    time::{Instant, sleep},
};

use super::scene::{Known, Scene};

/// How soon a store that did not answer is asked again.
const RETRY_PAUSE: Duration = Duration::from_secs(1);

/// A trace that should have been heard of is looked at this much later.
const SILENCE_SLACK_S: f64 = 0.1;

/// The longest wait for a report, so that no number from the store is too large for a timer.
const SILENCE_MAX_S: f64 = 86_400.0;

/// How long what is known of past traces counts as current.
const KNOWN_MAX: Duration = Duration::from_secs(60);

/// A trace that can be watched.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Target {
    pub(super) sub: UserSub,
    pub(super) bar: BarName,
    pub(super) trace: TraceUid,
}

/// All rooms that are open.
#[derive(Debug)]
pub(crate) struct Rooms {
    progress: Progress,
    open: Arc<Mutex<HashMap<Target, Weak<Room>>>>,
}

/// What is seen of a trace, for all who watch it. Closes when nobody does any more.
#[derive(Debug)]
pub(super) struct Room {
    target: Target,
    progress: Progress,
    latest: watch::Receiver<Option<Arc<Scene>>>,
    listening: AbortHandle,
    rooms: Arc<Mutex<HashMap<Target, Weak<Room>>>>,
}

impl Rooms {
    pub(crate) fn new(progress: Progress) -> Rooms {
        Rooms { progress, open: Arc::default() }
    }

    /// The room of a trace, opened if need be.
    pub(super) fn join(&self, target: Target) -> Arc<Room> {
        let mut open = self.open.lock();
        let room = open.get(&target).and_then(Weak::upgrade);
        match room {
            // The trace may have been created anew since it ended.
            Some(room) if !room.is_over() => room,
            ended => {
                let room = Arc::new(self.open_room(target.clone()));
                open.insert(target, Arc::downgrade(&room));
                drop(open);
                // Not while the rooms are locked: the end of a room locks them too.
                drop(ended);
                room
            }
        }
    }

    fn open_room(&self, target: Target) -> Room {
        let (sender, latest) = watch::channel(None);
        let progress = self.progress.clone();
        let listener =
            Listener { progress, target: target.clone(), sender, known: None, seen: None };
        let listening = tokio::spawn(listener.run()).abort_handle();
        Room {
            target,
            progress: self.progress.clone(),
            latest,
            listening,
            rooms: self.open.clone(),
        }
    }
}

impl Room {
    pub(super) fn latest(&self) -> watch::Receiver<Option<Arc<Scene>>> {
        self.latest.clone()
    }

    /// The time in unix seconds.
    pub(super) fn now(&self) -> f64 {
        self.progress.now()
    }

    fn is_over(&self) -> bool {
        self.latest.borrow().as_ref().is_some_and(|scene| scene.is_over())
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        self.listening.abort();
        let mut open = self.rooms.lock();
        // Another room for the same trace may be open by now.
        if open.get(&self.target).is_some_and(|room| room.strong_count() == 0) {
            open.remove(&self.target);
        }
    }
}

/// The task that listens to a trace.
struct Listener {
    progress: Progress,
    target: Target,
    sender: watch::Sender<Option<Arc<Scene>>>,
    /// What is known of past traces, and since when.
    known: Option<(Instant, Arc<Known>)>,
    /// The trace as it was last.
    seen: Option<Trace>,
}

impl Listener {
    async fn run(mut self) {
        let Target { sub, bar, trace } = &self.target;
        let channel = keys::trace_events(sub, bar, trace);
        loop {
            let subscribed = self.progress.store().subscribe(std::slice::from_ref(&channel)).await;
            let mut events = match subscribed {
                Ok(events) => events,
                Err(error) => {
                    tracing::warn!(%error, "could not listen to a trace");
                    sleep(RETRY_PAUSE).await;
                    continue;
                }
            };
            loop {
                if self.show().await {
                    return;
                }
                // Whatever it says, a message or a gap, the trace is read again; several at once need but one look.
                // A trace whose process dies says nothing, so it is looked at when it should have been heard of.
                tokio::select! {
                    event = events.next() => if event.is_none() {
                        break;
                    },
                    () = self.silence() => {}
                }
                while let Some(Some(_)) = events.next().now_or_never() {}
            }
        }
    }

    /// Ends when the trace is lost unless something was heard of it; never for one that promised no reports.
    async fn silence(&self) {
        let lost_at = self.sender.borrow().as_ref().and_then(|scene| scene.lost_at());
        match lost_at {
            None => std::future::pending().await,
            Some(at) => {
                let left = (at - self.progress.now()).max(0.0) + SILENCE_SLACK_S;
                sleep(Duration::from_secs_f64(left.min(SILENCE_MAX_S))).await;
            }
        }
    }

    /// Reads the trace until that succeeds, and shows it. True if nothing more will come.
    async fn show(&mut self) -> bool {
        let scene = loop {
            match self.look().await {
                Ok(scene) => break scene,
                Err(error) => {
                    tracing::warn!(%error, "could not read a trace that is watched");
                    sleep(RETRY_PAUSE).await;
                }
            }
        };
        let is_over = scene.is_over();
        self.sender.send_replace(Some(Arc::new(scene)));
        is_over
    }

    async fn look(&mut self) -> Result<Scene, Error> {
        let Target { sub, bar, trace } = &self.target;
        let trace = self.progress.trace(sub, bar.as_str(), trace.as_str()).await?;
        let known = match &self.known {
            Some((since, known)) if since.elapsed() < KNOWN_MAX => known.clone(),
            _ => {
                let known = Arc::new(Known::read(&self.progress, sub, bar).await?);
                self.known = Some((Instant::now(), known.clone()));
                known
            }
        };
        // A trace that was there and is no more has been completed, counted and forgotten.
        let is_gone = trace.is_none() && self.seen.is_some();
        if trace.is_some() {
            self.seen = trace;
        }
        Ok(Scene::new(self.progress.now(), known, self.seen.clone(), is_gone))
    }
}
