//! Reading results, series, trends and settings.

use std::collections::BTreeMap;

use axum::{Json, http::StatusCode};
use keyrack_calculations::{Direction, POINTS_MAX, Point, Settings, Stamp, StampError, Trend};
use keyrack_web::{
    Problem,
    error::invalid,
    extract::{Body, Query},
};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::{caller::Caller, caller::Segments, caller::calculation, caller::interval};

/// A result as it is stored: buckets with their values, or the names of statistics with theirs; `{}` when there is none.
#[utoipa::path(get, path = "/event/{dimension}/{key}/{calculation}/{interval}", tag = "calculations", operation_id = "readResult",
    params(("dimension" = String, Path), ("key" = String, Path), ("calculation" = String, Path), ("interval" = String, Path),
        ("Access-Token" = Option<String>, Header, description = "The token of the project")),
    responses((status = OK, body = BTreeMap<String, String>)))]
pub(super) async fn result(
    caller: Caller,
    Segments([dimension, key, of, over]): Segments<4>,
) -> Result<Json<BTreeMap<String, String>>, Problem> {
    let id = caller.key(&dimension, &key)?;
    Ok(Json(caller.ledger.result(&id, calculation(&of)?, interval(&over)?).await?))
}

/// What rules have said about a key, in order.
#[utoipa::path(get, path = "/event/{dimension}/{key}", tag = "calculations", operation_id = "readOutputEvents",
    params(("dimension" = String, Path), ("key" = String, Path),
        ("Access-Token" = Option<String>, Header, description = "The token of the project")),
    responses((status = OK, body = Vec<BTreeMap<String, String>>)))]
pub(super) async fn output_events(
    caller: Caller,
    Segments([dimension, key]): Segments<2>,
) -> Result<Json<Vec<BTreeMap<String, String>>>, Problem> {
    let events = caller.ledger.output_events(&caller.key(&dimension, &key)?).await?;
    let with_number = events.into_iter().map(|event| {
        let mut fields = event.fields;
        fields.insert("number".into(), event.number.to_string());
        fields
    });
    Ok(Json(with_number.collect()))
}

/// What is known about a key.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct KeyView {
    dimension: String,
    key: String,
    /// How many values it has.
    values: u64,
    /// What is calculated, each with its intervals.
    calculations: BTreeMap<String, Vec<String>>,
}

/// Shows what is declared for a key and how many values it has.
#[utoipa::path(get, path = "/calculations/keys/{dimension}/{key}", tag = "calculations", operation_id = "showCalculationKey",
    params(("dimension" = String, Path), ("key" = String, Path)), responses((status = OK, body = KeyView)))]
pub(super) async fn show(
    caller: Caller,
    Segments([dimension, key]): Segments<2>,
) -> Result<Json<KeyView>, Problem> {
    let id = caller.key(&dimension, &key)?;
    let mut calculations: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (calculation, interval) in caller.ledger.declared(&id).await? {
        calculations.entry(calculation.to_string()).or_default().push(interval.to_string());
    }
    let values = caller.ledger.values_len(&id).await?;
    Ok(Json(KeyView { dimension, key, values, calculations }))
}

/// Deletes a key: its values, its results and what is declared for it. Output events stay: they are the record.
#[utoipa::path(delete, path = "/calculations/keys/{dimension}/{key}", tag = "calculations", operation_id = "deleteCalculationKey",
    params(("dimension" = String, Path), ("key" = String, Path)), responses((status = NO_CONTENT)))]
pub(super) async fn delete(
    caller: Caller,
    Segments([dimension, key]): Segments<2>,
) -> Result<StatusCode, Problem> {
    let id = caller.key(&dimension, &key)?;
    if !caller.ledger.delete_key(&id).await? {
        let name = format!("{dimension}/{key}");
        return Err(keyrack_calculations::Error::NotFound { what: "key", name }.into());
    }
    Ok(StatusCode::NO_CONTENT)
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct At {
    /// When the value happened: `2014-10-17 21:34:07 -0400`, in any of the forms that events may have.
    at: String,
}

/// Deletes the value of a key at a time; the results are those of the other values then.
#[utoipa::path(delete, path = "/calculations/keys/{dimension}/{key}/values", tag = "calculations",
    operation_id = "deleteCalculationValue",
    params(At, ("dimension" = String, Path), ("key" = String, Path)), responses((status = NO_CONTENT)))]
pub(super) async fn delete_value(
    caller: Caller,
    Segments([dimension, key]): Segments<2>,
    Query(At { at }): Query<At>,
) -> Result<StatusCode, Problem> {
    let id = caller.key(&dimension, &key)?;
    let time: Stamp = at.parse().map_err(|error: StampError| invalid("at", error.to_string()))?;
    if caller.ledger.delete_values(&id, &[time]).await? == 0 {
        return Err(keyrack_calculations::Error::NotFound { what: "value at", name: at }.into());
    }
    Ok(StatusCode::NO_CONTENT)
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct Points {
    /// How many buckets at most, the last ones; 100 unless said otherwise, and no more than 10,000.
    points: Option<usize>,
}

/// The last buckets of a result in order, those without values among them, for charts.
#[utoipa::path(get, path = "/calculations/keys/{dimension}/{key}/{calculation}/{interval}/series", tag = "calculations",
    operation_id = "readSeries",
    params(Points, ("dimension" = String, Path), ("key" = String, Path), ("calculation" = String, Path), ("interval" = String, Path)),
    responses((status = OK, body = Vec<Point>)))]
pub(super) async fn series(
    caller: Caller,
    Segments([dimension, key, of, over]): Segments<4>,
    Query(query): Query<Points>,
) -> Result<Json<Vec<Point>>, Problem> {
    let id = caller.key(&dimension, &key)?;
    let points = query.points.unwrap_or(100).min(POINTS_MAX);
    let series = caller.ledger.series(&id, calculation(&of)?, interval(&over)?, points).await?;
    Ok(Json(series))
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct Open {
    /// Whether the last bucket counts although its time may not be over; yes unless said otherwise.
    open: Option<bool>,
}

/// Where the bucket sums of a key go.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct TrendView {
    /// `rising`, `falling`, or `flat` when chance explains it.
    direction: Direction,
    /// How sure that is, in percent: 99, 95 or 90; 0 for flat.
    confidence: u8,
    /// How many buckets it is judged by.
    buckets: u64,
    slope: f64,
    intercept: f64,
    /// What the next bucket's sum will be, if it goes on like this; with three buckets or more.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<f64>,
    /// Half the width of the interval that has it at 95 percent.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_half_width: Option<f64>,
}

impl From<Trend> for TrendView {
    fn from(trend: Trend) -> TrendView {
        TrendView {
            direction: trend.direction,
            confidence: trend.confidence,
            buckets: trend.buckets,
            slope: trend.line.slope,
            intercept: trend.line.intercept,
            next: trend.prediction.map(|next| next.value),
            next_half_width: trend.prediction.map(|next| next.half_width),
        }
    }
}

/// Tells where the bucket sums of a key go; `null` with fewer than two buckets.
#[utoipa::path(get, path = "/calculations/keys/{dimension}/{key}/trend/{interval}", tag = "calculations", operation_id = "readTrend",
    params(Open, ("dimension" = String, Path), ("key" = String, Path), ("interval" = String, Path)),
    responses((status = OK, body = Option<TrendView>)))]
pub(super) async fn trend(
    caller: Caller,
    Segments([dimension, key, over]): Segments<3>,
    Query(query): Query<Open>,
) -> Result<Json<Option<TrendView>>, Problem> {
    let id = caller.key(&dimension, &key)?;
    let trend = caller.ledger.trend(&id, interval(&over)?, query.open.unwrap_or(true)).await?;
    Ok(Json(trend.map(Into::into)))
}

/// The settings of the project by which its results are calculated.
#[utoipa::path(get, path = "/calculations/settings", tag = "calculations", operation_id = "readCalculationSettings",
    responses((status = OK, body = BTreeMap<String, String>)))]
pub(super) async fn settings(caller: Caller) -> Result<Json<BTreeMap<String, String>>, Problem> {
    Ok(Json(told(&caller.ledger.settings(&caller.project).await?)))
}

/// Changes settings of the project and calculates all its results afresh; those that are not named stay as they are.
#[utoipa::path(put, path = "/calculations/settings", tag = "calculations", operation_id = "setCalculationSettings",
    request_body = BTreeMap<String, String>, responses((status = OK, body = BTreeMap<String, String>)))]
pub(super) async fn set_settings(
    caller: Caller,
    Body(changes): Body<BTreeMap<String, String>>,
) -> Result<Json<BTreeMap<String, String>>, Problem> {
    let mut settings = caller.ledger.settings(&caller.project).await?;
    for (name, value) in &changes {
        settings.set(name, value)?;
    }
    caller.ledger.set_settings(&caller.project, &settings).await?;
    Ok(Json(told(&settings)))
}

fn told(settings: &Settings) -> BTreeMap<String, String> {
    settings.entries().into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}
