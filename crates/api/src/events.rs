//! What happens to jobs, as a stream of server-sent events.

use std::{collections::HashSet, sync::Arc, time::Duration};

use axum::{extract::State, http::HeaderMap, response::Response};
use keyrack_jobs::bee::{Event, EventKind, EventStream, Hive, StreamItem, keys::QueueName};
use keyrack_web::{
    App, Problem,
    error::{bad_name, invalid},
    extract::Query,
    stream::{Source, StreamEvent, stream_with_gaps},
};
use serde::{Deserialize, Serialize};
use tokio::time::{Instant, sleep_until};
use utoipa::{IntoParams, ToSchema};

use super::view::JobView;

/// How soon a queue that is new is listened to, when all are.
const LOOK_EVERY: Duration = Duration::from_secs(2);
/// The most queues of one stream: each message of each is looked at.
const QUEUES_MAX: usize = 1000;

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct EventsQuery {
    /// A queue; give it several times for more than one. Without any, all queues.
    #[serde(default)]
    queue: Vec<String>,
    /// What kind of events; give it several times for more than one. Without any, all kinds.
    #[serde(default, rename = "type")]
    kind: Vec<EventKind>,
    /// Only events about this job.
    jid: Option<String>,
    /// Whether to send the job with its end; yes unless said otherwise.
    job: Option<bool>,
}

/// What happened to a job. `gap` events are empty: messages may have been missed, so read what you need to know.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct JobEvent {
    #[serde(rename = "type")]
    kind: EventKind,
    /// The queue.
    queue: String,
    /// The job; empty when the event is about the queue.
    jid: String,
    /// The job as it was then, if it has ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    job: Option<JobView>,
    /// What the worker told, if that is what happened.
    #[serde(skip_serializing_if = "Option::is_none")]
    progress: Option<serde_json::Value>,
    /// What it said about that.
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<String>,
}

/// Streams what happens to jobs, as server-sent events.
///
/// Events are not stored. A client that comes back with `Last-Event-ID` gets a `gap` event first, and so does one that
/// could not follow.
#[utoipa::path(get, path = "/jobs/events", tag = "jobs", operation_id = "jobEvents",
    params(EventsQuery, ("Last-Event-ID" = Option<String>, Header, description = "The last event that the client has seen")),
    responses(
        (status = OK, body = JobEvent, content_type = "text/event-stream", description = "The data of each event"),
    ))]
pub(super) async fn events(
    State(app): State<Arc<App>>,
    Query(query): Query<EventsQuery>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let permit = app.permit_to_wait()?;
    let queues = query.queue.iter().map(|name| QueueName::new(name.as_str()));
    let queues: Vec<QueueName> =
        queues.collect::<Result<_, _>>().map_err(|error| bad_name(&error).field("queue"))?;
    let hive = app.services.jobs().await?.hive.clone();
    let follows_all = queues.is_empty();
    let queues = if follows_all { hive.queues().await? } else { queues };
    if queues.len() > QUEUES_MAX {
        let reason = format!("{} of them; name at most {QUEUES_MAX}", queues.len());
        return Err(invalid("queue", reason));
    }
    let listener = Listener {
        events: hive.events(&queues).await?,
        known: queues.into_iter().collect(),
        follows_all,
        look_at: Instant::now() + LOOK_EVERY,
        hive,
        query,
    };
    Ok(stream_with_gaps(app, permit, &headers, listener))
}

/// What one client hears.
struct Listener {
    hive: Hive,
    events: EventStream,
    known: HashSet<QueueName>,
    /// Whether queues that are new are to be followed too.
    follows_all: bool,
    look_at: Instant,
    query: EventsQuery,
}

impl Source for Listener {
    async fn next(&mut self) -> Option<StreamEvent> {
        loop {
            let heard = tokio::select! {
                heard = self.events.next() => heard?,
                () = sleep_until(self.look_at), if self.follows_all => {
                    if self.join_new_queues().await {
                        // Its first events came before.
                        return Some(StreamEvent::Gap);
                    }
                    continue;
                }
            };
            match heard {
                StreamItem::Gap => return Some(StreamEvent::Gap),
                StreamItem::Event(event) if self.is_wanted(&event) => {
                    return Some(self.event(*event));
                }
                StreamItem::Event(_) => {}
            }
        }
    }
}

impl Listener {
    fn is_wanted(&self, event: &Event) -> bool {
        let kinds = &self.query.kind;
        (kinds.is_empty() || kinds.contains(&event.kind))
            && self.query.jid.as_ref().is_none_or(|jid| *jid == event.jid)
    }

    /// Listens to queues that have come into being. True if there are any.
    async fn join_new_queues(&mut self) -> bool {
        self.look_at = Instant::now() + LOOK_EVERY;
        let Ok(mut queues) = self.hive.queues().await else { return false };
        queues.retain(|queue| !self.known.contains(queue));
        queues.truncate(QUEUES_MAX.saturating_sub(self.known.len()));
        if queues.is_empty() || self.events.join(&self.hive, &queues).await.is_err() {
            return false;
        }
        self.known.extend(queues);
        true
    }

    fn event(&self, event: Event) -> StreamEvent {
        let wants_job = self.query.job.unwrap_or(true);
        let body = JobEvent {
            kind: event.kind,
            queue: event.queue,
            jid: event.jid,
            job: event.job.filter(|_| wants_job).map(Into::into),
            progress: event.progress,
            message: event.message,
        };
        let data = serde_json::to_string(&body).unwrap_or_default();
        StreamEvent::Event { kind: body.kind.as_str(), data }
    }
}
