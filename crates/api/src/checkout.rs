//! Buying through Stripe.

use std::sync::Arc;

use axum::{
    Json,
    extract::State,
    http::{HeaderMap, StatusCode},
};
use keyrack_entitlements::{Buyer, Checkout, Error, keys::CheckoutUid};
use keyrack_web::{
    App, Problem,
    error::bad_name,
    extract::{Body, RawBody},
};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{auth::SignedIn, entitlements::billing, entitlements::not_set_up};

/// Where the buyer returns to.
#[derive(Debug, Deserialize, ToSchema)]
pub(super) struct StartCheckout {
    /// The path of the site for who has not paid.
    cancel_path: String,
    /// The path of the site for who has.
    success_path: String,
}

/// A checkout that was started.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct StartedCheckout {
    /// Where the buyer pays.
    url: String,
}

/// Which checkout to finish.
#[derive(Debug, Deserialize, ToSchema)]
pub(super) struct FinishCheckout {
    /// The checkout, as it stood in the address to which the buyer returned.
    checkout_uid: String,
}

/// Nothing more to say.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Nothing {}

/// Starts a checkout at Stripe. The caller has to have signed in.
#[utoipa::path(post, path = "/users/me/checkout/stripe/start", tag = "entitlements", operation_id = "startCheckout",
    request_body = StartCheckout, responses((status = OK, body = StartedCheckout)))]
pub(super) async fn start(
    State(app): State<Arc<App>>,
    SignedIn(sub): SignedIn,
    Body(start): Body<StartCheckout>,
) -> Result<Json<StartedCheckout>, Problem> {
    let checkout = checkout(&app)?;
    let (cancel, success) = (&start.cancel_path, &start.success_path);
    let started = checkout.start(&sub, Buyer::default(), cancel, success).await?;
    Ok(Json(StartedCheckout { url: started.url }))
}

/// Looks whether a checkout was paid, and if so, sees to it that the caller has what was bought.
#[utoipa::path(post, path = "/users/me/checkout/stripe/finish", tag = "entitlements", operation_id = "finishCheckout",
    request_body = FinishCheckout, responses((status = OK, body = Nothing)))]
pub(super) async fn finish(
    State(app): State<Arc<App>>,
    SignedIn(sub): SignedIn,
    Body(finish): Body<FinishCheckout>,
) -> Result<Json<Nothing>, Problem> {
    let checkout = checkout(&app)?;
    let uid = CheckoutUid::new(finish.checkout_uid)
        .map_err(|error| bad_name(&error).field("checkout_uid"))?;
    checkout.finish(&sub, &uid).await?;
    Ok(Json(Nothing {}))
}

/// Takes what Stripe tells by itself. Nobody but Stripe can sign it.
#[utoipa::path(post, path = "/checkout/stripe/webhook", tag = "entitlements", operation_id = "stripeWebhook",
    params(("Stripe-Signature" = String, Header, description = "When it was sent, and its signatures")),
    request_body(content = serde_json::Value, description = "An event of Stripe's"),
    responses((status = OK, body = Nothing)))]
pub(super) async fn webhook(
    State(app): State<Arc<App>>,
    headers: HeaderMap,
    RawBody(body): RawBody,
) -> Result<Json<Nothing>, Problem> {
    let signature = headers.get("stripe-signature").and_then(|value| value.to_str().ok());
    let accepted = checkout(&app)?.webhook(signature.unwrap_or_default(), &body).await;
    // Stripe repeats a webhook that is answered otherwise; a bad signature stays bad.
    accepted.map_err(|error| match error {
        error @ Error::NotStripes { .. } => {
            Problem::from(error).with_status(StatusCode::BAD_REQUEST)
        }
        error => error.into(),
    })?;
    Ok(Json(Nothing {}))
}

fn checkout(app: &App) -> Result<&Checkout, Problem> {
    let missing =
        || not_set_up("the server was started without \"stripe-key\", so it sells nothing");
    billing(app)?.checkout.as_ref().ok_or_else(missing)
}
