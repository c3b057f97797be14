//! Journeys: what they ask, who is on them, and what happens there.
//!
//! In reading order: this module has journeys, tickets and sessions; `events` is what people do; `stats` what came of it; `socket` and
//! `stream` bring it to those who watch, over a WebSocket and as server-sent events.

mod events;
mod socket;
mod stats;
mod stream;

use std::sync::Arc;

use crate::routes::Routes;
use axum::{
    Json,
    extract::{FromRequestParts, State},
    http::{StatusCode, request::Parts},
};
use keyrack_identity::Change;
use keyrack_journeys::{Journey, Prompt, TICKET_TIME, Tickets, keys::JourneyUid};
use keyrack_web::access::Permission;
use keyrack_web::{
    App, Problem,
    access::{self, Address},
    error::{bad_name, invalid},
    extract::{Body, Query, segment},
};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::routes;

use super::{auth::Admin, auth::Viewer};

pub(super) use self::socket::socket;

/// The most journeys that are listed at once.
const PAGE_MAX: usize = 100;

/// The routes under `/api/1`.
pub(super) fn router() -> Routes {
    Routes::default()
        .add(Permission::own_read(), routes!(list))
        .add(Permission::own_change(), routes!(create))
        .add(Permission::own_read(), routes!(show))
        .add(Permission::own_change(), routes!(delete))
        .add(Permission::own_read(), routes!(issue_ticket))
        .add(Permission::own_change(), routes!(start_session))
        .add(Permission::own_read(), routes!(stats::stats))
        .add(Permission::own_read(), routes!(stream::live))
        .merge(events::router())
}

/// The journey in the path of a request.
struct Uid(JourneyUid);

impl FromRequestParts<Arc<App>> for Uid {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &Arc<App>) -> Result<Uid, Problem> {
        let uid = segment(parts, app).await?;
        JourneyUid::new(uid).map(Uid).map_err(|error| bad_name(&error).field("uid"))
    }
}

/// What a journey is to be.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct NewJourney {
    /// What it asks.
    prompt: Prompt,
    /// How long it lasts, in seconds.
    duration_seconds: f64,
}

/// Creates a journey.
#[utoipa::path(post, path = "/journeys", tag = "journeys", operation_id = "createJourney", request_body = NewJourney,
    responses((status = CREATED, body = Journey)))]
async fn create(
    State(app): State<Arc<App>>,
    Admin(admin): Admin,
    Address(from): Address,
    Body(new): Body<NewJourney>,
) -> Result<(StatusCode, Json<Journey>), Problem> {
    let journey = app.services.journeys.create(new.prompt, new.duration_seconds).await?;
    let change = Change::new(admin.as_str(), "journey_created").to(&journey.uid);
    access::record(&app, &change.from(from.as_deref())).await;
    Ok((StatusCode::CREATED, Json(journey)))
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct Page {
    /// How many to leave out; none unless said.
    #[serde(default)]
    offset: usize,
    /// How many to list, up to 100.
    limit: Option<usize>,
}

/// Some journeys, the newest first.
#[derive(Debug, Serialize, ToSchema)]
struct JourneyList {
    journeys: Vec<Journey>,
}

/// Lists journeys, the newest first.
#[utoipa::path(get, path = "/journeys", tag = "journeys", operation_id = "listJourneys", params(Page),
    responses((status = OK, body = JourneyList)))]
async fn list(
    State(app): State<Arc<App>>,
    _: Viewer,
    Query(page): Query<Page>,
) -> Result<Json<JourneyList>, Problem> {
    let limit = page.limit.unwrap_or(PAGE_MAX);
    if limit > PAGE_MAX {
        return Err(invalid("limit", format!("{limit}; give at most {PAGE_MAX}")));
    }
    Ok(Json(JourneyList { journeys: app.services.journeys.list(page.offset, limit).await? }))
}

/// Shows a journey.
#[utoipa::path(get, path = "/journeys/{uid}", tag = "journeys", operation_id = "showJourney",
    params(("uid" = String, Path, description = "The journey")), responses((status = OK, body = Journey)))]
async fn show(
    State(app): State<Arc<App>>,
    _: Viewer,
    Uid(uid): Uid,
) -> Result<Json<Journey>, Problem> {
    Ok(Json(app.services.journeys.journey(&uid).await?))
}

/// Deletes a journey and its events.
#[utoipa::path(delete, path = "/journeys/{uid}", tag = "journeys", operation_id = "deleteJourney",
    params(("uid" = String, Path, description = "The journey")), responses((status = NO_CONTENT)))]
async fn delete(
    State(app): State<Arc<App>>,
    Admin(admin): Admin,
    Address(from): Address,
    Uid(uid): Uid,
) -> Result<StatusCode, Problem> {
    app.services.journeys.delete(&uid).await?;
    let change = Change::new(admin.as_str(), "journey_deleted").to(uid.as_str());
    access::record(&app, &change.from(from.as_deref())).await;
    Ok(StatusCode::NO_CONTENT)
}

/// A ticket.
#[derive(Serialize, ToSchema)]
struct Ticket {
    /// What to send as `journey_jwt`.
    journey_jwt: String,
    /// How long it is good for, in seconds.
    expires_in_seconds: u64,
}

/// Gives the caller a ticket for a journey.
#[utoipa::path(post, path = "/journeys/{uid}/tickets", tag = "journeys", operation_id = "issueJourneyTicket",
    params(("uid" = String, Path, description = "The journey")), responses((status = CREATED, body = Ticket)))]
async fn issue_ticket(
    State(app): State<Arc<App>>,
    _: Viewer,
    Uid(uid): Uid,
) -> Result<(StatusCode, Json<Ticket>), Problem> {
    let tickets = tickets(&app)?;
    app.services.journeys.journey(&uid).await?;
    let journey_jwt = tickets.issue(&uid, app.services.journeys.now());
    let ticket = Ticket { journey_jwt, expires_in_seconds: TICKET_TIME.as_secs() };
    Ok((StatusCode::CREATED, Json(ticket)))
}

/// Proof that the caller may take part.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct Entry {
    /// The ticket.
    journey_jwt: String,
}

/// A session that has just been started.
#[derive(Debug, Serialize, ToSchema)]
struct Session {
    /// Its uid.
    session_uid: String,
}

/// Starts a session of the caller on a journey. Its first event has to be `join`.
#[utoipa::path(post, path = "/journeys/{uid}/sessions", tag = "journeys", operation_id = "startJourneySession",
    params(("uid" = String, Path, description = "The journey")), request_body = Entry,
    responses((status = CREATED, body = Session)))]
async fn start_session(
    State(app): State<Arc<App>>,
    Viewer(user): Viewer,
    Uid(uid): Uid,
    Body(entry): Body<Entry>,
) -> Result<(StatusCode, Json<Session>), Problem> {
    check_ticket(&app, &entry.journey_jwt, &uid)?;
    let session = app.services.journeys.start_session(&uid, &user).await?;
    Ok((StatusCode::CREATED, Json(Session { session_uid: session.to_string() })))
}

fn check_ticket(app: &App, ticket: &str, uid: &JourneyUid) -> Result<(), Problem> {
    Ok(tickets(app)?.check(ticket, uid, app.services.journeys.now())?)
}

fn tickets(app: &App) -> Result<&Tickets, Problem> {
    app.services.tickets.as_ref().ok_or_else(|| {
        Problem::new(StatusCode::SERVICE_UNAVAILABLE, "not_configured")
            .title("nobody can take part in journeys here")
            .detail("the server has to be started with \"journey-secret\"")
    })
}
