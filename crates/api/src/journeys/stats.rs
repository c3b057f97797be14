//! What came of a journey's events.

use std::sync::Arc;

use axum::{Json, extract::State};
use keyrack_journeys::Totals;
use keyrack_web::{App, Problem, extract::Query};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::Uid;
use crate::auth::Viewer;

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct StatsQuery {
    /// The second of the journey; its end unless said.
    second: Option<u64>,
}

/// How a journey stands at one second, and how much happened in each.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = JourneyStats)]
pub(super) struct Stats {
    /// The second.
    second: u64,
    /// How things stand then.
    totals: Totals,
    /// How many events there were in each second, up to the last that had one.
    histogram: Vec<u64>,
}

/// Shows how a journey stands at one second, and how much happened in each.
#[utoipa::path(get, path = "/journeys/{uid}/stats", tag = "journeys", operation_id = "journeyStats",
    params(("uid" = String, Path, description = "The journey"), StatsQuery), responses((status = OK, body = Stats)))]
pub(super) async fn stats(
    State(app): State<Arc<App>>,
    _: Viewer,
    Uid(uid): Uid,
    Query(query): Query<StatsQuery>,
) -> Result<Json<Stats>, Problem> {
    let journey = app.services.journeys.journey(&uid).await?;
    let second = query.second.unwrap_or(journey.duration_seconds.ceil() as u64);
    let totals = app.services.journeys.totals(&uid, second).await?;
    let histogram = app.services.journeys.histogram(&uid).await?;
    Ok(Json(Stats { second, totals, histogram }))
}
