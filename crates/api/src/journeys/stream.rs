//! Watching a journey as server-sent events, for whoever has HTTP and nothing else.

use std::sync::Arc;

use axum::{extract::State, response::Response};
use keyrack_journeys::{ReceivedEvent, View, ViewRequest, Watcher};
use keyrack_web::{
    App, Problem,
    error::invalid,
    extract::Query,
    stream::{Source, StreamEvent, stream},
};
use serde::Deserialize;
use tokio::time::{Instant, sleep_until};
use utoipa::IntoParams;

use super::{Uid, check_ticket};

#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct Request {
    /// The ticket.
    jwt: String,
    /// Where the caller is on the journey, in seconds; may be negative.
    journey_time: f64,
    /// The most events per second, from 1 to 5000.
    bandwidth: Option<u32>,
    /// How far behind the caller events may be, from 0 to 10 seconds.
    lookback: Option<f64>,
    /// How far ahead of the caller, from 0 to 10 seconds.
    lookahead: Option<f64>,
}

/// Streams what happens on a journey near the caller's own time, as server-sent events.
///
/// The data of each `event_batch` is `{"events": […]}`. What happens is live: a stream that was lost begins anew. When nothing is left
/// to be seen of the journey, an `end` event comes and the stream ends.
#[utoipa::path(get, path = "/journeys/{uid}/live", tag = "journeys", operation_id = "watchJourney",
    params(("uid" = String, Path, description = "The journey"), Request),
    responses((status = OK, body = String, content_type = "text/event-stream", description = "Batches of events")))]
pub(super) async fn live(
    State(app): State<Arc<App>>,
    Uid(uid): Uid,
    Query(request): Query<Request>,
) -> Result<Response, Problem> {
    let wish = ViewRequest {
        bandwidth: request.bandwidth.unwrap_or(100),
        lookback: request.lookback.unwrap_or(2.0),
        lookahead: request.lookahead.unwrap_or(2.0),
    };
    wish.check()?;
    check_ticket(&app, &request.jwt, &uid)?;
    let permit = app.permit_to_watch()?;
    let journey = app.services.journeys.journey(&uid).await?;
    View::check_time(request.journey_time, journey.duration_seconds)
        .map_err(|reason| invalid("journey_time", reason))?;
    let view = View::at(wish, Instant::now(), request.journey_time);
    let ends_at = view.ends_at(journey.duration_seconds);
    let watcher = app.services.live.watch(&uid, view).await?;
    Ok(stream(app, permit, Batches { watcher, ends_at, is_over: false }))
}

/// The events of a batch, as all watchers get them.
pub(super) fn batch_text(batch: &[Arc<ReceivedEvent>]) -> String {
    let events: Vec<&str> = batch.iter().map(|heard| heard.text.as_str()).collect();
    format!(r#"{{"events":[{}]}}"#, events.join(","))
}

struct Batches {
    watcher: Watcher,
    ends_at: Instant,
    is_over: bool,
}

impl Source for Batches {
    async fn next(&mut self) -> Option<StreamEvent> {
        if self.is_over {
            return None;
        }
        tokio::select! {
            batch = self.watcher.batch() => {
                Some(StreamEvent::Event { kind: "event_batch", data: batch_text(&batch) })
            }
            () = sleep_until(self.ends_at) => {
                self.is_over = true;
                Some(StreamEvent::Event { kind: "end", data: "{}".into() })
            }
        }
    }
}
