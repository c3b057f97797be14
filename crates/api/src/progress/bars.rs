//! The bars themselves.

use std::{collections::HashMap, sync::Arc};

use axum::{Json, extract::State, http::StatusCode};
use keyrack_progress::{Bar, BarSettings, DEFAULT_STEP, Sampling, Step};
use keyrack_web::{
    App, Problem,
    extract::{Body, Query},
};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::Techniques;
use crate::{
    auth::{Editor, Viewer},
    listing::{Column, Listing, Page, Search, Value},
};

/// A bar to create.
#[derive(Debug, Deserialize, ToSchema)]
pub(crate) struct CreateBar {
    /// 1 to 255 characters, unique for the user.
    name: String,
    /// The most traces to retain, from 10; 100 unless said.
    #[serde(default)]
    sampling_max_count: Option<u64>,
    /// The age in seconds at which traces are dropped, from 60; a week unless said, null for never.
    #[serde(default, deserialize_with = "given")]
    sampling_max_age_seconds: Option<Option<u64>>,
    #[serde(default)]
    sampling_technique: Sampling,
    #[serde(default)]
    default_step_config: Techniques,
}

/// What can be changed about a bar. What is left out becomes what it is for a new bar.
#[derive(Debug, Deserialize, ToSchema)]
pub(crate) struct UpdateBar {
    /// The most traces to retain, from 10; 100 unless said.
    #[serde(default)]
    sampling_max_count: Option<u64>,
    /// The age in seconds at which traces are dropped, from 60; a week unless said, null for never.
    #[serde(default, deserialize_with = "given")]
    sampling_max_age_seconds: Option<Option<u64>>,
    #[serde(default)]
    sampling_technique: Sampling,
    #[serde(default)]
    default_step_config: Techniques,
}

/// Tells null from nothing.
fn given<'de, D: serde::Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Option<u64>>, D::Error> {
    Option::deserialize(deserializer).map(Some)
}

fn settings(count: Option<u64>, age: Option<Option<u64>>, technique: Sampling) -> BarSettings {
    let default = BarSettings::default();
    BarSettings {
        sampling_max_count: count.unwrap_or(default.sampling_max_count),
        sampling_max_age_seconds: age.unwrap_or(default.sampling_max_age_seconds),
        sampling_technique: technique,
    }
}

/// A progress bar.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ProgressBar {
    user_sub: String,
    uid: String,
    name: String,
    sampling_max_count: u64,
    sampling_max_age_seconds: Option<u64>,
    sampling_technique: Sampling,
    /// How often its steps have changed.
    version: u64,
    /// In unix seconds.
    created_at: f64,
    /// The step that says how the overall time is estimated, and that others are made after.
    default_step_config: Step,
}

impl ProgressBar {
    fn new(bar: Bar, default_step: Step) -> ProgressBar {
        ProgressBar {
            user_sub: bar.user_sub,
            uid: bar.uid,
            name: bar.name,
            sampling_max_count: bar.settings.sampling_max_count,
            sampling_max_age_seconds: bar.settings.sampling_max_age_seconds,
            sampling_technique: bar.settings.sampling_technique,
            version: bar.version,
            created_at: bar.created_at,
            default_step_config: default_step,
        }
    }
}

/// Creates a progress bar. Bars also come into being by their first completed trace.
#[utoipa::path(post, path = "/progress_bars/", tag = "progress bars", operation_id = "createProgressBar",
    request_body = CreateBar, responses((status = CREATED, body = ProgressBar)))]
pub(crate) async fn create(
    State(app): State<Arc<App>>,
    Editor(sub): Editor,
    Body(body): Body<CreateBar>,
) -> Result<(StatusCode, Json<ProgressBar>), Problem> {
    let settings =
        settings(body.sampling_max_count, body.sampling_max_age_seconds, body.sampling_technique);
    let config = body.default_step_config.into();
    let bar = app.services.progress.create_bar(&sub, &body.name, settings, config).await?;
    let steps = app.services.progress.list_steps(&sub, Some(&body.name)).await?;
    let default = steps.into_iter().find(|step| step.name == DEFAULT_STEP);
    // Somebody may have deleted the bar already; to have created it is true all the same.
    let default = default.unwrap_or_else(|| Step {
        uid: String::new(),
        user_sub: bar.user_sub.clone(),
        progress_bar_name: bar.name.clone(),
        name: DEFAULT_STEP.to_owned(),
        position: 0,
        iterated: false,
        config,
        created_at: bar.created_at,
    });
    Ok((StatusCode::CREATED, Json(ProgressBar::new(bar, default))))
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct Name {
    /// The bar.
    name: String,
}

/// What a bar is now.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct UpdatedBar {
    sampling_max_count: u64,
    sampling_max_age_seconds: Option<u64>,
    sampling_technique: Sampling,
    default_step_config: Techniques,
}

/// Changes what a bar retains and how its overall time is estimated.
#[utoipa::path(put, path = "/progress_bars/", tag = "progress bars", operation_id = "updateProgressBar", params(Name),
    request_body = UpdateBar, responses((status = OK, body = UpdatedBar)))]
pub(crate) async fn update(
    State(app): State<Arc<App>>,
    Editor(sub): Editor,
    Query(Name { name }): Query<Name>,
    Body(body): Body<UpdateBar>,
) -> Result<Json<UpdatedBar>, Problem> {
    let settings =
        settings(body.sampling_max_count, body.sampling_max_age_seconds, body.sampling_technique);
    let config = body.default_step_config.into();
    let updated = app.services.progress.update_bar(&sub, &name, settings, config).await;
    let bar = updated.map_err(super::of_bar)?;
    Ok(Json(UpdatedBar {
        sampling_max_count: bar.settings.sampling_max_count,
        sampling_max_age_seconds: bar.settings.sampling_max_age_seconds,
        sampling_technique: bar.settings.sampling_technique,
        default_step_config: bar.default_step_config.into(),
    }))
}

/// Deletes a bar with its steps and what it retains.
#[utoipa::path(delete, path = "/progress_bars/", tag = "progress bars", operation_id = "deleteProgressBar", params(Name),
    responses((status = NO_CONTENT)))]
pub(crate) async fn delete(
    State(app): State<Arc<App>>,
    Editor(sub): Editor,
    Query(Name { name }): Query<Name>,
) -> Result<StatusCode, Problem> {
    app.services.progress.delete_bar(&sub, &name).await.map_err(super::of_bar)?;
    Ok(StatusCode::NO_CONTENT)
}

const BARS: Listing<ProgressBar> = Listing {
    columns: &[
        Column::text("uid", |bar: &ProgressBar| Value::Text(&bar.uid)).sorts(),
        Column::text("name", |bar: &ProgressBar| Value::Text(&bar.name)).sorts(),
        Column::number("created_at", |bar: &ProgressBar| Value::Number(bar.created_at)).sorts(),
        Column::integer("sampling_max_count", |bar: &ProgressBar| {
            Value::Number(bar.sampling_max_count as f64)
        })
        .sorts(),
        Column::integer("sampling_max_age_seconds", |bar: &ProgressBar| {
            Value::or_null(bar.sampling_max_age_seconds.map(|age| age as f64))
        })
        .or_null(),
        Column::text("sampling_technique", |bar: &ProgressBar| {
            Value::Text(bar.sampling_technique.as_str())
        }),
        Column::integer("version", |bar: &ProgressBar| Value::Number(bar.version as f64)),
    ],
    limit_max: 100,
};

/// Searches the caller's bars.
#[utoipa::path(post, path = "/progress_bars/search", tag = "progress bars", operation_id = "searchProgressBars",
    request_body = Search, responses((status = OK, body = Page<ProgressBar>)))]
pub(crate) async fn search(
    State(app): State<Arc<App>>,
    Viewer(sub): Viewer,
    Body(search): Body<Search>,
) -> Result<Json<Page<ProgressBar>>, Problem> {
    let bars = app.services.progress.list_bars(&sub).await?;
    let steps = app.services.progress.list_steps(&sub, None).await?;
    let defaults = steps.into_iter().filter(|step| step.position == 0);
    let mut defaults: HashMap<String, Step> =
        defaults.map(|step| (step.progress_bar_name.clone(), step)).collect();
    // A bar that was deleted in between has no step any more.
    let bars = bars.into_iter().filter_map(|bar| {
        let default = defaults.remove(&bar.name)?;
        Some(ProgressBar::new(bar, default))
    });
    BARS.page(search, bars.collect(), |bar| bar).map(Json)
}
