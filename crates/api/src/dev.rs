//! What only a server of development answers: signing in as anybody, and a WebSocket that repeats what it hears.
//!
//! The published front ends sign in so while they are worked on. These routes are not in the description: where users are real there are none of them.

use std::{sync::Arc, time::Duration};

use axum::{
    Json,
    extract::{State, ws::close_code},
    http::{HeaderMap, StatusCode},
    middleware,
    response::Response,
};
use keyrack_keys::UserSub;
use keyrack_web::{
    App, Problem,
    access::{self, Permission, Routes},
    error::bad_name,
    extract::Query,
};
use serde::{Deserialize, Serialize};
use tokio::{sync::OwnedSemaphorePermit, time::timeout};

use super::{websocket, websocket::Socket, websocket::SocketFlow};

/// What stands before every text that comes back.
const PREFIX: &str = "Message text was: ";
/// How long a client may say nothing.
const IDLE_MAX: Duration = Duration::from_secs(60);

/// The routes of development. A page of another site must not sign in as anybody, so they are guarded.
pub(super) fn router() -> Routes<Arc<App>> {
    Routes::default()
        .post("/api/1/test/dev_login", Permission::own_change(), login)
        .get("/api/2/test/ws", Permission::own_read(), socket)
        .map(|router| router.layer(middleware::from_fn(access::guard)))
}

#[derive(Debug, Deserialize)]
struct Who {
    sub: String,
}

/// Whoever this names has signed in.
#[derive(Debug, Serialize)]
struct SignedIn {
    /// The token.
    id: String,
}

async fn login(
    State(app): State<Arc<App>>,
    who: Result<Query<Who>, Problem>,
) -> Result<Json<SignedIn>, Problem> {
    check(&app)?;
    let Query(Who { sub }) = who?;
    let sub = UserSub::new(sub).map_err(|error| bad_name(&error).field("sub"))?;
    let id = app.services.identity.dev_login(&sub)?.ok_or_else(refused)?;
    Ok(Json(SignedIn { id }))
}

async fn socket(
    State(app): State<Arc<App>>,
    headers: HeaderMap,
    request: websocket::Request,
) -> Result<Response, Problem> {
    check(&app)?;
    websocket::begin(&app.clone(), &headers, request, |line, place| echo(line, app, place))
}

/// Repeats what the client says until one of the two has had enough.
async fn echo(mut line: Socket, app: Arc<App>, _place: OwnedSemaphorePermit) -> SocketFlow<()> {
    loop {
        let said = tokio::select! {
            said = timeout(IDLE_MAX, line.said()) => said,
            () = app.stopped() => return line.close(close_code::AWAY, "the server stops").await,
        };
        match said {
            Ok(said) => line.send(format!("{PREFIX}{}", said?).into()).await?,
            Err(_) => return line.close(close_code::POLICY, "nothing was said").await,
        }
    }
}

fn check(app: &App) -> Result<(), Problem> {
    if app.services.identity.is_in_development() { Ok(()) } else { Err(refused()) }
}

fn refused() -> Problem {
    Problem::new(StatusCode::FORBIDDEN, "not_in_development")
        .title("only servers of development do this")
        .detail("those are started with \"auth-dev-secret\"")
}
