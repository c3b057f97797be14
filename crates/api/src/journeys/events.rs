//! What people do on a journey: one route for each kind of event.

use std::sync::Arc;

use crate::routes::Routes;
use axum::{Json, extract::State, http::StatusCode};
use keyrack_journeys::{
    NewEvent, UserAction,
    keys::{JourneyUid, SessionUid},
};
use keyrack_keys::UserSub;
use keyrack_web::access::Permission;
use keyrack_web::{App, Problem, error::bad_name, extract::Body};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use utoipa_axum::routes;

use super::check_ticket;
use crate::auth::Viewer;

pub(super) fn router() -> Routes {
    Routes::default()
        .add(Permission::own_change(), routes!(join))
        .add(Permission::own_change(), routes!(leave))
        .add(Permission::own_change(), routes!(like))
        .add(Permission::own_change(), routes!(respond_numeric_prompt))
        .add(Permission::own_change(), routes!(start_press))
        .add(Permission::own_change(), routes!(end_press))
        .add(Permission::own_change(), routes!(respond_color_prompt))
        .add(Permission::own_change(), routes!(respond_word_prompt))
}

/// What happened, where and when.
#[derive(Deserialize, ToSchema)]
struct Request<T> {
    /// The journey.
    journey_uid: String,
    /// The ticket for it.
    journey_jwt: String,
    /// The session, which is the caller's.
    session_uid: String,
    /// When on the journey, in seconds.
    journey_time: f64,
    /// More about it.
    data: T,
}

/// Nothing more to be said.
#[derive(Debug, Default, Serialize, Deserialize, ToSchema)]
struct Nothing {}

/// An answer by number.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
struct Rating {
    /// The number.
    rating: i64,
}

/// An answer by index.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
struct Choice {
    /// The index of what was chosen, from 0.
    index: u32,
}

/// An event as it was stored.
#[derive(Debug, Serialize, ToSchema)]
struct Stored<T> {
    /// The event.
    uid: String,
    /// Who did it.
    user_sub: String,
    /// In which session.
    session_uid: String,
    /// What was done.
    #[serde(rename = "type")]
    kind: String,
    /// When on the journey, in seconds.
    journey_time: f64,
    /// More about it.
    data: T,
}

type Done<T> = Result<(StatusCode, Json<Stored<T>>), Problem>;

async fn store<T>(
    app: &App,
    user: &UserSub,
    request: Request<T>,
    act: impl FnOnce(&T) -> UserAction,
) -> Done<T> {
    let journey = JourneyUid::new(request.journey_uid);
    let journey = journey.map_err(|error| bad_name(&error).field("journey_uid"))?;
    let session = SessionUid::new(request.session_uid);
    let session = session.map_err(|error| bad_name(&error).field("session_uid"))?;
    check_ticket(app, &request.journey_jwt, &journey)?;
    let event = app.services.journeys.event(NewEvent {
        journey: &journey,
        session: &session,
        user,
        act: act(&request.data),
        journey_time: request.journey_time,
    });
    let event = event.await?;
    let stored = Stored {
        uid: event.uid,
        user_sub: event.user_sub,
        session_uid: event.session_uid,
        kind: event.evtype,
        journey_time: event.journey_time,
        data: request.data,
    };
    Ok((StatusCode::CREATED, Json(stored)))
}

/// Comes along. This has to be the first event of a session.
#[utoipa::path(post, path = "/journeys/events/join", tag = "journeys", operation_id = "joinJourney",
    request_body = Request<Nothing>, responses((status = CREATED, body = Stored<Nothing>)))]
async fn join(
    State(app): State<Arc<App>>,
    Viewer(user): Viewer,
    Body(request): Body<Request<Nothing>>,
) -> Done<Nothing> {
    store(&app, &user, request, |_| UserAction::Join).await
}

/// Goes. Nothing follows in that session.
#[utoipa::path(post, path = "/journeys/events/leave", tag = "journeys", operation_id = "leaveJourney",
    request_body = Request<Nothing>, responses((status = CREATED, body = Stored<Nothing>)))]
async fn leave(
    State(app): State<Arc<App>>,
    Viewer(user): Viewer,
    Body(request): Body<Request<Nothing>>,
) -> Done<Nothing> {
    store(&app, &user, request, |_| UserAction::Leave).await
}

/// Likes what is seen.
#[utoipa::path(post, path = "/journeys/events/like", tag = "journeys", operation_id = "likeJourney",
    request_body = Request<Nothing>, responses((status = CREATED, body = Stored<Nothing>)))]
async fn like(
    State(app): State<Arc<App>>,
    Viewer(user): Viewer,
    Body(request): Body<Request<Nothing>>,
) -> Done<Nothing> {
    store(&app, &user, request, |_| UserAction::Like).await
}

/// Answers a question with a number.
#[utoipa::path(post, path = "/journeys/events/respond_numeric_prompt", tag = "journeys", operation_id = "respondNumericPrompt",
    request_body = Request<Rating>, responses((status = CREATED, body = Stored<Rating>)))]
async fn respond_numeric_prompt(
    State(app): State<Arc<App>>,
    Viewer(user): Viewer,
    Body(request): Body<Request<Rating>>,
) -> Done<Rating> {
    store(&app, &user, request, |data| UserAction::Rate(data.rating)).await
}

/// Begins to press.
#[utoipa::path(post, path = "/journeys/events/respond_press_prompt/start", tag = "journeys", operation_id = "startPress",
    request_body = Request<Nothing>, responses((status = CREATED, body = Stored<Nothing>)))]
async fn start_press(
    State(app): State<Arc<App>>,
    Viewer(user): Viewer,
    Body(request): Body<Request<Nothing>>,
) -> Done<Nothing> {
    store(&app, &user, request, |_| UserAction::PressStart).await
}

/// Lets go.
#[utoipa::path(post, path = "/journeys/events/respond_press_prompt/end", tag = "journeys", operation_id = "endPress",
    request_body = Request<Nothing>, responses((status = CREATED, body = Stored<Nothing>)))]
async fn end_press(
    State(app): State<Arc<App>>,
    Viewer(user): Viewer,
    Body(request): Body<Request<Nothing>>,
) -> Done<Nothing> {
    store(&app, &user, request, |_| UserAction::PressEnd).await
}

/// Answers a question with a colour.
#[utoipa::path(post, path = "/journeys/events/respond_color_prompt", tag = "journeys", operation_id = "respondColorPrompt",
    request_body = Request<Choice>, responses((status = CREATED, body = Stored<Choice>)))]
async fn respond_color_prompt(
    State(app): State<Arc<App>>,
    Viewer(user): Viewer,
    Body(request): Body<Request<Choice>>,
) -> Done<Choice> {
    store(&app, &user, request, |data| UserAction::Color(data.index)).await
}

/// Answers a question with a word.
#[utoipa::path(post, path = "/journeys/events/respond_word_prompt", tag = "journeys", operation_id = "respondWordPrompt",
    request_body = Request<Choice>, responses((status = CREATED, body = Stored<Choice>)))]
async fn respond_word_prompt(
    State(app): State<Arc<App>>,
    Viewer(user): Viewer,
    Body(request): Body<Request<Choice>>,
) -> Done<Choice> {
    store(&app, &user, request, |data| UserAction::Word(data.index)).await
}
