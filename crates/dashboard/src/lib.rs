//! The dashboard: pages rendered here, complete without a script, and kept up to date by a small one of our own.
//!
//! In reading order: `frame` is what stands round every page and `live` how a page is sent and followed; `overview` with
//! `alerts` is the first page; `queues`, `queue`, `queue_limits`, `queue_settings`, `history`, `errors`, `find`, `chosen`, `export`, `job`, `change`, `submit`, `bulk` and `recurring` are about jobs; `progress`, `calculations`, `entitlements`, `files`, `journeys`, `journey`, `recommender`
//! and `updates` about the other services; `keys`,
//! `family`, `key` and `check` about what is stored; `sign_in` and `audit` about who does what; `palette` finds pages and whatever has a name; `reference` tells how to use the API. `axes`, `chart`, `graph`, `plot` and `sampler` work out pictures that the templates draw;
//! `link`, `field`, `fold` and `form` are small tools. Pages change nothing that the API cannot.

#![allow(missing_docs, reason = "nobody publishes this crate")]

mod assets;
mod frame;
mod live;

mod alerts;
mod overview;

mod bulk;
mod change;
mod chosen;
mod errors;
mod export;
mod find;
mod history;
mod job;
mod queue;
mod queue_limits;
mod queue_settings;
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
mod palette;
mod sign_in;

mod family;
mod key;
mod keys;
mod lint;

mod reference;

mod axes;
mod chart;
mod graph;
mod plot;
mod sampler;

mod field;
mod fold;
mod form;
mod link;

use std::sync::Arc;

use askama::Template;
use axum::{
    body::{Body, Bytes},
    extract::Request,
    http::{HeaderValue, StatusCode, Uri, header},
    middleware::Next,
    response::{Html, IntoResponse as _, Response},
};
use keyrack_identity::Role::{Admin, Operator, Viewer};
use keyrack_services::Services;
use keyrack_web::{
    App, BrowserError, Problem,
    access::{Permission, Permissions, Routes},
};
use serde::{Deserialize, de::DeserializeOwned};

use self::frame::{Frame, Visit};
pub use self::overview::take_pulse;

/// The parts of the dashboard, in groups: path, name, and the key that leads there after `g`.
const GROUPS: [(&str, &[Section]); 7] = [
    ("Start", &[("/", "Overview", "o")]),
    (
        "Jobs",
        &[
            ("/jobs", "Jobs", "j"),
            ("/errors", "Errors", "x"),
            ("/find", "Find", "f"),
            ("/recurring", "Recurring", "r"),
        ],
    ),
    ("Progress", &[("/progress", "Bars", "p")]),
    ("Numbers", &[("/calculations", "Calculations", "c")]),
    ("Accounts", &[("/entitlements", "Entitlements", "e")]),
    (
        "Content",
        &[
            ("/files", "Files", "l"),
            ("/journeys", "Journeys", "y"),
            ("/recommender", "Recommender", "m"),
        ],
    ),
    ("System", &[("/updates", "Updates", "d"), ("/keys", "Keys", "k")]),
];

/// Path, name, and the key that leads there after `g`.
type Section = (&'static str, &'static str, &'static str);

/// All of them, one after the other.
fn sections() -> impl Iterator<Item = Section> {
    GROUPS.into_iter().flat_map(|(_, sections)| sections.iter().copied())
}

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
    journey_cache: journey::JourneyCache,
    summaries: overview::ServiceSummaries,
    sweeping: files::Sweeping,
    bulk_runs: bulk::BulkRuns,
    lint: lint::LintRun,
    sampler: sampler::Sampler,
    errors: errors::ErrorLists,
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
            journey_cache: Default::default(),
            summaries: Default::default(),
            sweeping: Default::default(),
            bulk_runs: Default::default(),
            lint: Default::default(),
            sampler: Default::default(),
            errors: Default::default(),
            searches: Default::default(),
        }
    }
}

/// All pages, each with the role it needs and what it is called in the audit log.
fn pages() -> Routes<Arc<Site>> {
    Routes::default()
        .get("/", Permission::read(Viewer), overview::overview)
        .get("/alerts/mute", Permission::unaudited_change(Operator), alerts::ask)
        .post("/alerts/mute", Permission::change(Operator, "alert_muted"), alerts::mute)
        .post("/alerts/unmute", Permission::change(Operator, "alert_unmuted"), alerts::unmute)
        .get("/jobs", Permission::read(Viewer), queues::queues)
        .get("/jobs/{jid}", Permission::read(Viewer), job::job)
        .post("/jobs/{jid}/cancel", Permission::change(Operator, "job_canceled"), job::cancel)
        .post("/jobs/{jid}/retry", Permission::change(Operator, "job_retried"), job::retry)
        .get("/jobs/{jid}/change", Permission::unaudited_change(Operator), change::ask)
        .post("/jobs/{jid}/change", Permission::change(Operator, "job_changed"), change::change)
        .get("/queues/{queue}", Permission::read(Viewer), queue::queue)
        .post("/queues/{queue}/pause", Permission::change(Operator, "queue_paused"), queue::pause)
        .post(
            "/queues/{queue}/resume",
            Permission::change(Operator, "queue_resumed"),
            queue::resume,
        )
        .post(
            "/queues/{queue}/limits",
            Permission::change(Operator, "queue_limited"),
            queue_settings::limits,
        )
        .post(
            "/queues/{queue}/tenant",
            Permission::change(Operator, "tenant_limited"),
            queue_limits::tenant,
        )
        .post(
            "/queues/{queue}/named-limit",
            Permission::change(Operator, "named_limit_set"),
            queue_limits::named,
        )
        .post("/queues/{queue}/delete", Permission::change(Admin, "queue_deleted"), queue::delete)
        .get("/queues/{queue}/history", Permission::read(Viewer), history::table)
        .get("/queues/{queue}/history.csv", Permission::read(Viewer), history::csv)
        .get("/errors", Permission::read(Viewer), errors::errors)
        .get("/queues/{queue}/errors/{group}", Permission::read(Viewer), errors::group)
        .post(
            "/queues/{queue}/errors/{group}/retry",
            Permission::change(Operator, "errors_retried"),
            errors::retry,
        )
        .post(
            "/queues/{queue}/errors/{group}/mute",
            Permission::change(Operator, "error_muted"),
            errors::mute,
        )
        .post(
            "/queues/{queue}/errors/{group}/unmute",
            Permission::change(Operator, "error_unmuted"),
            errors::unmute,
        )
        .get("/find", Permission::read(Viewer), find::find)
        .post("/find/chosen", Permission::change(Operator, "chosen_jobs_changed"), chosen::change)
        .get("/export/jobs/{format}", Permission::read(Viewer), export::jobs)
        .get("/export/queues/{format}", Permission::read(Viewer), export::queues)
        .get("/export/errors/{format}", Permission::read(Viewer), export::errors)
        .get("/palette", Permission::read(Viewer), palette::palette)
        .get("/submit", Permission::unaudited_change(Operator), submit::form)
        .post("/submit", Permission::change(Operator, "job_submitted"), submit::submit)
        .get("/bulk", Permission::unaudited_change(Operator), bulk::ask)
        .post("/bulk", Permission::change(Operator, "bulk_started"), bulk::start)
        .get("/bulk/{id}", Permission::read(Viewer), bulk::errand)
        .post("/bulk/{id}/stop", Permission::change(Operator, "bulk_stopped"), bulk::stop)
        .get("/recurring", Permission::read(Viewer), recurring::recurring)
        .get("/recurring/new", Permission::unaudited_change(Operator), recurring::ask)
        .post(
            "/recurring/new",
            Permission::change(Operator, "recurring_created"),
            recurring::create,
        )
        .get(
            "/recurring/{name}/change",
            Permission::unaudited_change(Operator),
            recurring::ask_change,
        )
        .post(
            "/recurring/{name}/change",
            Permission::change(Operator, "recurring_changed"),
            recurring::change,
        )
        .post(
            "/recurring/{name}/delete",
            Permission::change(Operator, "recurring_deleted"),
            recurring::delete,
        )
        .post(
            "/recurring/{name}/run",
            Permission::change(Operator, "recurring_run"),
            recurring::run,
        )
        .post(
            "/recurring/{name}/pause",
            Permission::change(Operator, "recurring_paused"),
            recurring::pause,
        )
        .post(
            "/recurring/{name}/resume",
            Permission::change(Operator, "recurring_resumed"),
            recurring::resume,
        )
        .get("/recommender", Permission::read(Viewer), recommender::recommender)
        .get("/recommender/{user}", Permission::read(Viewer), recommender::user)
        .get("/progress", Permission::read(Viewer), progress::progress)
        .get("/progress/{user}/{bar}", Permission::read(Viewer), progress::bar)
        .get("/progress/{user}/{bar}/{trace}", Permission::read(Viewer), progress::trace)
        .get("/entitlements", Permission::read(Viewer), entitlements::page)
        .post(
            "/entitlements/purge",
            Permission::change(Operator, "entitlements_purged"),
            entitlements::purge,
        )
        .get("/files", Permission::read(Viewer), files::files)
        .post("/files/sweep", Permission::change(Operator, "files_swept"), files::sweep)
        .post("/files/keep", Permission::change(Operator, "file_kept"), files::keep)
        .get("/journeys", Permission::read(Viewer), journeys::journeys)
        .get("/journeys/{uid}", Permission::read(Viewer), journey::journey)
        .get("/updates", Permission::read(Viewer), updates::updates)
        .get("/keys", Permission::read(Viewer), keys::keys)
        .get("/keys/{family}", Permission::read(Viewer), family::family)
        .get("/key", Permission::read(Viewer), key::key)
        .get("/lint", Permission::read(Viewer), lint::lint)
        .post("/lint", Permission::unaudited_change(Operator), lint::start)
        .get("/docs", Permission::read(Viewer), reference::reference)
        .get("/docs/{group}", Permission::read(Viewer), reference::group)
        .get("/audit", Permission::read(Admin), audit::audit)
        .get("/sign-in", Permission::anybody(), sign_in::ask)
        .post("/sign-in", Permission::anybody(), sign_in::sign_in)
        .post("/sign-out", Permission::anybody(), sign_in::sign_out)
        .post("/theme", Permission::anybody(), theme)
        .merge(calculations::router())
        .checked()
}

/// The pages of all services, and what they load.
pub fn router(site: &Arc<Site>) -> Routes<Arc<App>> {
    pages().map(|router| router.merge(assets::router()).with_state(site.clone()))
}

/// What each page asks of its callers.
pub fn permissions() -> Permissions {
    pages().into_parts().1
}

/// What a page is.
const HTML: HeaderValue = HeaderValue::from_static("text/html; charset=utf-8");

/// Makes a page of an error that is meant for somebody with a browser.
pub async fn error_pages(request: Request, next: Next) -> Response {
    let frame = Frame::of(request.headers(), &Uri::from_static("/"));
    let mut response = next.run(request).await;
    let Some(BrowserError { title, detail }) = response.extensions_mut().remove::<BrowserError>()
    else {
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
