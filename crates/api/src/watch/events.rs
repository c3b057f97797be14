//! Watching as server-sent events: the same updates, for whoever has HTTP and nothing else.

use std::{convert::Infallible, sync::Arc};

use axum::{
    Extension,
    extract::State,
    http::{HeaderMap, StatusCode},
    response::{
        IntoResponse as _, Response, Sse,
        sse::{Event, KeepAlive},
    },
};
use futures_util::{Stream, stream};
use keyrack_web::{App, Problem, error::bad_name, extract::Query, stream::KEEP_ALIVE};
use serde_json::json;

use super::{Next, Refusal, Rooms, Shown, Wanted, Watcher, place, scene::TraceUpdate};

/// How soon to come back to a bar that has no steps yet.
const NO_STEPS_RETRY_S: u32 = 1;

/// Streams how a trace goes on, as server-sent events.
///
/// There is an `update` event at once and after every change. The one with `done` is the last, and a client has to close the stream
/// then, or it would begin anew. When a run fails, or its process no longer reports, the last update says so in `outcome`. A stream
/// that ends for another reason than `done` says why in an `end` event. Each update tells all there is to
/// know, so that nothing is lost by coming back.
#[utoipa::path(get, path = "/progress_bars/traces/events", tag = "traces", operation_id = "watchTrace", params(Wanted),
    responses(
        (status = OK, body = TraceUpdate, content_type = "text/event-stream", description = "The data of each event"),
    ))]
pub(crate) async fn events(
    State(app): State<Arc<App>>,
    Extension(rooms): Extension<Arc<Rooms>>,
    headers: HeaderMap,
    Query(wanted): Query<Wanted>,
) -> Result<Response, Problem> {
    let place = place(&app)?;
    let shown = Shown { headers: &headers, token: None };
    let watcher =
        Watcher::enter(app, &rooms, wanted, shown, place).await.map_err(
            |refusal| match refusal {
                Refusal::Invalid(error) => bad_name(&error),
                Refusal::NoSteps => Problem::new(StatusCode::SERVICE_UNAVAILABLE, "no_steps")
                    .title("the progress bar has no steps yet")
                    .retry_after(NO_STEPS_RETRY_S),
                Refusal::Denied(problem) | Refusal::Unavailable(problem) => problem,
            },
        )?;
    let stream = Sse::new(updates(watcher));
    Ok(stream.keep_alive(KeepAlive::new().interval(KEEP_ALIVE)).into_response())
}

fn updates(watcher: Watcher) -> impl Stream<Item = Result<Event, Infallible>> {
    stream::unfold((Some(watcher), 0_u64), async |(watcher, sent)| {
        let mut watcher = watcher?;
        let event = Event::default().id(format!("{}-{sent}", watcher.app.services.store.now_ms()));
        let (event, is_last) = match watcher.next().await {
            Next::Update { text, done } => (event.event("update").data(text.as_str()), done),
            Next::End(ending) => {
                let data = json!({ "reason": ending.reason() }).to_string();
                (event.event("end").data(data), true)
            }
        };
        Some((Ok(event), ((!is_last).then_some(watcher), sent + 1)))
    })
}
