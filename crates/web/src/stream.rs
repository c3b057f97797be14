//! Streams of server-sent events: ids, gaps, and an end when the server stops.

use std::{convert::Infallible, mem, sync::Arc, time::Duration};

use axum::{
    http::HeaderMap,
    response::{
        IntoResponse as _, Response, Sse,
        sse::{Event, KeepAlive},
    },
};
use futures_util::stream;
use tokio::sync::OwnedSemaphorePermit;

use crate::App;

/// Interval of comments that keep proxies from closing the connection.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// An event of a stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StreamEvent {
    /// Events may have been missed, so the client reads the state it needs.
    Gap,
    Event {
        kind: &'static str,
        data: String,
    },
}

/// Where the events of a stream come from.
pub trait Source: Send + 'static {
    /// Whether events have ids.
    const HAS_IDS: bool = true;

    /// The next event; `None` ends the stream. The future is dropped when the server stops.
    fn next(&mut self) -> impl Future<Output = Option<StreamEvent>> + Send;

    /// The last event when the server stops.
    fn stopping(&self) -> Option<StreamEvent> {
        None
    }
}

/// Streams the events of a source.
pub fn stream(app: Arc<App>, permit: OwnedSemaphorePermit, source: impl Source) -> Response {
    send(Sender { app, source, sent: 0, owes_gap: false, is_over: false, _permit: permit })
}

/// Streams the events of a source that stores none: a client that comes back with `Last-Event-ID` gets a `gap` first.
pub fn stream_with_gaps(
    app: Arc<App>,
    permit: OwnedSemaphorePermit,
    headers: &HeaderMap,
    source: impl Source,
) -> Response {
    let owes_gap = headers.contains_key("last-event-id");
    send(Sender { app, source, sent: 0, owes_gap, is_over: false, _permit: permit })
}

fn send(sender: Sender<impl Source>) -> Response {
    let events = stream::unfold(sender, async |mut sender| {
        let event = sender.next().await?;
        Some((Ok::<_, Infallible>(event), sender))
    });
    Sse::new(events).keep_alive(KeepAlive::new().interval(KEEP_ALIVE)).into_response()
}

/// One client's stream.
struct Sender<S> {
    app: Arc<App>,
    source: S,
    sent: u64,
    owes_gap: bool,
    is_over: bool,
    _permit: OwnedSemaphorePermit,
}

impl<S: Source> Sender<S> {
    async fn next(&mut self) -> Option<Event> {
        if self.is_over {
            return None;
        }
        let next = if mem::take(&mut self.owes_gap) {
            StreamEvent::Gap
        } else {
            tokio::select! {
                next = self.source.next() => next?,
                () = self.app.stopped() => {
                    self.is_over = true;
                    self.source.stopping()?
                }
            }
        };
        let (kind, data) = match next {
            StreamEvent::Gap => ("gap", "{}".to_owned()),
            StreamEvent::Event { kind, data } => (kind, data),
        };
        let mut event = Event::default();
        if S::HAS_IDS {
            // Ids say when and in which order; they are not the same for two streams.
            self.sent += 1;
            event = event.id(format!("{}-{}", self.app.services.store.now_ms(), self.sent));
        }
        Some(event.event(kind).data(data))
    }
}
