//! The example job: something to watch for visitors who have nothing of their own yet.

use std::sync::Arc;

use axum::{Json, extract::State};
use keyrack_jobs::hot::Producer;
use keyrack_keys::UserSub;
use keyrack_progress::{HANDLE_EXAMPLE_JOB, NewTrace};
use keyrack_web::{
    App, Problem,
    error::invalid,
    extract::{Body, Query},
};
use serde::{Deserialize, Serialize};
use serde_json::json;
use utoipa::{IntoParams, ToSchema};
use uuid::Uuid;

/// Whose bars the examples are.
const EXAMPLE_USER: &str = "example";

/// What example to run.
#[derive(Debug, Deserialize, ToSchema)]
pub(crate) struct StartExample {
    /// About how many seconds it takes, 1 to 10.
    duration: u64,
    /// By how many seconds that varies, 1 to 3.
    stdev: u64,
}

/// What was started, and how to watch it.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct StartedExample {
    /// The trace.
    uid: String,
    /// Whose it is.
    sub: String,
    /// Its bar.
    pbar_name: String,
}

/// Starts an example job, which takes its time to find a number.
#[utoipa::path(post, path = "/examples/job", tag = "examples", operation_id = "startExample",
    request_body = StartExample, responses((status = OK, body = StartedExample)))]
pub(crate) async fn start(
    State(app): State<Arc<App>>,
    Body(StartExample { duration, stdev }): Body<StartExample>,
) -> Result<Json<StartedExample>, Problem> {
    if !(1..=10).contains(&duration) {
        return Err(invalid("duration", format!("{duration}; give 1 to 10 seconds")));
    }
    if !(1..=3).contains(&stdev) {
        return Err(invalid("stdev", format!("{stdev}; give 1 to 3 seconds")));
    }
    let sub = UserSub::new(EXAMPLE_USER).expect("a word is a subject");
    // The pages list users, and this is one.
    app.services.identity.ensure_user(EXAMPLE_USER, &sub).await?;
    let uid = format!("ep_t_{}", Uuid::new_v4().simple());
    let pbar_name = format!("example_{stdev}");
    let trace = NewTrace {
        pbar_name: pbar_name.clone(),
        uid: uid.clone(),
        step_name: "queuing".into(),
        iterations: None,
        now: app.services.progress.now(),
        reports_every: None,
    };
    app.services.progress.create_trace(&sub, &trace).await?;
    let kwargs = json!({
        "sub": EXAMPLE_USER, "pbar_name": pbar_name, "uid": uid, "duration": duration, "stdev": stdev,
    });
    Producer::new(app.services.store.clone()).push(HANDLE_EXAMPLE_JOB, &kwargs).await?;
    Ok(Json(StartedExample { uid, sub: EXAMPLE_USER.into(), pbar_name }))
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct ExampleQuery {
    /// The trace, as it was given when the example was started.
    uid: String,
}

/// How an example stands.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ExampleResult {
    /// What it found; null before, and ten minutes after.
    data: Option<ExampleData>,
    /// `complete` or `incomplete`.
    status: &'static str,
}

/// What an example found.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ExampleData {
    number: u64,
}

/// What an example job found.
#[utoipa::path(get, path = "/examples/job", tag = "examples", operation_id = "exampleResult", params(ExampleQuery),
    responses((status = OK, body = ExampleResult)))]
pub(crate) async fn result(
    State(app): State<Arc<App>>,
    Query(ExampleQuery { uid }): Query<ExampleQuery>,
) -> Result<Json<ExampleResult>, Problem> {
    let number = app.services.progress.example(&uid).await?;
    let status = if number.is_some() { "complete" } else { "incomplete" };
    Ok(Json(ExampleResult { data: number.map(|number| ExampleData { number }), status }))
}
