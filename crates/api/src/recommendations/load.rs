//! The nightly load, and what the recommender has.

use std::sync::Arc;

use crate::routes::Routes;
use axum::{Json, extract::State, http::StatusCode};
use keyrack_identity::Role::{Operator, Viewer};
use keyrack_recommender::{PoolDay, Stats, Synced, eval::Adopted};
use keyrack_web::access::Permission;
use keyrack_web::{App, Problem};
use serde::Serialize;
use utoipa::ToSchema;
use utoipa_axum::routes;

use crate::entitlements::not_set_up;

/// The routes under `/api/1`.
pub(super) fn router() -> Routes {
    Routes::default()
        .add(Permission::change(Operator, "recommender_loaded"), routes!(sync))
        .add(Permission::read(Viewer), routes!(stats))
        .add(Permission::read(Viewer), routes!(evaluation))
}

/// Loads what is new in the app's tables, unless a load runs.
pub(super) async fn load(app: &App) -> Result<Synced, Problem> {
    let loaded = app.services.recommendations.load().await.ok_or_else(|| {
        not_set_up("the server was started without \"recommend-from\", so it does not know the app's tables")
    })?;
    Ok(loaded?)
}

/// Loads what is new in the app's tables. The first load of a calendar day also lets old posts go.
///
/// Takes as long as that takes. A load that was cut off is simply repeated.
#[utoipa::path(post, path = "/recommender/sync", tag = "recommendations", operation_id = "syncRecommender",
    responses((status = OK, body = Synced)))]
async fn sync(State(app): State<Arc<App>>) -> Result<Json<Synced>, Problem> {
    Ok(Json(load(&app).await?))
}

/// What the recommender has, and since when.
#[derive(Debug, Serialize, ToSchema)]
struct RecommenderStats {
    #[serde(flatten)]
    stats: Stats,
    /// The posts by the day on which they came, the oldest first.
    days: Vec<PoolDay>,
}

/// Tells how many posts may be recommended, and how far loads have come.
#[utoipa::path(get, path = "/recommender/stats", tag = "recommendations", operation_id = "recommenderStats",
    responses((status = OK, body = RecommenderStats)))]
async fn stats(State(app): State<Arc<App>>) -> Result<Json<RecommenderStats>, Problem> {
    let recommender = &app.services.recommendations.recommender;
    let stats = recommender.stats().await?;
    Ok(Json(RecommenderStats { stats, days: recommender.pool_by_day().await? }))
}

/// Tells what was found when the weights in force were learned.
#[utoipa::path(get, path = "/recommender/evaluation", tag = "recommendations", operation_id = "recommenderEvaluation",
    responses((status = OK, body = Adopted)))]
async fn evaluation(State(app): State<Arc<App>>) -> Result<Json<Adopted>, Problem> {
    let adopted = app.services.recommendations.recommender.adopted().await?;
    adopted.map(Json).ok_or_else(|| {
        Problem::new(StatusCode::NOT_FOUND, "no_evaluation")
            .title("nothing was evaluated")
            .detail("the weights are built in; \"keyrack recommend eval --save\" learns others")
    })
}
