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

use crate::routes::Routes;
use keyrack_web::access::Permission;
use utoipa_axum::routes;

/// What is ours, below `/api/1`.
pub(super) fn router() -> Routes {
    Routes::default()
        .add(Permission::own_change(), routes!(events::record))
        .add(Permission::own_read(), routes!(results::settings))
        .add(Permission::own_change(), routes!(results::set_settings))
        .add(Permission::own_read(), routes!(rules::list))
        .add(Permission::own_change(), routes!(rules::delete))
        .add(Permission::own_read(), routes!(live::events))
        .add(Permission::own_read(), routes!(results::show))
        .add(Permission::own_change(), routes!(results::delete))
        .add(Permission::own_change(), routes!(results::delete_value))
        .add(Permission::own_read(), routes!(results::trend))
        .add(Permission::own_read(), routes!(results::series))
}

/// What was published, below `/api/1.0`.
pub(super) fn published() -> Routes {
    Routes::default()
        .add(Permission::own_change(), routes!(events::event))
        .add(Permission::own_read(), routes!(results::output_events))
        .add(Permission::own_read(), routes!(results::result))
        .add(Permission::own_change(), routes!(rules::comparator))
        .add(Permission::own_change(), routes!(rules::observer))
        .add(Permission::own_change(), routes!(admin::token))
        .add(Permission::own_change(), routes!(admin::delete_token))
        .add(Permission::own_change(), routes!(admin::account))
}
