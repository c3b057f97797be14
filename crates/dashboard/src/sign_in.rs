//! Signing in by a token, and out.

use std::{sync::Arc, time::Duration};

use askama::Template;
use axum::{
    Extension,
    body::Bytes,
    extract::State,
    http::{HeaderMap, HeaderValue, StatusCode, header},
    response::Response,
};
use keyrack_entitlements::{
    Limit, Limiter, RateLimitDecision,
    keys::{LimitName, LimitSubject},
};
use keyrack_identity::{Error, SESSION_TIME_S};
use keyrack_web::{
    Problem,
    access::{self, Address, ClientAddress, SESSION},
};
use serde::Deserialize;
use sha2::{Digest as _, Sha256};

use super::{
    Frame, Visit, assets, form,
    frame::{go, go_and_tell, own_path},
    live::still,
};
use crate::Site;

/// Nobody gets a token wrong more often than that in a minute, from one address, unless they guess.
const FAILURES_MAX: u64 = 20;
const FAILURES_PERIOD: Duration = Duration::from_secs(60);
/// As much of a token says which one somebody guesses at, and nothing about the rest: `ep_ut_` and four characters.
const PREFIX_CHARS: usize = 10;

#[derive(Template)]
#[template(path = "sign_in.html")]
struct SignInPage {
    frame: Frame,
    /// Where to go then.
    next: String,
    problem: &'static str,
}

/// What stands behind the `?`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct SignInQuery {
    next: String,
}

/// `GET /sign-in`
pub(crate) async fn ask(visit: Visit) -> Response {
    let wanted: SignInQuery = visit.query().unwrap_or_default();
    let next = own_path(&wanted.next);
    if visit.frame.caller.is_signed_in() {
        return go(next);
    }
    page(visit.frame, next, "", StatusCode::OK)
}

/// What was typed.
#[derive(Deserialize)]
struct SignInForm {
    token: String,
    #[serde(default)]
    next: String,
}

/// `POST /sign-in`
pub(crate) async fn sign_in(
    State(site): State<Arc<Site>>,
    visit: Visit,
    Address(from): Address,
    client: Option<Extension<ClientAddress>>,
    body: Bytes,
) -> Response {
    let typed: SignInForm = match form::read(&body) {
        Ok(typed) => typed,
        Err(problem) => return problem.for_reader(&visit.headers),
    };
    let next = own_path(&typed.next);
    let failures = Failures::of(&site, client.map(|client| client.0), typed.token.trim());
    match failures.are_too_many().await {
        Ok(false) => {}
        Ok(true) => return too_many(visit.frame, next),
        Err(problem) => return problem.for_reader(&visit.headers),
    }
    match site.services.identity.sign_in(typed.token.trim(), from.as_deref()).await {
        Ok(session) => with_session(go(next), &visit.headers, &session.secret, SESSION_TIME_S),
        Err(Error::Denied { reason }) => {
            tracing::info!(reason, ?from, "somebody could not sign in");
            if let Err(problem) = failures.add().await {
                return problem.for_reader(&visit.headers);
            }
            let problem = "This token does not open the dashboard.";
            page(visit.frame, next, problem, StatusCode::FORBIDDEN)
        }
        Err(error) => Problem::from(error).for_reader(&visit.headers),
    }
}

/// `POST /sign-out`
pub(crate) async fn sign_out(
    State(site): State<Arc<Site>>,
    visit: Visit,
    Address(from): Address,
) -> Response {
    if let Some(session) = access::cookie(&visit.headers, SESSION) {
        match site.services.identity.sign_out(&session, from.as_deref()).await {
            // A session that is over already is what was wanted.
            Ok(()) | Err(Error::Denied { .. }) => {}
            Err(error) => return Problem::from(error).for_reader(&visit.headers),
        }
    }
    with_session(go_and_tell("/sign-in", true, "Signed out."), &visit.headers, "", 0.0)
}

/// The failed attempts that count against somebody: those from the same address, and those with a token that begins the same.
struct Failures {
    limiter: Limiter,
    counted: Vec<(LimitName, LimitSubject)>,
}

impl Failures {
    fn of(site: &Site, client: Option<ClientAddress>, token: &str) -> Failures {
        // The address of a proxy is everybody's: one who guesses would keep all others out.
        let address =
            client.filter(|client| client.is_own).map(|client| client.address.to_string());
        let prefix: String = token.chars().take(PREFIX_CHARS).collect();
        // Somebody may have typed a password here, and names of keys are no secret.
        let digest = Sha256::digest(prefix.as_bytes());
        let prefix = digest[..8].iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        // Limits of callers have a colon in their names, so none of them is one of these.
        let counted = [("sign-in", address), ("sign-in-token", Some(prefix))];
        let counted = counted.into_iter().filter_map(|(name, subject)| {
            Some((LimitName::new(name).ok()?, LimitSubject::new(subject?).ok()?))
        });
        Failures { limiter: Limiter::new(site.services.store.clone()), counted: counted.collect() }
    }

    async fn are_too_many(&self) -> Result<bool, Problem> {
        Ok(self.take(0).await?.iter().any(|verdict| verdict.remaining == 0))
    }

    async fn add(&self) -> Result<(), Problem> {
        self.take(1).await.map(drop)
    }

    async fn take(&self, amount: u64) -> Result<Vec<RateLimitDecision>, Problem> {
        let limit = Limit::Window { max: FAILURES_MAX, period: FAILURES_PERIOD };
        let mut verdicts = Vec::new();
        for (name, subject) in &self.counted {
            verdicts.push(self.limiter.take(name, subject, limit, amount).await?);
        }
        Ok(verdicts)
    }
}

fn too_many(frame: Frame, next: &str) -> Response {
    let problem = "Too many attempts. Wait a minute.";
    let mut response = page(frame, next, problem, StatusCode::TOO_MANY_REQUESTS);
    let seconds = HeaderValue::from(FAILURES_PERIOD.as_secs());
    response.headers_mut().insert(header::RETRY_AFTER, seconds);
    response
}

fn page(frame: Frame, next: &str, problem: &'static str, status: StatusCode) -> Response {
    let page = SignInPage { frame, next: next.to_owned(), problem };
    still(&page, &page.frame, status)
}

/// Gives the browser a session, or takes it away. No script can read it, and no page of another site causes it to be sent.
fn with_session(
    mut response: Response,
    headers: &HeaderMap,
    session: &str,
    age_s: f64,
) -> Response {
    let is_https = headers.get("x-forwarded-proto").is_some_and(|scheme| scheme == "https");
    let secure = if is_https { "; Secure" } else { "" };
    let text = format!(
        "{SESSION}={session}; Path=/; Max-Age={age_s:.0}; HttpOnly; SameSite=Strict{secure}"
    );
    if let Ok(text) = HeaderValue::try_from(text) {
        response.headers_mut().append(header::SET_COOKIE, text);
    }
    response
}
