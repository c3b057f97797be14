//! Watching a journey as server-sent events, for whoever has HTTP and nothing else.

use std::{convert::Infallible, sync::Arc, time::Duration};

use axum::{
    extract::State,
    response::{
        IntoResponse as _, Response, Sse,
        sse::{Event, KeepAlive},
    },
};
use futures_util::{Stream, stream};
use keyrack_journeys::{ReceivedEvent, View, ViewRequest, Watcher};
use keyrack_web::{App, Problem, error::invalid, extract::Query};
use serde::Deserialize;
use tokio::{
    sync::OwnedSemaphorePermit,
    time::{Instant, sleep_until},
};
use utoipa::IntoParams;

use super::{Uid, check_ticket};
use crate::watch;

/// A comment that keeps proxies from hanging up.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

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
    if let Err(reason) = wish.check() {
        let (field, reason) = reason.split_once(": ").unwrap_or(("", &reason));
        return Err(invalid(field, reason));
    }
    check_ticket(&app, &request.jwt, &uid)?;
    let place = watch::place(&app)?;
    let journey = app.services.journeys.journey(&uid).await?;
    View::check_time(request.journey_time, journey.duration_seconds)
        .map_err(|reason| invalid("journey_time", reason))?;
    let view = View::at(wish, Instant::now(), request.journey_time);
    let ends_at = view.ends_at(journey.duration_seconds);
    let watcher = app.services.live.watch(&uid, view).await?;
    let batches = Batches { app, watcher, ends_at, sent: 0, is_over: false, _place: place };
    let stream = Sse::new(batches.into_stream());
    Ok(stream.keep_alive(KeepAlive::new().interval(KEEP_ALIVE)).into_response())
}

/// The events of a batch, as all watchers get them.
pub(super) fn batch_text(batch: &[Arc<ReceivedEvent>]) -> String {
    let events: Vec<&str> = batch.iter().map(|heard| heard.text.as_str()).collect();
    format!(r#"{{"events":[{}]}}"#, events.join(","))
}

struct Batches {
    app: Arc<App>,
    watcher: Watcher,
    ends_at: Instant,
    sent: u64,
    is_over: bool,
    _place: OwnedSemaphorePermit,
}

impl Batches {
    fn into_stream(self) -> impl Stream<Item = Result<Event, Infallible>> {
        stream::unfold(self, async |mut batches| {
            let event = batches.next().await?;
            Some((Ok(event), batches))
        })
    }

    async fn next(&mut self) -> Option<Event> {
        if self.is_over {
            return None;
        }
        self.sent += 1;
        let event =
            Event::default().id(format!("{}-{}", self.app.services.store.now_ms(), self.sent));
        tokio::select! {
            batch = self.watcher.batch() => Some(event.event("event_batch").data(batch_text(&batch))),
            () = sleep_until(self.ends_at) => {
                self.is_over = true;
                Some(event.event("end").data("{}"))
            }
            () = self.app.stopped() => None,
        }
    }
}
