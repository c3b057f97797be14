//! Watching a trace: one broadcast for each watched trace, whatever the number of watchers.
//!
//! A broadcast subscribes to its trace, reads it once for every change, and gives what it read to all watchers. It opens with the
//! first watcher and closes with the last. In reading order: `broadcast` is that; `snapshot` is what watchers see; [`Watcher`] is
//! one of them, to whom `socket` sends over a WebSocket and `events` as server-sent events.

mod broadcast;
mod events;
mod snapshot;
mod socket;

use std::{pin::Pin, sync::Arc, time::Duration};

use axum::{extract::ws::Utf8Bytes, http::HeaderMap};
use keyrack_keys::{PartError, UserSub};
use keyrack_progress::{
    Outcome,
    keys::{BarName, TraceUid},
};
use keyrack_web::{App, Problem, access};
use serde::Deserialize;
use tokio::{
    sync::watch,
    time::{Instant, Sleep, sleep_until, timeout},
};
use utoipa::IntoParams;

use self::{
    broadcast::{Target, TraceBroadcast},
    snapshot::TraceSnapshot,
};

// The described route's hidden companions have to be found beside it.
pub(crate) use self::broadcast::TraceBroadcasts;
pub(super) use self::events::*;
pub(super) use self::socket::socket;

/// A trace has to begin within this time of the watch.
const BEGINS_WITHIN: Duration = Duration::from_secs(30);
/// How long a trace may go without any change.
const IDLE_MAX: Duration = Duration::from_secs(15 * 60);
/// How long the first look at a trace may take; the store answers within milliseconds or not at all.
const FIRST_LOOK_MAX: Duration = Duration::from_secs(10);

/// Which trace to watch. Knowing these three is all it takes where traces are public; elsewhere it takes a token too.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct WatchQuery {
    /// Whose trace it is.
    sub: String,
    /// The bar; `pbar_name` is taken too.
    #[serde(alias = "pbar_name")]
    progress_bar_name: String,
    /// The trace, which need not have begun; `uid` is taken too.
    #[serde(alias = "uid")]
    progress_bar_trace_uid: String,
}

/// Why somebody cannot watch.
enum Refusal {
    /// That can be no trace.
    Invalid(PartError),
    /// The caller may not.
    Denied(Problem),
    /// The bar has no steps, so that nothing can be said about a trace.
    NoSteps,
    /// It cannot be found out now.
    Unavailable(Problem),
}

impl From<PartError> for Refusal {
    fn from(error: PartError) -> Refusal {
        Refusal::Invalid(error)
    }
}

/// What a client has shown to say who it is.
struct Credentials<'a> {
    headers: &'a HeaderMap,
    /// A token, where no header can be sent: browsers cannot with a WebSocket.
    token: Option<&'a str>,
}

/// One watcher of a broadcast.
struct Watcher {
    broadcast: Arc<TraceBroadcast>,
    latest: watch::Receiver<Option<Arc<TraceSnapshot>>>,
    stopping: watch::Receiver<bool>,
    ready_at: Instant,
    /// When to give up, unless something happens.
    deadline: Instant,
    /// Rings at the deadline or before. It is set anew when it rings and not at every change, when thousands would do so at once.
    alarm: Pin<Box<Sleep>>,
    is_first: bool,
    /// How the trace ended that was told last, if it was not completed.
    failed: Option<Outcome>,
}

/// What a watcher is to be told.
enum Next {
    /// How the trace stands.
    Update { text: Utf8Bytes, done: bool },
    /// Nothing more will come.
    End(Ending),
}

/// Why nothing more comes from a trace that is not done.
#[derive(Debug, Clone, Copy)]
enum Ending {
    NeverBegan,
    Idle,
    /// The run has failed, or is lost.
    Failed(Outcome),
    Stopping,
}

impl Ending {
    fn reason(self) -> String {
        match self {
            Ending::NeverBegan => "the trace did not begin within 30 seconds".to_owned(),
            Ending::Idle => "nothing happened to the trace for 15 minutes".to_owned(),
            Ending::Failed(outcome) => format!("the run {outcome}"),
            Ending::Stopping => "the server stops".to_owned(),
        }
    }
}

impl Watcher {
    /// Joins the broadcast of a trace, and reads its first snapshot.
    async fn enter(
        app: &App,
        broadcasts: &TraceBroadcasts,
        wanted: WatchQuery,
        credentials: Credentials<'_>,
    ) -> Result<Watcher, Refusal> {
        let target = Target {
            sub: UserSub::new(wanted.sub)?,
            bar: BarName::new(wanted.progress_bar_name)?,
            trace: TraceUid::new(wanted.progress_bar_trace_uid)?,
        };
        access::check_watcher(app, credentials.headers, credentials.token, &target.sub)
            .await
            .map_err(Refusal::Denied)?;
        let broadcast = broadcasts.join(target);
        let mut latest = broadcast.latest();
        let snapshot = match timeout(FIRST_LOOK_MAX, latest.wait_for(Option::is_some)).await {
            Ok(Ok(snapshot)) => snapshot.clone(),
            Ok(Err(_)) | Err(_) => None,
        };
        let Some(snapshot) = snapshot else {
            let problem =
                Problem::new(axum::http::StatusCode::SERVICE_UNAVAILABLE, "store_unavailable")
                    .title("the store does not answer")
                    .retry_after(1);
            return Err(Refusal::Unavailable(problem));
        };
        if snapshot.bar_has_no_steps() {
            return Err(Refusal::NoSteps);
        }
        let now = Instant::now();
        Ok(Watcher {
            stopping: app.stopping(),
            broadcast,
            latest,
            ready_at: now,
            deadline: now,
            // No deadline is earlier.
            alarm: Box::pin(sleep_until(now + BEGINS_WITHIN)),
            is_first: true,
            failed: None,
        })
    }

    /// What comes next. The first is how things stand now.
    async fn next(&mut self) -> Next {
        if self.is_first {
            self.is_first = false;
            return self.look(true);
        }
        if let Some(outcome) = self.failed {
            return Next::End(Ending::Failed(outcome));
        }
        loop {
            tokio::select! {
                // A broadcast closes after the last snapshot of a trace, which every watcher that is still here has seen.
                changed = self.latest.changed() => return match changed {
                    Ok(()) => self.look(false),
                    Err(_) => Next::End(Ending::Stopping),
                },
                () = &mut self.alarm => {}
                () = told(&mut self.stopping) => return Next::End(Ending::Stopping),
            }
            if Instant::now() >= self.deadline {
                let ending = if self.has_begun() { Ending::Idle } else { Ending::NeverBegan };
                return Next::End(ending);
            }
            self.alarm.as_mut().reset(self.deadline);
        }
    }

    fn has_begun(&self) -> bool {
        self.latest.borrow().as_ref().is_some_and(|snapshot| snapshot.has_begun())
    }

    /// Tells the latest snapshot, and how long to wait for the next. Who comes later sees the time that has passed.
    fn look(&mut self, is_first: bool) -> Next {
        let snapshot = self.latest.borrow_and_update().clone();
        let Some(snapshot) = snapshot else { return Next::End(Ending::Stopping) };
        self.deadline = if snapshot.has_begun() {
            Instant::now() + IDLE_MAX
        } else {
            self.ready_at + BEGINS_WITHIN
        };
        self.failed = snapshot.failed();
        let text = if is_first { snapshot.text_at(self.broadcast.now()) } else { snapshot.text() };
        Next::Update { text, done: snapshot.is_done() }
    }
}

/// Resolves when the server is about to stop.
async fn told(stopping: &mut watch::Receiver<bool>) {
    // The server holds the other end, and is told before it ends.
    let _ = stopping.wait_for(|stopping| *stopping).await;
}
