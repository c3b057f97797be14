//! Calculations: events in, results, series, trends and rules out, each for whoever has the project's token.
//!
//! The paths under `/api/1.0` are as they were first published, with proper statuses; those under `/api/1/calculations` are
//! ours. `caller` says whose project it is; `events` takes events in; `results` reads; `live` streams changes; `rules`
//! and `admin` are what their names say.

mod admin;
mod caller;
mod events;
mod live;
mod results;
mod rules;

use std::sync::Arc;

use keyrack_web::App;
use utoipa_axum::{router::OpenApiRouter, routes};

/// What is ours, below `/api/1`.
pub(super) fn router() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::new()
        .routes(routes!(events::record))
        .routes(routes!(results::settings, results::set_settings))
        .routes(routes!(rules::list))
        .routes(routes!(rules::delete))
        .routes(routes!(live::events))
        .routes(routes!(results::show, results::delete))
        .routes(routes!(results::delete_value))
        .routes(routes!(results::trend))
        .routes(routes!(results::series))
}

/// What was published, below `/api/1.0`.
pub(super) fn published() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::new()
        .routes(routes!(events::event))
        .routes(routes!(results::output_events))
        .routes(routes!(results::result))
        .routes(routes!(rules::comparator))
        .routes(routes!(rules::observer))
        .routes(routes!(admin::token, admin::delete_token))
        .routes(routes!(admin::account))
}
