//! Streams of server-sent events: a place among those who stream, ids, gaps, and an end when the server stops.

use std::{convert::Infallible, sync::Arc, time::Duration};

use axum::{
    http::{HeaderMap, StatusCode},
    response::{
        IntoResponse as _, Response, Sse,
        sse::{Event, KeepAlive},
    },
};
use futures_util::stream;

use crate::{App, Problem};

/// A comment that keeps proxies from hanging up.
pub const KEEP_ALIVE: Duration = Duration::from_secs(15);
/// How soon to come back when there is no place.
const RETRY_AFTER_S: u32 = 1;

/// A place among the requests that wait or stream, given up when it is dropped.
#[derive(Debug)]
pub struct Seat(Arc<App>);

impl Seat {
    /// A place, if there is one.
    pub fn take(app: &Arc<App>) -> Result<Seat, Problem> {
        app.waiting.try_acquire().map_err(|_| no_place())?.forget();
        Ok(Seat(app.clone()))
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.0.waiting.add_permits(1);
    }
}

/// What is told to those for whom there is no place.
pub fn no_place() -> Problem {
    Problem::new(StatusCode::TOO_MANY_REQUESTS, "too_many_waiting")
        .title("too many requests wait already")
        .detail("come back in a moment, or ask without waiting")
        .retry_after(RETRY_AFTER_S)
}

/// Something to send.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Sent {
    /// Something may have been missed: whoever hears it reads what they need to know.
    Gap,
    /// Something happened.
    Event { kind: &'static str, data: String },
}

/// What a stream is made of.
pub trait Source: Send + 'static {
    /// What to send next; `None` at the end. It is dropped when the server stops.
    fn next(&mut self) -> impl Future<Output = Option<Sent>> + Send;
}

/// Streams what a source has to send.
///
/// Events are not stored, so that a client that comes back with `Last-Event-ID` gets a `gap` first.
pub fn stream(seat: Seat, headers: &HeaderMap, source: impl Source) -> Response {
    let owes_gap = headers.contains_key("last-event-id");
    let sender = Sender { seat, source, sent: 0, owes_gap };
    let events = stream::unfold(sender, async |mut sender| {
        let event = sender.next().await?;
        Some((Ok::<_, Infallible>(event), sender))
    });
    Sse::new(events).keep_alive(KeepAlive::new().interval(KEEP_ALIVE)).into_response()
}

/// One client's stream.
struct Sender<S> {
    seat: Seat,
    source: S,
    sent: u64,
    owes_gap: bool,
}

impl<S: Source> Sender<S> {
    async fn next(&mut self) -> Option<Event> {
        let next = if std::mem::take(&mut self.owes_gap) {
            Sent::Gap
        } else {
            tokio::select! {
                next = self.source.next() => next?,
                () = self.seat.0.stopped() => return None,
            }
        };
        // Ids say when and in which order; they are not the same for two streams.
        self.sent += 1;
        let id = format!("{}-{}", self.seat.0.services.store.now_ms(), self.sent);
        let (kind, data) = match next {
            Sent::Gap => ("gap", "{}".to_owned()),
            Sent::Event { kind, data } => (kind, data),
        };
        Some(Event::default().id(id).event(kind).data(data))
    }
}
