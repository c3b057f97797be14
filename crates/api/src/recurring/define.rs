//! Recurring jobs that are defined at run time.

use std::sync::Arc;

use axum::{Extension, Json, extract::State, http::StatusCode};
use keyrack_jobs::recurring::{Definition, Draft};
use keyrack_web::{
    App, Problem,
    access::Subject,
    error::invalid,
    extract::{Body, Query},
};
use serde::Deserialize;
use utoipa::IntoParams;

use super::{Name, RecurringJob, listed};

/// Creates a recurring job in the store. All servers of the store run it from now on, each run once.
#[utoipa::path(post, path = "/recurring", tag = "recurring", operation_id = "createRecurring",
    request_body = Draft, responses((status = CREATED, body = RecurringJob)))]
pub(super) async fn create(
    State(app): State<Arc<App>>,
    Body(draft): Body<Draft>,
) -> Result<(StatusCode, Extension<Subject>, Json<RecurringJob>), Problem> {
    let name = draft.name.clone();
    app.services.recurring().await?.create(Definition::try_from(draft)?).await?;
    let job = listed(&app, &name).await?;
    Ok((StatusCode::CREATED, Extension(Subject(name)), Json(job)))
}

/// Shows a recurring job with its definition and version.
#[utoipa::path(get, path = "/recurring/{name}", tag = "recurring", operation_id = "showRecurring", params(("name" = String, Path)),
    responses((status = OK, body = RecurringJob)))]
pub(super) async fn show(
    State(app): State<Arc<App>>,
    Name(name): Name,
) -> Result<Json<RecurringJob>, Problem> {
    Ok(Json(listed(&app, &name).await?))
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct BasedOn {
    /// The version that the change is based on. If the job has another one by now, nothing is changed.
    version: u64,
}

/// Replaces the definition of a recurring job of the store. It keeps its next run if its schedule stays the same.
#[utoipa::path(put, path = "/recurring/{name}", tag = "recurring", operation_id = "changeRecurring",
    params(("name" = String, Path), BasedOn), request_body = Draft, responses((status = OK, body = RecurringJob)))]
pub(super) async fn change(
    State(app): State<Arc<App>>,
    Name(name): Name,
    Query(base): Query<BasedOn>,
    Body(draft): Body<Draft>,
) -> Result<Json<RecurringJob>, Problem> {
    if draft.name != name {
        let reason = format!("\"{}\" is not \"{name}\"; a name cannot be changed", draft.name);
        return Err(invalid("name", reason));
    }
    let definition = Definition::try_from(draft)?;
    app.services.recurring().await?.change(definition, Some(base.version)).await?;
    Ok(Json(listed(&app, &name).await?))
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct MayBeBasedOn {
    /// The version that is to be deleted. If the job has another one by now, it stays; without a version, any is deleted.
    version: Option<u64>,
}

/// Deletes a recurring job of the store. What is queued stays.
#[utoipa::path(delete, path = "/recurring/{name}", tag = "recurring", operation_id = "deleteRecurring",
    params(("name" = String, Path), MayBeBasedOn), responses((status = NO_CONTENT)))]
pub(super) async fn delete(
    State(app): State<Arc<App>>,
    Name(name): Name,
    Query(base): Query<MayBeBasedOn>,
) -> Result<StatusCode, Problem> {
    app.services.recurring().await?.delete(&name, base.version).await?;
    Ok(StatusCode::NO_CONTENT)
}
