//! Changes to a project's results, as a stream of server-sent events.

use std::{collections::BTreeMap, sync::Arc};

use axum::{extract::State, http::HeaderMap, response::Response};
use keyrack_calculations::{
    Changed, Live,
    keys::{Calculation, Interval},
};
use keyrack_web::{
    App, Problem,
    error::invalid,
    extract::Query,
    stream::{Source, StreamEvent, stream_with_gaps},
};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::{caller::Caller, caller::calculation, caller::interval};

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct ChangesQuery {
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
    params(ChangesQuery, ("Last-Event-ID" = Option<String>, Header, description = "The last event that the client has seen")),
    responses(
        (status = OK, body = ChangeView, content_type = "text/event-stream", description = "The data of each event"),
    ))]
pub(super) async fn events(
    caller: Caller,
    State(app): State<Arc<App>>,
    Query(query): Query<ChangesQuery>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let permit = app.permit_to_wait()?;
    let result = match (&query.calculation, &query.interval) {
        (Some(of), Some(over)) => Some((calculation(of)?, interval(over)?)),
        (None, None) => None,
        _ => {
            return Err(invalid("calculation", "give it with an interval, or neither"));
        }
    };
    let live = caller.ledger.live(&caller.project).await?;
    Ok(stream_with_gaps(app, permit, &headers, Listener { caller, live, query, result }))
}

/// What one client hears.
struct Listener {
    caller: Caller,
    live: Live,
    query: ChangesQuery,
    result: Option<(Calculation, Interval)>,
}

impl Source for Listener {
    async fn next(&mut self) -> Option<StreamEvent> {
        loop {
            match self.live.next().await? {
                None => return Some(StreamEvent::Gap),
                Some(changed) if self.is_wanted(&changed) => {
                    // A result that cannot be read now is left out; the change has happened all the same.
                    let result = self.read(&changed).await;
                    let view = ChangeView { changed, result };
                    let data = serde_json::to_string(&view).unwrap_or_default();
                    return Some(StreamEvent::Event { kind: "changed", data });
                }
                Some(_) => {}
            }
        }
    }
}

impl Listener {
    fn is_wanted(&self, changed: &Changed) -> bool {
        self.query.dimension.as_ref().is_none_or(|dimension| *dimension == changed.dimension)
            && self.query.key.as_ref().is_none_or(|key| *key == changed.key)
    }

    async fn read(&self, changed: &Changed) -> Option<BTreeMap<String, String>> {
        let (calculation, interval) = self.result?;
        let id = self.caller.key(&changed.dimension, &changed.key).ok()?;
        self.caller.ledger.result(&id, calculation, interval).await.ok()
    }
}
