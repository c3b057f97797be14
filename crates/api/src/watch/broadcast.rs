//! Broadcasts: one for each watched trace.

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

use super::snapshot::{BarHistory, TraceSnapshot};

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

/// All open broadcasts.
#[derive(Debug)]
pub(crate) struct TraceBroadcasts {
    progress: Progress,
    open: Arc<Mutex<HashMap<Target, Weak<TraceBroadcast>>>>,
}

/// What is seen of a trace, for all who watch it. Closes when nobody does any more.
#[derive(Debug)]
pub(super) struct TraceBroadcast {
    target: Target,
    progress: Progress,
    latest: watch::Receiver<Option<Arc<TraceSnapshot>>>,
    listening: AbortHandle,
    broadcasts: Arc<Mutex<HashMap<Target, Weak<TraceBroadcast>>>>,
}

impl TraceBroadcasts {
    pub(crate) fn new(progress: Progress) -> TraceBroadcasts {
        TraceBroadcasts { progress, open: Arc::default() }
    }

    /// The broadcast of a trace, opened if need be.
    pub(super) fn join(&self, target: Target) -> Arc<TraceBroadcast> {
        let mut open = self.open.lock();
        let broadcast = open.get(&target).and_then(Weak::upgrade);
        match broadcast {
            // The trace may have been created anew since it ended.
            Some(broadcast) if !broadcast.is_over() => broadcast,
            ended => {
                let broadcast = Arc::new(self.open_broadcast(target.clone()));
                open.insert(target, Arc::downgrade(&broadcast));
                drop(open);
                // Not while the broadcasts are locked: the end of one locks them too.
                drop(ended);
                broadcast
            }
        }
    }

    fn open_broadcast(&self, target: Target) -> TraceBroadcast {
        let (sender, latest) = watch::channel(None);
        let progress = self.progress.clone();
        let listener =
            Listener { progress, target: target.clone(), sender, known: None, seen: None };
        let listening = tokio::spawn(listener.run()).abort_handle();
        TraceBroadcast {
            target,
            progress: self.progress.clone(),
            latest,
            listening,
            broadcasts: self.open.clone(),
        }
    }
}

impl TraceBroadcast {
    pub(super) fn latest(&self) -> watch::Receiver<Option<Arc<TraceSnapshot>>> {
        self.latest.clone()
    }

    /// The time in unix seconds.
    pub(super) fn now(&self) -> f64 {
        self.progress.now()
    }

    fn is_over(&self) -> bool {
        self.latest.borrow().as_ref().is_some_and(|snapshot| snapshot.is_over())
    }
}

impl Drop for TraceBroadcast {
    fn drop(&mut self) {
        self.listening.abort();
        let mut open = self.broadcasts.lock();
        // Another broadcast of the same trace may be open by now.
        if open.get(&self.target).is_some_and(|broadcast| broadcast.strong_count() == 0) {
            open.remove(&self.target);
        }
    }
}

/// The task that listens to a trace.
struct Listener {
    progress: Progress,
    target: Target,
    sender: watch::Sender<Option<Arc<TraceSnapshot>>>,
    /// What is known of past traces, and since when.
    known: Option<(Instant, Arc<BarHistory>)>,
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
        let lost_at = self.sender.borrow().as_ref().and_then(|snapshot| snapshot.lost_at());
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
        let snapshot = loop {
            match self.look().await {
                Ok(snapshot) => break snapshot,
                Err(error) => {
                    tracing::warn!(%error, "could not read a trace that is watched");
                    sleep(RETRY_PAUSE).await;
                }
            }
        };
        let is_over = snapshot.is_over();
        self.sender.send_replace(Some(Arc::new(snapshot)));
        is_over
    }

    async fn look(&mut self) -> Result<TraceSnapshot, Error> {
        let Target { sub, bar, trace } = &self.target;
        let trace = self.progress.trace(sub, bar.as_str(), trace.as_str()).await?;
        let known = match &self.known {
            Some((since, known)) if since.elapsed() < KNOWN_MAX => known.clone(),
            _ => {
                let known = Arc::new(BarHistory::read(&self.progress, sub, bar).await?);
                self.known = Some((Instant::now(), known.clone()));
                known
            }
        };
        // A trace that was there and is no more has been completed, counted and forgotten.
        let is_gone = trace.is_none() && self.seen.is_some();
        if trace.is_some() {
            self.seen = trace;
        }
        Ok(TraceSnapshot::new(self.progress.now(), known, self.seen.clone(), is_gone))
    }
}
