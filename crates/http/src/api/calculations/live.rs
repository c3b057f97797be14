//! Changes to a project's results, as a stream of server-sent events.

use std::{collections::BTreeMap, convert::Infallible, sync::Arc, time::Duration};

use axum::{
    extract::State,
    http::HeaderMap,
    response::{
        IntoResponse as _, Response, Sse,
        sse::{Event as Sent, KeepAlive},
    },
};
use futures_util::{Stream, stream};
use keyrack_calculations::{
    Changed, Live,
    keys::{Calculation, Interval},
};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::{
    super::{extract::Query, wait},
    caller::{Caller, calculation, interval},
};
use crate::{app::App, problem::Problem};

/// A comment that keeps proxies from hanging up.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct What {
    /// Only keys of this dimension.
    dimension: Option<String>,
    /// Only this key.
    key: Option<String>,
    /// Send this result with each change; needs `interval`.
    calculation: Option<String>,
    /// The interval of the result.
    interval: Option<String>,
}

/// What has changed. `gap` events are empty: changes may have been missed, so read what you need to know.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct ChangeView {
    #[serde(flatten)]
    changed: Changed,
    /// The result that was asked for, as it is now.
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<BTreeMap<String, String>>,
}

/// Streams changes to the results of a project, as server-sent events.
///
/// Events are not stored. A client that comes back with `Last-Event-ID` gets a `gap` event first, and so does one that
/// could not follow.
#[utoipa::path(get, path = "/calculations/live/events", tag = "calculations", operation_id = "calculationEvents",
    params(What, ("Last-Event-ID" = Option<String>, Header, description = "The last event that the client has seen")),
    responses(
        (status = OK, body = ChangeView, content_type = "text/event-stream", description = "The data of each event"),
    ))]
pub(super) async fn events(
    caller: Caller,
    State(app): State<Arc<App>>,
    Query(what): Query<What>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    // Given up when the stream ends, which the place must outlive.
    wait::place(&app)?.forget();
    let place = Place(app.clone());
    let result = match (&what.calculation, &what.interval) {
        (Some(of), Some(over)) => Some((calculation(of)?, interval(over)?)),
        (None, None) => None,
        _ => {
            return Err(super::super::error::invalid(
                "calculation",
                "give it with an interval, or neither",
            ));
        }
    };
    let live = caller.ledger.live(&caller.project).await?;
    let owes_gap = headers.contains_key("last-event-id");
    let listener = Listener { caller, live, what, result, sent: 0, owes_gap, place };
    let stream = Sse::new(listener.into_stream());
    Ok(stream.keep_alive(KeepAlive::new().interval(KEEP_ALIVE)).into_response())
}

/// A place among the requests that stream, given up with the stream.
struct Place(Arc<App>);

impl Drop for Place {
    fn drop(&mut self) {
        self.0.waiting.add_permits(1);
    }
}

/// One client's stream.
struct Listener {
    caller: Caller,
    live: Live,
    what: What,
    result: Option<(Calculation, Interval)>,
    sent: u64,
    owes_gap: bool,
    place: Place,
}

impl Listener {
    fn into_stream(self) -> impl Stream<Item = Result<Sent, Infallible>> {
        stream::unfold(self, async |mut listener| {
            let sent = listener.next().await?;
            Some((Ok(sent), listener))
        })
    }

    /// What to send next; nothing when the server stops.
    async fn next(&mut self) -> Option<Sent> {
        if std::mem::take(&mut self.owes_gap) {
            return Some(self.numbered().event("gap").data("{}"));
        }
        loop {
            let heard = tokio::select! {
                heard = self.live.next() => heard?,
                () = self.place.0.stopped() => return None,
            };
            match heard {
                None => return Some(self.numbered().event("gap").data("{}")),
                Some(changed) if self.is_wanted(&changed) => {
                    // A result that cannot be read now is left out; the change has happened all the same.
                    let result = self.read(&changed).await;
                    let view = ChangeView { changed, result };
                    let data = serde_json::to_string(&view).unwrap_or_default();
                    return Some(self.numbered().event("changed").data(data));
                }
                Some(_) => {}
            }
        }
    }

    fn is_wanted(&self, changed: &Changed) -> bool {
        self.what.dimension.as_ref().is_none_or(|dimension| *dimension == changed.dimension)
            && self.what.key.as_ref().is_none_or(|key| *key == changed.key)
    }

    async fn read(&self, changed: &Changed) -> Option<BTreeMap<String, String>> {
        let (calculation, interval) = self.result?;
        let id = self.caller.key(&changed.dimension, &changed.key).ok()?;
        self.caller.ledger.result(&id, calculation, interval).await.ok()
    }

    /// Ids say when and in which order; they are not the same for two streams.
    fn numbered(&mut self) -> Sent {
        self.sent += 1;
        Sent::default().id(format!("{}-{}", self.caller.ledger.store().now_ms(), self.sent))
    }
}
