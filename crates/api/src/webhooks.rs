//! Webhooks: where events are sent, and what came of it.

use std::sync::Arc;

use axum::{
    Extension, Json,
    extract::{FromRequestParts, Path, State},
    http::{StatusCode, request::Parts},
};
use keyrack_identity::Role::{Admin, Operator, Viewer};
use keyrack_web::{
    App, Problem,
    access::{Permission, Subject},
    error::{bad_name, invalid},
    extract::{Body, Query, segment},
};
use keyrack_webhooks::{
    Change, CreatedHook, DELIVERIES_MAX, Delivery, DeliveryState, Draft, Hook, HookId,
};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::routes;

use crate::routes::Routes;

/// Deliveries of an answer, unless asked for more.
const PAGE: usize = 100;

/// The routes about webhooks.
pub(super) fn router() -> Routes {
    Routes::default()
        .add(Permission::read(Viewer), routes!(list))
        .add(Permission::change(Admin, "webhook_created"), routes!(create))
        .add(Permission::read(Viewer), routes!(show))
        .add(Permission::change(Admin, "webhook_changed"), routes!(change))
        .add(Permission::change(Admin, "webhook_deleted"), routes!(delete))
        .add(Permission::read(Viewer), routes!(deliveries))
        .add(Permission::change(Operator, "webhook_tested"), routes!(test))
        .add(Permission::change(Operator, "webhook_replayed"), routes!(replay_failed))
        .add(Permission::change(Operator, "delivery_replayed"), routes!(replay))
}

/// The webhook in the path of a request.
struct Named(HookId);

impl FromRequestParts<Arc<App>> for Named {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &Arc<App>) -> Result<Named, Problem> {
        let id = segment(parts, app).await?;
        Ok(Named(HookId::new(id).map_err(|error| bad_name(&error).field("webhook"))?))
    }
}

/// The webhook and the delivery in the path of a request.
struct NamedDelivery(HookId, String);

impl FromRequestParts<Arc<App>> for NamedDelivery {
    type Rejection = Problem;

    async fn from_request_parts(
        parts: &mut Parts,
        app: &Arc<App>,
    ) -> Result<NamedDelivery, Problem> {
        let path = Path::<(String, String)>::from_request_parts(parts, app).await;
        let Path((webhook, delivery)) = path.map_err(|_| {
            Problem::new(StatusCode::BAD_REQUEST, "bad_path").title("the path could not be read")
        })?;
        let id = HookId::new(webhook).map_err(|error| bad_name(&error).field("webhook"))?;
        Ok(NamedDelivery(id, delivery))
    }
}

/// All webhooks.
#[derive(Debug, Serialize, ToSchema)]
struct Webhooks {
    /// Oldest first, without URLs and secrets.
    webhooks: Vec<Hook>,
    /// How many ends of jobs were dropped because no server had handed on the 100,000 before them.
    dropped_ends: u64,
}

/// Lists the webhooks, without their URLs and secrets.
#[utoipa::path(get, path = "/webhooks", tag = "webhooks", operation_id = "listWebhooks",
    responses((status = OK, body = Webhooks)))]
async fn list(State(app): State<Arc<App>>) -> Result<Json<Webhooks>, Problem> {
    let dropped_ends = app.services.jobs().await?.hive.outbox_dropped().await?;
    Ok(Json(Webhooks { webhooks: app.services.webhooks.list().await?, dropped_ends }))
}

/// Creates a webhook. Events are sent to it from now on. The secret is in no later answer.
#[utoipa::path(post, path = "/webhooks", tag = "webhooks", operation_id = "createWebhook",
    request_body = Draft, responses((status = CREATED, body = CreatedHook)))]
async fn create(
    State(app): State<Arc<App>>,
    Body(draft): Body<Draft>,
) -> Result<(StatusCode, Extension<Subject>, Json<CreatedHook>), Problem> {
    let created = app.services.webhooks.create(draft).await?;
    app.services.sync_webhooks().await?;
    Ok((StatusCode::CREATED, Extension(Subject(created.id.to_string())), Json(created)))
}

/// Shows a webhook, without its URL and secret.
#[utoipa::path(get, path = "/webhooks/{webhook}", tag = "webhooks", operation_id = "showWebhook",
    params(("webhook" = String, Path)), responses((status = OK, body = Hook)))]
async fn show(State(app): State<Arc<App>>, Named(id): Named) -> Result<Json<Hook>, Problem> {
    Ok(Json(app.services.webhooks.hook(&id).await?))
}

/// Changes a webhook. What is not given stays.
#[utoipa::path(post, path = "/webhooks/{webhook}/change", tag = "webhooks", operation_id = "changeWebhook",
    params(("webhook" = String, Path)), request_body = Change, responses((status = OK, body = Hook)))]
async fn change(
    State(app): State<Arc<App>>,
    Named(id): Named,
    Body(wanted): Body<Change>,
) -> Result<Json<Hook>, Problem> {
    app.services.webhooks.change(&id, wanted).await?;
    app.services.sync_webhooks().await?;
    Ok(Json(app.services.webhooks.hook(&id).await?))
}

/// Deletes a webhook, with all that waits for it.
#[utoipa::path(delete, path = "/webhooks/{webhook}", tag = "webhooks", operation_id = "deleteWebhook",
    params(("webhook" = String, Path)), responses((status = NO_CONTENT)))]
async fn delete(State(app): State<Arc<App>>, Named(id): Named) -> Result<StatusCode, Problem> {
    app.services.webhooks.delete(&id).await?;
    app.services.sync_webhooks().await?;
    Ok(StatusCode::NO_CONTENT)
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct Which {
    /// Those in this state: `waiting`, `done` or `failed`.
    state: DeliveryState,
    /// How many to list: 1 to 1,000, and 100 unless said otherwise.
    limit: Option<usize>,
}

/// Some deliveries.
#[derive(Debug, Serialize, ToSchema)]
struct Deliveries {
    /// Newest first, without the data of their events.
    deliveries: Vec<Delivery>,
}

/// Lists deliveries of a webhook: which events were sent, how often, and what the receiver
/// answered.
#[utoipa::path(get, path = "/webhooks/{webhook}/deliveries", tag = "webhooks", operation_id = "listDeliveries",
    params(("webhook" = String, Path), Which), responses((status = OK, body = Deliveries)))]
async fn deliveries(
    State(app): State<Arc<App>>,
    Named(id): Named,
    Query(which): Query<Which>,
) -> Result<Json<Deliveries>, Problem> {
    let limit = which.limit.unwrap_or(PAGE);
    if !(1..=DELIVERIES_MAX).contains(&limit) {
        return Err(invalid("limit", format!("{limit} is not within 1 to {DELIVERIES_MAX}")));
    }
    let deliveries = app.services.webhooks.deliveries(&id, which.state, limit).await?;
    Ok(Json(Deliveries { deliveries }))
}

/// An event that is on its way.
#[derive(Debug, Serialize, ToSchema)]
struct SentTest {
    /// The id of the event.
    event: String,
}

/// Sends a test event, of kind `test`. What came of it stands among the deliveries.
#[utoipa::path(post, path = "/webhooks/{webhook}/test", tag = "webhooks", operation_id = "testWebhook",
    params(("webhook" = String, Path)), responses((status = ACCEPTED, body = SentTest)))]
async fn test(
    State(app): State<Arc<App>>,
    Named(id): Named,
) -> Result<(StatusCode, Json<SentTest>), Problem> {
    let event = app.services.webhooks.send_test(&id).await?;
    Ok((StatusCode::ACCEPTED, Json(SentTest { event })))
}

/// What to send once more.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct FailedSince {
    /// What was given up at this time or later, in unix milliseconds.
    failed_since: u64,
}

/// What is sent once more.
#[derive(Debug, Serialize, ToSchema)]
struct Replayed {
    /// How many deliveries.
    replayed: u64,
}

/// Sends once more what was given up since a time, oldest first.
#[utoipa::path(post, path = "/webhooks/{webhook}/replay", tag = "webhooks", operation_id = "replayFailedDeliveries",
    params(("webhook" = String, Path)), request_body = FailedSince, responses((status = OK, body = Replayed)))]
async fn replay_failed(
    State(app): State<Arc<App>>,
    Named(id): Named,
    Body(since): Body<FailedSince>,
) -> Result<Json<Replayed>, Problem> {
    let replayed = app.services.webhooks.replay_failed(&id, since.failed_since).await?;
    Ok(Json(Replayed { replayed }))
}

/// Sends an event once more that was sent or given up.
#[utoipa::path(post, path = "/webhooks/{webhook}/deliveries/{delivery}/replay", tag = "webhooks", operation_id = "replayDelivery",
    params(("webhook" = String, Path), ("delivery" = String, Path)), responses((status = ACCEPTED)))]
async fn replay(
    State(app): State<Arc<App>>,
    NamedDelivery(id, delivery): NamedDelivery,
) -> Result<StatusCode, Problem> {
    app.services.webhooks.replay(&id, &delivery).await?;
    Ok(StatusCode::ACCEPTED)
}
