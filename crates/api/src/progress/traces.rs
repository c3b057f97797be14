//! Traces: reporting them, and what was retained of them.

use std::sync::Arc;

use axum::{Json, extract::State, http::StatusCode};
use keyrack_progress::{FailedTrace, NewTrace, RetainedStep, RetainedTrace, TraceFailure, Update};
use keyrack_web::{
    App, Problem,
    extract::{Body, Query},
};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::{
    auth::{Editor, Viewer},
    listing::{Column, Listing, Page, Search, Value},
};

/// Begins a trace.
#[utoipa::path(post, path = "/progress_bars/traces/", tag = "traces", operation_id = "createTrace",
    request_body = NewTrace, responses((status = NO_CONTENT)))]
pub(crate) async fn create(
    State(app): State<Arc<App>>,
    Editor(sub): Editor,
    Body(body): Body<NewTrace>,
) -> Result<StatusCode, Problem> {
    app.services.progress.create_trace(&sub, &body).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Tells how a trace goes on. A step with another name than the current one begins here.
#[utoipa::path(post, path = "/progress_bars/traces/steps/", tag = "traces", operation_id = "updateTrace",
    request_body = Update, responses((status = NO_CONTENT)))]
pub(crate) async fn update(
    State(app): State<Arc<App>>,
    Editor(sub): Editor,
    Body(body): Body<Update>,
) -> Result<StatusCode, Problem> {
    app.services.progress.update_trace(&sub, &body).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Ends a trace whose run has failed: everybody who watches it is told, and nothing is learned from it.
#[utoipa::path(post, path = "/progress_bars/traces/failures/", tag = "traces", operation_id = "failTrace",
    request_body = FailedTrace, responses((status = NO_CONTENT)))]
pub(crate) async fn fail(
    State(app): State<Arc<App>>,
    Editor(sub): Editor,
    Body(body): Body<FailedTrace>,
) -> Result<StatusCode, Problem> {
    let FailedTrace { pbar_name, trace_uid, exit_code, signal, now } = body;
    let failure = TraceFailure { at: now, exit_code, signal };
    app.services.progress.fail_trace(&sub, &pbar_name, &trace_uid, failure).await?;
    Ok(StatusCode::NO_CONTENT)
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct TraceQuery {
    /// The bar.
    pbar_name: String,
    /// The retained trace.
    trace_uid: String,
}

/// Deletes a retained trace, so that it is no sample any more.
#[utoipa::path(delete, path = "/progress_bars/traces/", tag = "traces", operation_id = "deleteTrace", params(TraceQuery),
    responses((status = NO_CONTENT)))]
pub(crate) async fn delete(
    State(app): State<Arc<App>>,
    Editor(sub): Editor,
    Query(query): Query<TraceQuery>,
) -> Result<StatusCode, Problem> {
    app.services.progress.delete_trace(&sub, &query.pbar_name, &query.trace_uid).await?;
    Ok(StatusCode::NO_CONTENT)
}

const TRACES: Listing<RetainedTrace> = Listing {
    columns: &[
        Column::text("uid", |trace: &RetainedTrace| Value::Text(&trace.uid)).sorts(),
        Column::text("progress_bar_name", |trace: &RetainedTrace| {
            Value::Text(&trace.progress_bar_name)
        })
        .sorts(),
        Column::number("created_at", |trace: &RetainedTrace| Value::Number(trace.created_at))
            .sorts(),
    ],
    limit_max: 100,
};

/// Searches the traces that the caller's bars retain.
#[utoipa::path(post, path = "/progress_bars/traces/search", tag = "traces", operation_id = "searchTraces",
    request_body = Search, responses((status = OK, body = Page<RetainedTrace>)))]
pub(crate) async fn search(
    State(app): State<Arc<App>>,
    Viewer(sub): Viewer,
    Body(search): Body<Search>,
) -> Result<Json<Page<RetainedTrace>>, Problem> {
    let traces =
        app.services.progress.list_traces(&sub, search.exactly("progress_bar_name")).await?;
    TRACES.page(search, traces, |trace| trace).map(Json)
}

/// A step of a retained trace.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct TraceStep {
    user_sub: String,
    progress_bar_name: String,
    progress_bar_step_name: String,
    progress_bar_step_position: u64,
    progress_bar_trace_uid: String,
    uid: String,
    /// Null for a one-off step.
    iterations: Option<u64>,
    /// In unix seconds.
    started_at: f64,
    /// In unix seconds.
    finished_at: f64,
    /// In seconds.
    duration: f64,
    /// In seconds; per iteration if there were any.
    normalized_duration: f64,
}

impl From<RetainedStep> for TraceStep {
    fn from(step: RetainedStep) -> TraceStep {
        TraceStep {
            duration: step.duration(),
            normalized_duration: step.normalized_duration(),
            user_sub: step.user_sub,
            progress_bar_name: step.progress_bar_name,
            progress_bar_step_name: step.progress_bar_step_name,
            progress_bar_step_position: step.progress_bar_step_position,
            progress_bar_trace_uid: step.progress_bar_trace_uid,
            uid: step.uid,
            iterations: step.iterations,
            started_at: step.started_at,
            finished_at: step.finished_at,
        }
    }
}

const TRACE_STEPS: Listing<TraceStep> = Listing {
    columns: &[
        Column::text("uid", |step: &TraceStep| Value::Text(&step.uid)).sorts(),
        Column::text("progress_bar_name", |step: &TraceStep| Value::Text(&step.progress_bar_name))
            .sorts(),
        Column::text("progress_bar_step_name", |step: &TraceStep| {
            Value::Text(&step.progress_bar_step_name)
        })
        .sorts(),
        Column::integer("progress_bar_step_position", |step: &TraceStep| {
            Value::Number(step.progress_bar_step_position as f64)
        })
        .sorts(),
        Column::text("progress_bar_trace_uid", |step: &TraceStep| {
            Value::Text(&step.progress_bar_trace_uid)
        }),
        Column::integer("iterations", |step: &TraceStep| {
            Value::or_null(step.iterations.map(|iterations| iterations as f64))
        })
        .or_null(),
        Column::number("started_at", |step: &TraceStep| Value::Number(step.started_at)).sorts(),
        Column::number("finished_at", |step: &TraceStep| Value::Number(step.finished_at)).sorts(),
        Column::number("duration", |step: &TraceStep| Value::Number(step.duration)).sorts(),
        Column::number("normalized_duration", |step: &TraceStep| {
            Value::Number(step.normalized_duration)
        })
        .sorts(),
    ],
    limit_max: 100,
};

/// Searches the steps of the traces that the caller's bars retain.
#[utoipa::path(post, path = "/progress_bars/traces/steps/search", tag = "traces", operation_id = "searchTraceSteps",
    request_body = Search, responses((status = OK, body = Page<TraceStep>)))]
pub(crate) async fn search_steps(
    State(app): State<Arc<App>>,
    Viewer(sub): Viewer,
    Body(search): Body<Search>,
) -> Result<Json<Page<TraceStep>>, Problem> {
    let steps =
        app.services.progress.list_trace_steps(&sub, search.exactly("progress_bar_name")).await?;
    let steps = steps.into_iter().map(TraceStep::from).collect();
    TRACE_STEPS.page(search, steps, |step| step).map(Json)
}
