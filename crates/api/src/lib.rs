//! The API under `/api/1`, and its description.
//!
//! One module for each noun, with its routes and what goes over the wire. Every handler says in an attribute what the
//! description at `/openapi.json` says about it, and a route cannot be added without. In reading order: `queues` and
//! `jobs` are what people look at, `times` and `errors` how long jobs took and why they failed; `submit`, `bulk` and `search` work on many jobs; `worker` is how any program can run
//! jobs; `events` streams what happens, `logs` are what jobs have logged; `recurring` is what runs by the calendar; `alerts` is what
//! needs attention; `webhooks` are where events are sent; `audit` tells who has changed what.
//! `routes` holds routes with their permissions; `statuses` adds the statuses of errors to the description.
//!
//! Then there are the progress bars and what belongs to them: `auth` says who is calling, `users` and `usages` are about the
//! caller, `progress` about the bars, `watch` is how a trace is followed live, and `listing` is behind all searches.
//! `websocket` is what all WebSockets share. `entitlements` is what the caller has paid for, `checkout` how to pay, `limits`
//! are rate limits, and `maintenance` has what operators do now and then. `recommendations` is what to show to whom.
//! `calculations` has tokens and paths of its own, and `dev` is there in development only.

#![allow(missing_docs, reason = "nobody publishes this crate")]

mod alerts;
mod audit;
mod auth;
mod bulk;
mod calculations;
mod checkout;
mod deploys;
mod dev;
mod entitlements;
mod errors;
mod events;
mod jobs;
mod journeys;
mod limits;
mod listing;
mod logs;
mod maintenance;
mod progress;
mod queues;
mod recommendations;
mod recurring;
mod routes;
mod scaling;
mod search;
mod statuses;
mod submit;
mod times;
mod usages;
mod users;
mod view;
mod wait;
mod watch;
mod webhooks;
mod websocket;
mod worker;

use std::sync::Arc;

use axum::{Extension, http::header, response::IntoResponse};
use keyrack_identity::Role::{Admin, Operator, Viewer};
use keyrack_web::{
    App, ProblemBody,
    access::{self as web, Permission},
};
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
use utoipa_axum::routes;

use self::{routes::Routes, watch::TraceBroadcasts};

/// What the description says about the API as a whole.
#[derive(OpenApi)]
#[openapi(
    info(
        title = "keyrack",
        description = "Job queues, progress bars, rate limits and rollups on Redis, or with no Redis at all. Errors are \
                       `application/problem+json`. Times are Unix milliseconds; those of users and progress bars are \
                       Unix seconds. In paths, write a slash in the name of a queue or job as `%2F`.",
    ),
    components(schemas(ProblemBody)),
    tags(
        (name = "queues", description = "Queues: list, pause, limit, delete"),
        (name = "jobs", description = "Submit, inspect, search, cancel and retry jobs"),
        (name = "worker", description = "Run jobs in any language"),
        (name = "recurring", description = "Jobs that run by the calendar"),
        (name = "alerts", description = "What needs attention, and who has acknowledged or muted it"),
        (name = "webhooks", description = "Events sent to other servers"),
        (name = "audit", description = "The audit log: who changed what"),
        (name = "users", description = "The calling user and their tokens; send `Authorization: bearer TOKEN`"),
        (name = "progress bars", description = "Progress bars of the calling user, and their steps"),
        (name = "traces", description = "Runs of progress bars: report, watch, search"),
        (name = "examples", description = "Example jobs, to have a trace to watch"),
        (name = "entitlements", description = "What the calling user has paid for, and checkout"),
        (name = "files", description = "Files to be deleted: sweep, keep"),
        (name = "limits", description = "Rate limits"),
        (name = "recommendations", description = "Recommended posts for users of an app"),
        (name = "journeys", description = "Journeys: live shared sessions"),
        (name = "updates", description = "Deploy signals for hosts"),
        (name = "calculations", description = "Rollups of event values; send the token of the project in `Access-Token`"),
    ),
)]
struct Description;

/// The routes of the API, with its description.
pub fn router(app: &App) -> web::Routes<Arc<App>> {
    let broadcasts = Arc::new(TraceBroadcasts::new(app.services.progress.clone()));
    let (router, description, permissions) = described().into_parts();
    let description: Arc<str> = text(description).into();
    let show = async move || {
        ([(header::CONTENT_TYPE, "application/json")], description.to_string()).into_response()
    };
    web::Routes::from_parts(router, permissions)
        .get("/api/2/progress_bars/traces/", Permission::own_read(), watch::socket)
        .get("/api/2/journeys/live", Permission::own_read(), journeys::socket)
        .merge(dev::router())
        .get("/openapi.json", Permission::anybody(), show)
        .map(|router| router.layer(Extension(broadcasts)))
}

/// The description of the API as OpenAPI 3.1, as it stands in `docs/openapi.json`.
pub fn openapi() -> String {
    text(described().into_parts().1)
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

fn described() -> Routes {
    let api = shared_routes()
        .checked()
        .merge(with_token("bearer", known_callers()))
        .merge(with_token("project", calculations::router()))
        .merge(knowing_callers());
    let published = recommendations::published().checked();
    Routes::described_by(Description::openapi())
        .nest("/api/1", api)
        .nest("/api/1.0", calculations::published())
        .merge(published)
}

/// What all users share: each route says which role it needs.
fn shared_routes() -> Routes {
    Routes::default()
        .add(Permission::read(Viewer), routes!(queues::list))
        .add(Permission::read(Viewer), routes!(queues::show))
        .add(Permission::read(Viewer), routes!(times::show))
        .add(Permission::read(Viewer), routes!(scaling::show))
        .add(Permission::change(Admin, "queue_deleted"), routes!(queues::delete))
        .add(Permission::change(Operator, "queue_paused"), routes!(queues::pause))
        .add(Permission::change(Operator, "queue_resumed"), routes!(queues::resume))
        .add(Permission::read(Viewer), routes!(queues::limits))
        .add(Permission::change(Operator, "queue_limited"), routes!(queues::set_limits))
        .add(Permission::read(Viewer), routes!(jobs::list))
        .add(Permission::unaudited_change(Operator), routes!(submit::submit))
        .add(Permission::change(Operator, "jobs_canceled"), routes!(bulk::cancel))
        .add(Permission::change(Operator, "jobs_retried"), routes!(bulk::retry))
        .add(Permission::change(Operator, "jobs_changed"), routes!(bulk::change))
        .add(Permission::read(Viewer), routes!(jobs::show))
        .add(Permission::change(Operator, "job_canceled"), routes!(jobs::cancel))
        .add(Permission::change(Operator, "job_retried"), routes!(jobs::retry))
        .add(Permission::change(Operator, "job_changed"), routes!(jobs::change))
        .add(Permission::read(Viewer), routes!(jobs::why))
        .add(Permission::change(Operator, "job_tagged"), routes!(jobs::set_tags))
        .add(Permission::read(Viewer), routes!(jobs::outcome))
        .add(Permission::read(Viewer), routes!(logs::show))
        .add(Permission::read(Viewer), routes!(logs::follow))
        .add(Permission::read(Viewer), routes!(search::search))
        .add(Permission::read(Viewer), routes!(events::events))
        .add(Permission::unaudited_change(Operator), routes!(worker::claim))
        .add(Permission::unaudited_change(Operator), routes!(worker::claim_several))
        .add(Permission::unaudited_change(Operator), routes!(worker::heartbeat))
        .add(Permission::unaudited_change(Operator), routes!(worker::settle))
        .add(Permission::unaudited_change(Operator), routes!(worker::leave))
        .add(Permission::unaudited_change(Operator), routes!(worker::progress))
        .add(Permission::unaudited_change(Operator), routes!(logs::write))
        .add(Permission::unaudited_change(Operator), routes!(worker::complete))
        .add(Permission::unaudited_change(Operator), routes!(worker::fail))
        .add(Permission::unaudited_change(Operator), routes!(worker::snooze))
        .add(Permission::unaudited_change(Operator), routes!(worker::release))
        .add(Permission::change(Operator, "files_swept"), routes!(maintenance::sweep))
        .add(Permission::change(Operator, "file_kept"), routes!(maintenance::keep))
        .add(Permission::change(Operator, "entitlements_purged"), routes!(maintenance::purge))
        .add(Permission::read(Admin), routes!(audit::list))
        .add(Permission::unaudited_change(Operator), routes!(progress::examples::start))
        .add(Permission::read(Viewer), routes!(progress::examples::result))
        .merge(errors::router())
        .merge(alerts::router())
        .merge(recurring::router())
        .merge(webhooks::router())
        .merge(recommendations::router())
}

/// Routes that need a token, which a page of another site cannot send by itself.
fn known_callers() -> Routes {
    use progress::{bars, steps, traces};

    Routes::default()
        .add(Permission::own_change(), routes!(users::create))
        .add(Permission::own_change(), routes!(users::create_token))
        .add(Permission::own_read(), routes!(users::search_tokens))
        .add(Permission::own_change(), routes!(users::rename_token))
        .add(Permission::own_change(), routes!(users::delete_token))
        .add(Permission::own_read(), routes!(usages::search_tiers))
        .add(Permission::own_read(), routes!(usages::current))
        .add(Permission::own_read(), routes!(usages::search))
        .add(Permission::own_change(), routes!(bars::create))
        .add(Permission::own_change(), routes!(bars::update))
        .add(Permission::own_change(), routes!(bars::delete))
        .add(Permission::own_read(), routes!(bars::search))
        .add(Permission::own_change(), routes!(steps::create))
        .add(Permission::own_change(), routes!(steps::update))
        .add(Permission::own_change(), routes!(steps::delete))
        .add(Permission::own_read(), routes!(steps::search))
        .add(Permission::own_change(), routes!(traces::create))
        .add(Permission::own_change(), routes!(traces::delete))
        .add(Permission::own_read(), routes!(traces::search))
        .add(Permission::own_change(), routes!(traces::update))
        .add(Permission::own_change(), routes!(traces::fail))
        .add(Permission::own_read(), routes!(traces::search_steps))
        .add(Permission::own_read(), routes!(entitlements::read))
        .add(Permission::own_change(), routes!(entitlements::revenue_cat_id))
        .add(Permission::own_change(), routes!(checkout::start))
        .add(Permission::own_change(), routes!(checkout::finish))
        .add(Permission::own_change(), routes!(limits::take))
        .merge(journeys::router())
}

/// Routes for callers with a secret or a signature, or who know the name of a trace.
fn knowing_callers() -> Routes {
    Routes::default()
        .add(Permission::own_read(), routes!(watch::events))
        .add(Permission::own_change(), routes!(checkout::webhook))
        .add(Permission::own_change(), routes!(deploys::update))
}

/// The same routes, with the description saying which token they want to see.
fn with_token(scheme: &str, mut routes: Routes) -> Routes {
    let wanted = SecurityRequirement::new(scheme, [""; 0]);
    for operation in
        routes.described.get_openapi_mut().paths.paths.values_mut().flat_map(operations)
    {
        if !wants_ticket(operation) {
            operation.security = Some(vec![wanted.clone()]);
        }
    }
    routes
}

/// Whether a ticket among its inputs says who is calling.
fn wants_ticket(operation: &Operation) -> bool {
    let mut inputs = operation.parameters.iter().flatten();
    inputs.any(|input| matches!(input, RefOr::T(input) if input.name == "jwt"))
}
