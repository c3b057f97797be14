//! Watching as server-sent events: the same updates, for whoever has HTTP and nothing else.

use std::sync::Arc;

use axum::{
    Extension,
    extract::State,
    http::{HeaderMap, StatusCode},
    response::Response,
};
use keyrack_web::{
    App, Problem,
    error::bad_name,
    extract::Query,
    stream::{Source, StreamEvent, stream},
};
use serde_json::json;

use super::{
    Credentials, Ending, Next, Refusal, TraceBroadcasts, WatchQuery, Watcher, snapshot::TraceUpdate,
};

/// How soon to come back to a bar that has no steps yet.
const NO_STEPS_RETRY_S: u32 = 1;

/// Streams how a trace goes on, as server-sent events.
///
/// There is an `update` event at once and after every change. The one with `done` is the last, and a client has to close the stream
/// then, or it would begin anew. When a run fails, or its process no longer reports, the last update says so in `outcome`. A stream
/// that ends for another reason than `done` says why in an `end` event. Each update tells all there is to
/// know, so that nothing is lost by coming back.
#[utoipa::path(get, path = "/progress_bars/traces/events", tag = "traces", operation_id = "watchTrace", params(WatchQuery),
    responses(
        (status = OK, body = TraceUpdate, content_type = "text/event-stream", description = "The data of each event"),
    ))]
pub(crate) async fn events(
    State(app): State<Arc<App>>,
    Extension(broadcasts): Extension<Arc<TraceBroadcasts>>,
    headers: HeaderMap,
    Query(wanted): Query<WatchQuery>,
) -> Result<Response, Problem> {
    let permit = app.permit_to_watch()?;
    let credentials = Credentials { headers: &headers, token: None };
    let watcher =
        Watcher::enter(&app, &broadcasts, wanted, credentials).await.map_err(|refusal| {
            match refusal {
                Refusal::Invalid(error) => bad_name(&error),
                Refusal::NoSteps => Problem::new(StatusCode::SERVICE_UNAVAILABLE, "no_steps")
                    .title("the progress bar has no steps yet")
                    .retry_after(NO_STEPS_RETRY_S),
                Refusal::Denied(problem) | Refusal::Unavailable(problem) => problem,
            }
        })?;
    Ok(stream(app, permit, Updates { watcher, is_over: false }))
}

struct Updates {
    watcher: Watcher,
    is_over: bool,
}

impl Source for Updates {
    async fn next(&mut self) -> Option<StreamEvent> {
        if self.is_over {
            return None;
        }
        match self.watcher.next().await {
            Next::Update { text, done } => {
                self.is_over = done;
                Some(StreamEvent::Event { kind: "update", data: text.to_string() })
            }
            Next::End(ending) => {
                self.is_over = true;
                Some(end(ending))
            }
        }
    }

    fn stopping(&self) -> Option<StreamEvent> {
        (!self.is_over).then(|| end(Ending::Stopping))
    }
}

fn end(ending: Ending) -> StreamEvent {
    StreamEvent::Event { kind: "end", data: json!({ "reason": ending.reason() }).to_string() }
}
