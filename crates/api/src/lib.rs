//! The API under `/api/1`, and its description.
//!
//! One module for each noun, with its routes and what goes over the wire. Every handler says in an attribute what the
//! description at `/openapi.json` says about it, and a route cannot be added without. In reading order: `queues` and
//! `jobs` are what people look at; `submit`, `bulk` and `search` work on many jobs; `worker` is how any program can run
//! jobs; `events` streams what happens; `recurring` is what runs by the calendar. `error` is the one table from errors
//! to statuses, `extract` reads requests, `audit` tells who has changed what.
//!
//! Then there are the progress bars and what belongs to them: `auth` says who is calling, `users` and `usages` are about the
//! caller, `progress` about the bars, `watch` is how a trace is followed live, and `listing` is behind all searches.
//! `entitlements` is what the caller has paid for, `checkout` how to pay, and `limits` limits anything; `upkeep` is what is done by hand now and then. `recommendations` is what to show to whom.
//! `calculations` has tokens and paths of its own, and `dev` is there in development only.

#![allow(missing_docs, reason = "nobody publishes this crate")]

mod audit;
mod auth;
mod bulk;
mod calculations;
mod checkout;
mod deploys;
mod dev;
mod entitlements;
mod events;
mod jobs;
mod journeys;
mod limits;
mod listing;
mod progress;
mod queues;
mod recommendations;
mod recurring;
mod search;
mod statuses;
mod submit;
mod talk;
mod upkeep;
mod usages;
mod users;
mod view;
mod wait;
mod watch;
mod worker;

use std::sync::Arc;

use axum::{Extension, Router, http::header, middleware, response::IntoResponse, routing::get};
use keyrack_web::{App, ProblemBody, access};
use utoipa::{
    OpenApi,
    openapi::{
        PathItem, RefOr,
        path::{HttpMethod, Operation},
        security::{
            ApiKey, ApiKeyValue, Http, HttpAuthScheme, SecurityRequirement, SecurityScheme,
        },
    },
};
use utoipa_axum::{router::OpenApiRouter, routes};

use self::watch::Rooms;

/// What the description says about the API as a whole.
#[derive(OpenApi)]
#[openapi(
    info(
        title = "keyrack",
        description = "Application state on documented Redis keys. Errors are `application/problem+json`; times are unix \
                       milliseconds, those of users and progress bars unix seconds. In paths, a slash in the name of a queue or job is written `%2F`.",
    ),
    components(schemas(ProblemBody)),
    tags(
        (name = "queues", description = "Queues as a whole"),
        (name = "jobs", description = "Jobs"),
        (name = "worker", description = "Running jobs, from any language"),
        (name = "recurring", description = "What runs by the calendar"),
        (name = "audit", description = "Who has changed what"),
        (name = "users", description = "The caller, who has to send `Authorization: bearer TOKEN`"),
        (name = "progress bars", description = "The caller's progress bars and their steps"),
        (name = "traces", description = "Runs through progress bars: reported, watched, retained"),
        (name = "examples", description = "Something to watch"),
        (name = "entitlements", description = "What the caller has paid for, and how to pay"),
        (name = "files", description = "Files that wait to be deleted"),
        (name = "limits", description = "Limits on anything"),
        (name = "recommendations", description = "What users of an app should see next"),
        (name = "journeys", description = "What people do together, live"),
        (name = "updates", description = "Something new to deploy"),
        (name = "calculations", description = "Rollups over event values; callers send the token of their project in `Access-Token`"),
    ),
)]
struct Description;

/// The routes of the API, with its description.
pub fn router(app: &App) -> Router<Arc<App>> {
    let rooms = Arc::new(Rooms::new(app.services.progress.clone()));
    let (router, description) = described().split_for_parts();
    let description: Arc<str> = text(description).into();
    let show = async move || {
        ([(header::CONTENT_TYPE, "application/json")], description.to_string()).into_response()
    };
    router
        .route("/api/2/progress_bars/traces/", get(watch::socket))
        .route("/api/2/journeys/live", get(journeys::socket))
        .merge(dev::router())
        .route("/openapi.json", get(show))
        .layer(Extension(rooms))
}

/// The description of the API as OpenAPI 3.1, as it stands in `docs/openapi.json`.
pub fn openapi() -> String {
    text(described().into_openapi())
}

fn text(mut description: utoipa::openapi::OpenApi) -> String {
    let components = description.components.get_or_insert_default();
    for (name, response) in statuses::responses() {
        components.responses.insert(name.into(), response.into());
    }
    let header = SecurityScheme::ApiKey(ApiKey::Header(ApiKeyValue::new("Access-Token")));
    components.add_security_scheme("project", header);
    let bearer = SecurityScheme::Http(Http::new(HttpAuthScheme::Bearer));
    components.add_security_scheme("bearer", bearer);
    for (path, item) in &mut description.paths.paths {
        for (method, operation) in operations_by_method(item) {
            statuses::describe(&method, path, operation);
        }
    }
    for operation in description.paths.paths.values_mut().flat_map(operations) {
        for response in operation.responses.responses.values_mut() {
            if let RefOr::T(response) = response
                && response.description.is_empty()
            {
                response.description = "Done".into();
            }
        }
    }
    let mut text = description.to_pretty_json().unwrap_or_default();
    text.push('\n');
    text
}

fn operations(path: &mut PathItem) -> impl Iterator<Item = &mut Operation> {
    operations_by_method(path).map(|(_, operation)| operation)
}

fn operations_by_method(path: &mut PathItem) -> impl Iterator<Item = (HttpMethod, &mut Operation)> {
    let all = [
        (HttpMethod::Get, &mut path.get),
        (HttpMethod::Put, &mut path.put),
        (HttpMethod::Post, &mut path.post),
        (HttpMethod::Delete, &mut path.delete),
    ];
    all.into_iter().filter_map(|(method, operation)| Some((method, operation.as_mut()?)))
}

fn described() -> OpenApiRouter<Arc<App>> {
    let everybodys = everybodys().layer(middleware::from_fn(access::enter));
    let api = everybodys
        .merge(with_token("bearer", known_callers()))
        .merge(with_token("project", calculations::router()))
        .merge(knowing_callers());
    let published = recommendations::published().layer(middleware::from_fn(access::enter));
    OpenApiRouter::with_openapi(Description::openapi())
        .nest("/api/1", api)
        .nest("/api/1.0", calculations::published())
        .merge(published)
}

/// What is everybody's: `access` says who may look at it, and who may change it.
fn everybodys() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::new()
        .routes(routes!(queues::list))
        .routes(routes!(queues::show, queues::delete))
        .routes(routes!(queues::pause))
        .routes(routes!(queues::resume))
        .routes(routes!(queues::limits, queues::set_limits))
        .routes(routes!(jobs::list, submit::submit))
        .routes(routes!(bulk::cancel))
        .routes(routes!(bulk::retry))
        .routes(routes!(jobs::show, jobs::cancel))
        .routes(routes!(jobs::retry))
        .routes(routes!(jobs::why))
        .routes(routes!(jobs::set_tags))
        .routes(routes!(jobs::outcome))
        .routes(routes!(search::search))
        .routes(routes!(events::events))
        .routes(routes!(worker::claim))
        .routes(routes!(worker::heartbeat))
        .routes(routes!(worker::settle))
        .routes(routes!(worker::leave))
        .routes(routes!(worker::progress))
        .routes(routes!(worker::complete))
        .routes(routes!(worker::fail))
        .routes(routes!(worker::release))
        .routes(routes!(recurring::list))
        .routes(routes!(recurring::run))
        .routes(routes!(recurring::pause))
        .routes(routes!(recurring::resume))
        .routes(routes!(upkeep::sweep))
        .routes(routes!(upkeep::keep))
        .routes(routes!(upkeep::purge))
        .routes(routes!(audit::list))
        .routes(routes!(progress::examples::start, progress::examples::result))
        .merge(recommendations::router())
}

/// What answers those who show a token, which a page of another site cannot do by itself.
fn known_callers() -> OpenApiRouter<Arc<App>> {
    use progress::{bars, steps, traces};

    OpenApiRouter::new()
        .routes(routes!(users::create))
        .routes(routes!(users::create_token))
        .routes(routes!(users::search_tokens))
        .routes(routes!(users::rename_token, users::delete_token))
        .routes(routes!(usages::search_tiers))
        .routes(routes!(usages::current))
        .routes(routes!(usages::search))
        .routes(routes!(bars::create, bars::update, bars::delete))
        .routes(routes!(bars::search))
        .routes(routes!(steps::create, steps::update, steps::delete))
        .routes(routes!(steps::search))
        .routes(routes!(traces::create, traces::delete))
        .routes(routes!(traces::search))
        .routes(routes!(traces::update))
        .routes(routes!(traces::search_steps))
        .routes(routes!(entitlements::read))
        .routes(routes!(entitlements::revenue_cat_id))
        .routes(routes!(checkout::start))
        .routes(routes!(checkout::finish))
        .routes(routes!(limits::take))
        .merge(journeys::router())
}

/// What answers those who know a secret, can sign, or know what to watch.
fn knowing_callers() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::new()
        .routes(routes!(watch::events))
        .routes(routes!(checkout::webhook))
        .routes(routes!(deploys::update))
}

/// The same routes, with the description saying which token they want to see.
fn with_token(scheme: &str, mut router: OpenApiRouter<Arc<App>>) -> OpenApiRouter<Arc<App>> {
    let wanted = SecurityRequirement::new(scheme, [""; 0]);
    for operation in router.get_openapi_mut().paths.paths.values_mut().flat_map(operations) {
        if !wants_ticket(operation) {
            operation.security = Some(vec![wanted.clone()]);
        }
    }
    router
}

/// Whether a ticket among its inputs says who is calling.
fn wants_ticket(operation: &Operation) -> bool {
    let mut inputs = operation.parameters.iter().flatten();
    inputs.any(|input| matches!(input, RefOr::T(input) if input.name == "jwt"))
}
