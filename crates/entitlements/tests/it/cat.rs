//! Somebody who answers like RevenueCat, well or badly, and counts who asks.

use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use axum::{
    Router,
    body::Bytes,
    extract::{Path, State},
    http::{HeaderMap, StatusCode, header},
    response::{IntoResponse, Response},
    routing::{get, post},
};
use serde_json::{Value, json};
use tokio::sync::{Mutex, Notify};

/// The keys that the server takes.
pub(crate) const SECRET_KEY: &str = "sk_cat_very_secret";
pub(crate) const PUBLIC_KEY: &str = "pk_cat_stripe_app";

/// How the server answers.
#[derive(Debug, Clone)]
pub(crate) enum Mood {
    /// As it should: what each customer has, `pro` until a date or none.
    Well,
    /// With this status.
    Status(u16),
    /// With this text.
    Says(&'static str),
    /// Not at all.
    Hangs,
    /// Well, once it is let go.
    Waits,
    /// By sending everybody to an address.
    Redirects(String),
}

/// A running server.
#[derive(Clone)]
pub(crate) struct Cat {
    pub(crate) url: String,
    inner: Arc<Inner>,
}

#[derive(Default)]
struct Inner {
    mood: Mutex<Option<Mood>>,
    /// What customers have, by their id; `*` is everybody else.
    entitlements: Mutex<HashMap<String, Value>>,
    receipts: Mutex<Vec<Value>>,
    asked: AtomicUsize,
    was_asked: Notify,
    let_go: Notify,
}

impl Cat {
    pub(crate) async fn start() -> Cat {
        let inner = Arc::new(Inner::default());
        let router = Router::new()
            .route("/v1/subscribers/{id}", get(subscriber))
            .route("/v1/receipts", post(receipt))
            .with_state(inner.clone());
        Cat { url: crate::world::serve(router).await, inner }
    }

    /// How often it was asked about customers.
    pub(crate) fn asked(&self) -> usize {
        self.inner.asked.load(Ordering::SeqCst)
    }

    /// The purchases it was told of.
    pub(crate) async fn receipts(&self) -> Vec<Value> {
        self.inner.receipts.lock().await.clone()
    }

    /// Says how to answer from now on.
    pub(crate) async fn is(&self, mood: Mood) {
        *self.inner.mood.lock().await = Some(mood);
    }

    /// Says what everybody has from now on.
    pub(crate) async fn everybody_has(&self, entitlements: Value) {
        self.inner.entitlements.lock().await.insert("*".into(), entitlements);
    }

    /// Waits for somebody to ask.
    pub(crate) async fn was_asked(&self) {
        self.inner.was_asked.notified().await;
    }

    /// Lets an answer that waits go.
    pub(crate) fn let_go(&self) {
        self.inner.let_go.notify_one();
    }
}

async fn subscriber(
    State(cat): State<Arc<Inner>>,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> Response {
    cat.asked.fetch_add(1, Ordering::SeqCst);
    cat.was_asked.notify_one();
    if !is_signed(&headers, SECRET_KEY) {
        return StatusCode::UNAUTHORIZED.into_response();
    }
    let mood = cat.mood.lock().await.clone().unwrap_or(Mood::Well);
    match mood {
        Mood::Well => {}
        Mood::Waits => cat.let_go.notified().await,
        mood => return misbehave(mood).await,
    }
    let all = cat.entitlements.lock().await;
    let entitlements = all.get(&id).or_else(|| all.get("*")).cloned().unwrap_or(json!({}));
    let subscriber = json!({
        "request_date": "2026-11-15T00:00:00Z",
        "subscriber": {"original_app_user_id": id, "entitlements": entitlements},
    });
    (StatusCode::OK, subscriber.to_string()).into_response()
}

async fn receipt(State(cat): State<Arc<Inner>>, headers: HeaderMap, body: Bytes) -> Response {
    let platform = headers.get("x-platform").and_then(|value| value.to_str().ok());
    if !is_signed(&headers, PUBLIC_KEY) || platform != Some("stripe") {
        return StatusCode::UNAUTHORIZED.into_response();
    }
    let mood = cat.mood.lock().await.clone().unwrap_or(Mood::Well);
    if !matches!(mood, Mood::Well | Mood::Waits) {
        return misbehave(mood).await;
    }
    let receipt: Value = serde_json::from_slice(&body).expect("a receipt is JSON");
    cat.receipts.lock().await.push(receipt);
    let bought = json!({"pro": {"expires_date": "2030-01-01T00:00:00Z"}});
    cat.entitlements.lock().await.insert("*".into(), bought);
    StatusCode::OK.into_response()
}

async fn misbehave(mood: Mood) -> Response {
    match mood {
        Mood::Status(status) => {
            let status = StatusCode::from_u16(status).expect("a status");
            (status, r#"{"code": 7, "message": "no"}"#).into_response()
        }
        Mood::Says(text) => text.into_response(),
        Mood::Redirects(to) => (StatusCode::FOUND, [(header::LOCATION, to)]).into_response(),
        Mood::Hangs => std::future::pending().await,
        Mood::Well | Mood::Waits => StatusCode::OK.into_response(),
    }
}

pub(crate) fn is_signed(headers: &HeaderMap, key: &str) -> bool {
    let shown = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
    shown == Some(&format!("Bearer {key}"))
}
