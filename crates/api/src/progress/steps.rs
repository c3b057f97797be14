//! The steps of bars.

use std::sync::Arc;

use axum::{Json, extract::State, http::StatusCode};
use keyrack_progress::Step;
use keyrack_web::{
    App, Problem,
    extract::{Body, Query},
};
use serde::Deserialize;
use utoipa::{IntoParams, ToSchema};

use super::Techniques;
use crate::{
    auth::{Editor, Viewer},
    listing::{Column, Listing, Page, Search, Value},
};

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct StepQuery {
    /// The bar.
    pbar_name: String,
    /// The step.
    step_name: String,
}

/// A step to create.
#[derive(Debug, Deserialize, ToSchema)]
pub(crate) struct CreateStep {
    /// Whether it has iterations; not unless said.
    #[serde(default)]
    iterated: bool,
    #[serde(default)]
    one_off_technique: Option<keyrack_progress::Technique>,
    /// From 0 to 100.
    #[serde(default)]
    one_off_percentile: Option<f64>,
    #[serde(default)]
    iterated_technique: Option<keyrack_progress::Technique>,
    /// From 0 to 100.
    #[serde(default)]
    iterated_percentile: Option<f64>,
}

impl CreateStep {
    fn techniques(&self) -> Techniques {
        let default = Techniques::default();
        Techniques {
            one_off_technique: self.one_off_technique.unwrap_or(default.one_off_technique),
            one_off_percentile: self.one_off_percentile.unwrap_or(default.one_off_percentile),
            iterated_technique: self.iterated_technique.unwrap_or(default.iterated_technique),
            iterated_percentile: self.iterated_percentile.unwrap_or(default.iterated_percentile),
        }
    }
}

/// Adds a step to the end of a bar, which begins a new version without retained traces.
#[utoipa::path(post, path = "/progress_bars/steps/", tag = "progress bars", operation_id = "createStep", params(StepQuery),
    request_body = CreateStep, responses((status = CREATED, body = Step)))]
pub(crate) async fn create(
    State(app): State<Arc<App>>,
    Editor(sub): Editor,
    Query(query): Query<StepQuery>,
    Body(body): Body<CreateStep>,
) -> Result<(StatusCode, Json<Step>), Problem> {
    let config = body.techniques().into();
    let (bar, step) = (&query.pbar_name, &query.step_name);
    let created = app.services.progress.create_step(&sub, bar, step, body.iterated, config).await;
    Ok((StatusCode::CREATED, Json(created.map_err(super::of_bar)?)))
}

/// Changes how a step's times are estimated. The default step is changed with its bar.
#[utoipa::path(put, path = "/progress_bars/steps/", tag = "progress bars", operation_id = "updateStep", params(StepQuery),
    request_body = Techniques, responses((status = OK, body = Techniques)))]
pub(crate) async fn update(
    State(app): State<Arc<App>>,
    Editor(sub): Editor,
    Query(query): Query<StepQuery>,
    Body(techniques): Body<Techniques>,
) -> Result<Json<Techniques>, Problem> {
    let (bar, step) = (&query.pbar_name, &query.step_name);
    let step = app.services.progress.update_step(&sub, bar, step, techniques.into()).await?;
    Ok(Json(step.config.into()))
}

/// Deletes a step, which begins a new version without retained traces.
#[utoipa::path(delete, path = "/progress_bars/steps/", tag = "progress bars", operation_id = "deleteStep", params(StepQuery),
    responses((status = NO_CONTENT)))]
pub(crate) async fn delete(
    State(app): State<Arc<App>>,
    Editor(sub): Editor,
    Query(query): Query<StepQuery>,
) -> Result<StatusCode, Problem> {
    app.services.progress.delete_step(&sub, &query.pbar_name, &query.step_name).await?;
    Ok(StatusCode::NO_CONTENT)
}

const STEPS: Listing<Step> = Listing {
    columns: &[
        Column::text("uid", |step: &Step| Value::Text(&step.uid)).sorts(),
        Column::text("name", |step: &Step| Value::Text(&step.name)).sorts(),
        Column::text("progress_bar_name", |step: &Step| Value::Text(&step.progress_bar_name))
            .sorts(),
        Column::integer("position", |step: &Step| Value::Number(step.position as f64)).sorts(),
        Column::bool("iterated", |step: &Step| Value::Bool(step.iterated)),
        Column::number("created_at", |step: &Step| Value::Number(step.created_at)).sorts(),
    ],
    limit_max: 100,
};

/// Searches the steps of the caller's bars.
#[utoipa::path(post, path = "/progress_bars/steps/search", tag = "progress bars", operation_id = "searchSteps",
    request_body = Search, responses((status = OK, body = Page<Step>)))]
pub(crate) async fn search(
    State(app): State<Arc<App>>,
    Viewer(sub): Viewer,
    Body(search): Body<Search>,
) -> Result<Json<Page<Step>>, Problem> {
    let steps = app.services.progress.list_steps(&sub, search.exactly("progress_bar_name")).await?;
    STEPS.page(search, steps, |step| step).map(Json)
}
