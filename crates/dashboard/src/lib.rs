//! The dashboard: pages rendered here, complete without a script, and kept up to date by a small one of our own.
//!
//! In reading order: `frame` is what stands round every page and `live` how a page is sent and followed; `overview` with
//! `alerts` is the first page; `queues`, `queue`, `find`, `job`, `submit`, `bulk` and `recurring` are about jobs; `progress`, `calculations`, `entitlements`, `files`, `journeys`, `journey`, `recommender`
//! and `updates` about the other services; `keys`,
//! `family`, `key` and `check` about what is stored; `sign_in` and `audit` about who does what; `reference` tells how to use the API. `chart`, `graph`, `plot` and `pulse` work out pictures that the templates draw;
//! `link` and `form` are small tools. Pages change nothing that the API cannot.

#![allow(missing_docs, reason = "nobody publishes this crate")]

mod assets;
mod frame;
mod live;

mod alerts;
mod overview;

mod bulk;
mod find;
mod job;
mod queue;
mod queues;
mod recurring;
mod submit;

mod calculations;
mod entitlements;
mod files;
mod journey;
mod journeys;
mod progress;
mod recommender;
mod updates;

mod audit;
mod sign_in;

mod check;
mod family;
mod key;
mod keys;

mod reference;

mod chart;
mod graph;
mod plot;
mod pulse;

mod form;
mod link;

use std::sync::Arc;

use askama::Template;
use axum::{
    Router,
    body::{Body, Bytes},
    extract::Request,
    http::{HeaderValue, StatusCode, Uri, header},
    middleware::{self, Next},
    response::{Html, IntoResponse as _, Response},
    routing::{get, post},
};
use keyrack_services::Services;
use keyrack_web::{App, ForReader, Problem, access};
use serde::{Deserialize, de::DeserializeOwned};

use self::frame::{Frame, Visit};
pub use self::overview::take_pulse;

/// The parts of the dashboard: path, name, and the key that leads there after `g`.
const SECTIONS: [(&str, &str, &str); 12] = [
    ("/", "Overview", "o"),
    ("/jobs", "Jobs", "j"),
    ("/find", "Find", "f"),
    ("/recurring", "Recurring", "r"),
    ("/progress", "Progress", "p"),
    ("/calculations", "Calculations", "c"),
    ("/entitlements", "Entitlements", "e"),
    ("/files", "Files", "l"),
    ("/journeys", "Journeys", "y"),
    ("/recommender", "Recommender", "m"),
    ("/updates", "Updates", "d"),
    ("/keys", "Keys", "k"),
];

/// What every page is given: the services, and what pages remember between requests.
#[derive(Debug)]
pub struct Site {
    /// Every service.
    pub services: Arc<Services>,
    /// What every route is given.
    pub app: Arc<App>,
    /// Describes the API, as OpenAPI.
    describe: fn() -> String,
    bars: progress::Bars,
    courses: journey::Courses,
    glances: overview::Glances,
    sweeping: files::Sweeping,
    errands: bulk::Errands,
    check: check::Check,
    pulse: pulse::Pulse,
    searches: find::Searches,
}

impl Site {
    /// The dashboard of an application, whose API `describe` describes as OpenAPI.
    pub fn new(app: Arc<App>, describe: fn() -> String) -> Site {
        Site {
            services: app.services.clone(),
            app,
            describe,
            bars: Default::default(),
            courses: Default::default(),
            glances: Default::default(),
            sweeping: Default::default(),
            errands: Default::default(),
            check: Default::default(),
            pulse: Default::default(),
            searches: Default::default(),
        }
    }
}

/// The routes of all pages. `access` says who may see which.
pub fn router(site: &Arc<Site>) -> Router<Arc<App>> {
    let pages = Router::new()
        .route("/", get(overview::overview))
        .route("/jobs", get(queues::queues))
        .route("/jobs/{jid}", get(job::job))
        .route("/jobs/{jid}/cancel", post(job::cancel))
        .route("/jobs/{jid}/retry", post(job::retry))
        .route("/queues/{queue}", get(queue::queue))
        .route("/queues/{queue}/pause", post(queue::pause))
        .route("/queues/{queue}/resume", post(queue::resume))
        .route("/queues/{queue}/limits", post(queue::limits))
        .route("/queues/{queue}/delete", post(queue::delete))
        .route("/find", get(find::find))
        .route("/submit", get(submit::form).post(submit::submit))
        .route("/bulk", get(bulk::ask).post(bulk::start))
        .route("/bulk/{id}", get(bulk::errand))
        .route("/bulk/{id}/stop", post(bulk::stop))
        .route("/recurring", get(recurring::recurring))
        .route("/recurring/{name}/run", post(recurring::run))
        .route("/recurring/{name}/pause", post(recurring::pause))
        .route("/recurring/{name}/resume", post(recurring::resume))
        .route("/recommender", get(recommender::recommender))
        .route("/recommender/{user}", get(recommender::user))
        .route("/progress", get(progress::progress))
        .route("/progress/{user}/{bar}", get(progress::bar))
        .route("/progress/{user}/{bar}/{trace}", get(progress::trace))
        .route("/entitlements", get(entitlements::page))
        .route("/entitlements/purge", post(entitlements::purge))
        .route("/files", get(files::files))
        .route("/files/sweep", post(files::sweep))
        .route("/files/keep", post(files::keep))
        .route("/journeys", get(journeys::journeys))
        .route("/journeys/{uid}", get(journey::journey))
        .route("/updates", get(updates::updates))
        .route("/keys", get(keys::keys))
        .route("/keys/{family}", get(family::family))
        .route("/key", get(key::key))
        .route("/lint", get(check::lint).post(check::start))
        .route("/docs", get(reference::reference))
        .route("/docs/{group}", get(reference::group))
        .route("/audit", get(audit::audit))
        .route("/sign-in", get(sign_in::ask).post(sign_in::sign_in))
        .route("/sign-out", post(sign_in::sign_out))
        .route("/theme", post(theme))
        .merge(calculations::router())
        .layer(middleware::from_fn(access::enter));
    pages.merge(assets::router()).with_state(site.clone())
}

/// What a page is.
const HTML: HeaderValue = HeaderValue::from_static("text/html; charset=utf-8");

/// Makes a page of an error that is meant for somebody with a browser.
pub async fn error_pages(request: Request, next: Next) -> Response {
    let frame = Frame::of(request.headers(), &Uri::from_static("/"));
    let mut response = next.run(request).await;
    let Some(ForReader { title, detail }) = response.extensions_mut().remove::<ForReader>() else {
        return response;
    };
    match (ErrorPage { frame, title, detail: &detail }).render() {
        Ok(page) => {
            response.headers_mut().remove(header::CONTENT_LENGTH);
            response.headers_mut().insert(header::CONTENT_TYPE, HTML);
            response.map(|_| Body::from(page))
        }
        Err(_) => response,
    }
}

/// What stands on an error's page.
#[derive(Template)]
#[template(path = "error.html")]
pub(crate) struct ErrorPage<'a> {
    pub(crate) frame: Frame,
    pub(crate) title: &'a str,
    pub(crate) detail: &'a str,
}

/// The choice of a theme.
#[derive(Debug, Deserialize)]
struct Choice {
    theme: String,
    back: String,
}

/// `POST /theme`
async fn theme(visit: Visit, body: Bytes) -> Response {
    match form::read::<Choice>(&body) {
        Ok(choice) => frame::go_with_theme(frame::own_path(&choice.back), &choice.theme),
        Err(problem) => problem.for_reader(&visit.headers),
    }
}

impl Visit {
    /// What stands behind the `?`.
    fn query<T: DeserializeOwned>(&self) -> Result<T, Problem> {
        form::read(self.frame.here.split_once('?').map_or("", |(_, query)| query).as_bytes())
    }
}

/// Prose cut at its backticks: what stands between two of them is code.
fn pieces(text: &str) -> impl Iterator<Item = (bool, &str)> {
    let is_paired = text.matches('`').count().is_multiple_of(2);
    let mark = if is_paired { "`" } else { "\0" };
    text.split(mark).enumerate().map(|(i, piece)| (i % 2 == 1, piece))
}

fn render(page: &impl Template) -> Response {
    match page.render() {
        Ok(text) => Html(text).into_response(),
        Err(error) => not_rendered(&error),
    }
}

fn not_rendered(error: &askama::Error) -> Response {
    tracing::error!(%error, "could not render a page");
    Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "page_not_rendered").into_response()
}

#[cfg(test)]
mod tests {
    use super::pieces;

    #[test]
    fn prose_is_cut_at_paired_backticks_only() {
        let cut = |text| pieces(text).collect::<Vec<_>>();
        assert_eq!(cut("`1` if set"), [(false, ""), (true, "1"), (false, " if set")]);
        assert_eq!(cut("a ` alone"), [(false, "a ` alone")]);
    }
}
