//! Who comes in, and what they may do: the one door before the dashboard, the routes about what is everybody's, and the metrics.
//!
//! [`enter`] stands before them. It keeps pages of other sites out (`guard`), finds out who is calling ([`Caller`]), asks
//! what the route needs ([`Permission`]), and puts down what was changed (`record`). [`keep`] stands before everything, and lets
//! nothing be changed where nothing may be. Routes about what is a user's own ask for a token themselves, in `api::auth`.

mod caller;
mod client;
mod guard;
mod permission;
mod record;

use std::{net::SocketAddr, sync::Arc, time::Duration};

use axum::{
    Extension,
    body::Body,
    extract::{ConnectInfo, MatchedPath, OriginalUri, Request},
    http::{HeaderMap, HeaderValue, Method, StatusCode, header, request::Parts},
    middleware::Next,
    response::{IntoResponse as _, Response},
};
use futures_util::StreamExt as _;
use keyrack_identity::{Error, Role};
use keyrack_keys::UserSub;

pub use self::client::Network;
use self::record::AuditEntry;
pub use self::{
    caller::Caller,
    permission::{Permission, Permissions, Routes},
    record::{Address, ClientAddress, Failure, Subject, record},
};
use crate::{App, Problem};

/// The cookie of a session. Cookies are shared by all ports of a host, so the name says whose it is.
pub const SESSION: &str = "keyrack_session";

/// How often is asked whether the reader of a stream is still known.
const CHECK_EVERY: Duration = Duration::from_secs(5);

/// Whom the server lets in.
#[derive(Debug, Clone, Default)]
pub struct Access {
    /// What somebody may do who shows no token.
    pub auth: Auth,
    /// Whether nobody may change anything.
    pub read_only: bool,
    /// The names under which browsers may reach the server, beside its addresses and `localhost`.
    pub hosts: Vec<String>,
    /// The other sites whose pages may open WebSockets, such as `https://app.example.com`.
    pub origins: Vec<String>,
    /// Whether anybody may watch a trace who knows its names. Unless said, only where nobody needs a token.
    pub public_traces: Option<bool>,
    /// Whether published routes of calculations take a project's token from the URL. Unless said, only where nobody needs a token.
    pub url_tokens: Option<bool>,
    /// The proxies that are believed when they say for whom they speak.
    pub trusted_proxies: Vec<Network>,
}

impl Access {
    /// Whether anybody may watch a trace who knows its names.
    pub fn has_public_traces(&self) -> bool {
        self.public_traces.unwrap_or(self.auth == Auth::Local)
    }

    /// Whether published routes of calculations take a project's token from the URL.
    pub fn takes_url_tokens(&self) -> bool {
        self.url_tokens.unwrap_or(self.auth == Auth::Local)
    }
}

/// What somebody may do who shows no token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Auth {
    /// Everything: only this machine can reach the port.
    #[default]
    Local,
    /// Nothing.
    Required,
}

/// Lets those in who may do what they ask for.
pub async fn enter(Extension(app): Extension<Arc<App>>, request: Request, next: Next) -> Response {
    let (mut parts, body) = request.into_parts();
    let caller = match admit(&app, &parts).await {
        Ok(caller) => caller,
        Err(refused) => return *refused,
    };
    let entry = AuditEntry::of(&parts, &caller);
    parts.extensions.insert(caller.clone());
    let response = next.run(Request::from_parts(parts, body)).await;
    if let Some(change) = entry.map(|entry| entry.done(&response)) {
        record(&app, &change).await;
    }
    while_known(response, app, caller)
}

/// Streams last longer than tokens: one ends when the token of its reader does.
fn while_known(response: Response, app: Arc<App>, caller: Caller) -> Response {
    let kind = response.headers().get(header::CONTENT_TYPE);
    let is_stream = kind.is_some_and(|kind| kind.as_bytes().starts_with(b"text/event-stream"));
    let Some(principal) = caller.principal().cloned().filter(|_| is_stream) else {
        return response;
    };
    let over = async move {
        loop {
            tokio::time::sleep(CHECK_EVERY).await;
            // While the store is away nobody is shut out for it.
            if !app.services.identity.is_still(&principal).await.unwrap_or(true) {
                return;
            }
        }
    };
    response.map(|body| Body::from_stream(body.into_data_stream().take_until(Box::pin(over))))
}

/// Finds out where a request comes from, and lets nothing be changed where nothing may be.
pub async fn keep(Extension(app): Extension<Arc<App>>, request: Request, next: Next) -> Response {
    let (mut parts, body) = request.into_parts();
    let peer = parts.extensions.get::<ConnectInfo<SocketAddr>>().map(|ConnectInfo(peer)| peer.ip());
    if let Some(peer) = peer {
        let address = client::address(peer, &parts.headers, &app.access.trusted_proxies);
        let is_own = address != peer.to_canonical() || !client::is_relayed(&parts.headers);
        parts.extensions.insert(ClientAddress { address, is_own });
    }
    if app.access.read_only && permission(&parts).is_some_and(|permission| permission.is_change) {
        return Problem::new(StatusCode::FORBIDDEN, "read_only")
            .title("nothing can be changed here")
            .detail("the server was started with \"read-only\"")
            .for_reader(&parts.headers);
    }
    next.run(Request::from_parts(parts, body)).await
}

/// Refuses WebSockets that pages of other sites open, unless they may. Programs send no `Origin`.
pub fn check_socket(app: &App, headers: &HeaderMap) -> Result<(), Problem> {
    let origin = headers.get(header::ORIGIN).map(|origin| origin.to_str().unwrap_or("?"));
    match origin {
        None => Ok(()),
        Some(origin) if app.access.origins.iter().any(|known| known == origin) => Ok(()),
        Some(_) => guard::guard(headers, &app.access.hosts, false),
    }
}

/// Refuses those who may not watch the traces of a user: without a token nobody may unless traces are public, with one for
/// the whole server anybody, and with any other only its own user. Whether there is such a user makes no difference.
pub async fn check_watcher(
    app: &App,
    headers: &HeaderMap,
    token: Option<&str>,
    sub: &UserSub,
) -> Result<(), Problem> {
    if app.access.has_public_traces() {
        return Ok(());
    }
    let caller = match token {
        Some(token) => by_token(app, token).await?,
        None => who(app, headers).await?,
    };
    let is_own = caller.principal().is_some_and(|principal| principal.sub == *sub);
    match caller.is_nobody() {
        true => Err(Problem::new(StatusCode::UNAUTHORIZED, "not_set")
            .title("missing access token")
            .detail("watching a trace takes a token of its user or of the whole server")),
        false if is_own || caller.role().is_some() => Ok(()),
        false => Err(Problem::new(StatusCode::FORBIDDEN, "forbidden")
            .title("the token does not allow this")
            .detail("it is good for the traces of its own user")),
    }
}

/// Keeps pages of other sites out, and nobody else.
pub async fn guard(Extension(app): Extension<Arc<App>>, request: Request, next: Next) -> Response {
    match guard::guard(request.headers(), &app.access.hosts, false) {
        Ok(()) => next.run(request).await,
        Err(problem) => problem.for_reader(request.headers()),
    }
}

/// Who is calling, if they may do what they ask for.
async fn admit(app: &App, request: &Parts) -> Result<Caller, Box<Response>> {
    let headers = &request.headers;
    let turn_away = |problem: Problem| Box::new(problem.for_reader(headers));
    let permission = permission(request);
    let takes_links = permission.is_some_and(|permission| permission.takes_links);
    guard::guard(headers, &app.access.hosts, takes_links).map_err(turn_away)?;
    let caller = who(app, headers).await.map(|caller| caller.read_only(app.access.read_only));
    let Some(needed) = permission.and_then(|permission| permission.role) else {
        // Whoever comes to sign in may have shown something that is good for nothing.
        return Ok(caller.unwrap_or_default());
    };
    let caller = caller.map_err(turn_away)?;
    if caller.is_nobody() {
        return Err(Box::new(ask_to_sign_in(request)));
    }
    if caller.role() < Some(needed) {
        tracing::info!(caller = caller.name(), path = request.uri.path(), "refused");
        return Err(turn_away(forbidden(&caller, needed)));
    }
    Ok(caller)
}

/// Who is calling: by a token, by a session, or by being here.
async fn who(app: &App, headers: &HeaderMap) -> Result<Caller, Problem> {
    if let Some(value) = headers.get(header::AUTHORIZATION) {
        let token = value.to_str().ok().and_then(bearer).ok_or_else(|| {
            Problem::new(StatusCode::UNAUTHORIZED, "bad_format")
                .title("the header \"Authorization\" cannot be read")
                .detail("write \"Bearer\", a space and the token")
        })?;
        return by_token(app, token).await;
    }
    if let Some(session) = cookie(headers, SESSION) {
        match app.services.identity.authenticate(&session).await {
            Ok(principal) => return Ok(Caller::known(principal, true)),
            // It is over. Whoever had it is as good as somebody who never had one.
            Err(Error::Denied { .. }) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(match app.access.auth {
        Auth::Local if !client::is_relayed(headers) => Caller::local(),
        Auth::Local | Auth::Required => Caller::default(),
    })
}

/// Who has this token.
async fn by_token(app: &App, token: &str) -> Result<Caller, Problem> {
    match app.services.identity.authenticate(token).await {
        Ok(principal) => Ok(Caller::known(principal, false)),
        Err(Error::Denied { reason }) => {
            tracing::debug!(reason, "a token was denied");
            Err(Problem::new(StatusCode::FORBIDDEN, "invalid")
                .title("the token is not valid")
                .detail("it is unknown, has expired, or is not meant for this server"))
        }
        Err(error) => Err(error.into()),
    }
}

/// The token in a header. Clients write the word in lower case and with a capital, and both are right.
pub fn bearer(value: &str) -> Option<&str> {
    let (scheme, token) = value.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then_some(token)
}

/// Sends people to the page where they sign in, and tells programs what is missing.
fn ask_to_sign_in(request: &Parts) -> Response {
    if wants_page(&request.headers) {
        let uri = request.extensions.get::<OriginalUri>().map_or(&request.uri, |uri| &uri.0);
        let here = uri.path_and_query().map_or("/", |here| here.as_str());
        let next = if request.method == Method::GET { here } else { "/" };
        let next: String = form_urlencoded::byte_serialize(next.as_bytes()).collect();
        let to = HeaderValue::try_from(format!("/sign-in?next={next}"));
        let to = to.unwrap_or(HeaderValue::from_static("/sign-in"));
        return (StatusCode::SEE_OTHER, [(header::LOCATION, to)]).into_response();
    }
    let mut response = Problem::new(StatusCode::UNAUTHORIZED, "not_set")
        .title("missing access token")
        .detail("send a token in the header \"Authorization\", as in \"bearer ep_ut_…\"; \"keyrack token create\" makes one")
        .into_response();
    let way = HeaderValue::from_static("Bearer");
    response.headers_mut().insert(header::WWW_AUTHENTICATE, way);
    response
}

fn forbidden(caller: &Caller, needed: Role) -> Problem {
    let detail = match caller.role() {
        None => "it is good for what belongs to its user; a token for the whole server is made by \"keyrack token create\"".to_owned(),
        Some(role) => format!("it is that of a {role}; this takes the role {needed}"),
    };
    Problem::new(StatusCode::FORBIDDEN, "forbidden")
        .title("the token does not allow this")
        .detail(detail)
}

/// What the route of a request asks for.
fn permission(request: &Parts) -> Option<Permission> {
    let permissions = request.extensions.get::<Arc<Permissions>>()?;
    Some(permissions.of(&request.method, route(request)?))
}

/// The name of the route that a request takes.
fn route(request: &Parts) -> Option<&str> {
    request.extensions.get::<MatchedPath>().map(MatchedPath::as_str)
}

/// Whether somebody with a browser waits for a page.
fn wants_page(headers: &HeaderMap) -> bool {
    let accepted = headers.get(header::ACCEPT).and_then(|value| value.to_str().ok());
    accepted.is_some_and(|accepted| accepted.contains("text/html"))
}

/// The value of a cookie.
pub fn cookie(headers: &HeaderMap, name: &str) -> Option<String> {
    let lines = headers.get_all(header::COOKIE).into_iter().filter_map(|line| line.to_str().ok());
    let mut pairs = lines.flat_map(|line| line.split(';')).filter_map(|pair| pair.split_once('='));
    pairs.find(|(key, _)| key.trim() == name).map(|(_, value)| value.trim().to_owned())
}
