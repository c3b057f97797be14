//! What the caller has paid for.

use std::sync::Arc;

use axum::{
    Json,
    extract::{FromRequestParts, State},
    http::{HeaderMap, StatusCode, header, request::Parts},
    response::IntoResponse,
};
use keyrack_entitlements::{EntitlementLookup, Entitlements};
use keyrack_keys::UserSub;
use keyrack_services::Billing;
use keyrack_web::{App, Problem, extract::segment};
use serde::Serialize;
use utoipa::ToSchema;

use super::auth::Viewer;

/// Whether the caller may use something. Times are unix seconds.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct ReadEntitlement {
    /// What it is about.
    identifier: String,
    /// Whether the caller may use it. Nothing else decides, not even an `expiration_date` that has passed.
    is_active: bool,
    /// When it ends unless renewed; null if it does not, or is not active.
    expiration_date: Option<f64>,
    /// When this was found out.
    checked_at: f64,
}

/// The caller's id at RevenueCat.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct RevenueCatId {
    /// The id. Whoever knows it can read what the caller bought.
    revenue_cat_id: String,
}

/// The entitlement in the path of a request.
pub(super) struct Identifier(String);

impl FromRequestParts<Arc<App>> for Identifier {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &Arc<App>) -> Result<Identifier, Problem> {
        segment(parts, app).await.map(Identifier)
    }
}

/// Tells whether the caller is entitled to something.
///
/// With the header `Pragma: no-cache` the source of truth is asked, which everybody may do once in 30 seconds.
#[utoipa::path(get, path = "/users/me/entitlements/{identifier}", tag = "entitlements", operation_id = "readEntitlement",
    params(("identifier" = String, Path, description = "What it is about, such as `pro`"),
           ("Pragma" = Option<String>, Header, description = "`no-cache` asks the source of truth")),
    responses((status = OK, body = ReadEntitlement)))]
pub(super) async fn read(
    State(app): State<Arc<App>>,
    Viewer(sub): Viewer,
    Identifier(identifier): Identifier,
    headers: HeaderMap,
) -> Result<impl IntoResponse, Problem> {
    let entitlements = &billing(&app)?.entitlements;
    let is_forced = headers.get(header::PRAGMA).is_some_and(|value| value == "no-cache");
    let found = look_up(entitlements, &sub, &identifier, is_forced).await?;
    let read = ReadEntitlement {
        identifier,
        is_active: found.entitlement.is_active,
        expiration_date: found.entitlement.expires_at,
        checked_at: found.entitlement.checked_at,
    };
    Ok(([(header::CACHE_CONTROL, "no-store")], Json(read)))
}

async fn look_up(
    entitlements: &Entitlements,
    sub: &UserSub,
    identifier: &str,
    is_forced: bool,
) -> Result<EntitlementLookup, Problem> {
    if is_forced {
        entitlements.check_identifier(identifier)?;
        entitlements.limit_read(sub).await?;
        entitlements.ensure_customer(sub).await?;
        return Ok(entitlements.lookup_forced(sub, identifier).await?);
    }
    match entitlements.lookup(sub, identifier).await {
        // Somebody who is known here and asks for the first time.
        Err(keyrack_entitlements::Error::UnknownUser) => {
            entitlements.ensure_customer(sub).await?;
            Ok(entitlements.lookup(sub, identifier).await?)
        }
        found => Ok(found?),
    }
}

/// Tells the caller's id at RevenueCat, for apps that buy there themselves.
#[utoipa::path(get, path = "/users/me/revenue_cat_id", tag = "entitlements", operation_id = "readRevenueCatId",
    responses((status = OK, body = RevenueCatId)))]
pub(super) async fn revenue_cat_id(
    State(app): State<Arc<App>>,
    Viewer(sub): Viewer,
) -> Result<impl IntoResponse, Problem> {
    let customer = billing(&app)?.entitlements.ensure_customer(&sub).await?;
    let id = RevenueCatId { revenue_cat_id: customer.revenue_cat_id().to_owned() };
    Ok(([(header::CACHE_CONTROL, "no-store")], Json(id)))
}

pub(super) fn billing(app: &App) -> Result<&Billing, Problem> {
    app.services.billing.as_ref().ok_or_else(|| {
        not_set_up("the server was started without \"revenue-cat-key\", so nobody can be asked")
    })
}

pub(super) fn not_set_up(detail: &'static str) -> Problem {
    Problem::new(StatusCode::NOT_IMPLEMENTED, "not_set_up")
        .title("this server does not do that")
        .detail(detail)
}
