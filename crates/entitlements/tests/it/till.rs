//! Somebody who answers like Stripe, well or badly, and counts what is asked.

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use axum::{
    Router,
    body::Bytes,
    extract::{Path, State},
    http::{HeaderMap, StatusCode},
    response::{IntoResponse, Response},
    routing::{get, post},
};
use serde_json::{Value, json};
use tokio::sync::{Mutex, Notify};

use crate::cat::is_signed;

/// The key that the server takes.
pub(crate) const SECRET_KEY: &str = "sk_till_very_secret";

/// A running server.
#[derive(Clone)]
pub(crate) struct Till {
    pub(crate) url: String,
    pub(crate) inner: Arc<Inner>,
}

#[derive(Default)]
pub(crate) struct Inner {
    /// The sessions, by the idempotency key with which they were created.
    sessions: Mutex<BTreeMap<String, Value>>,
    /// What came with each customer, by the idempotency key.
    customers: Mutex<BTreeMap<String, String>>,
    /// The statuses with which the next requests fail.
    failures: Mutex<Vec<u16>>,
    pub(crate) session_requests: AtomicUsize,
    pub(crate) looks: AtomicUsize,
    /// Whether looks wait until they are let go.
    pub(crate) waits: std::sync::atomic::AtomicBool,
    pub(crate) was_asked: Notify,
    pub(crate) let_go: Notify,
}

impl Till {
    pub(crate) async fn start() -> Till {
        let inner = Arc::new(Inner::default());
        let router = Router::new()
            .route("/v1/customers", post(create_customer))
            .route("/v1/checkout/sessions", post(create_session))
            .route("/v1/checkout/sessions/{id}", get(session))
            .route("/v1/checkout/sessions/{id}/expire", post(expire))
            .with_state(inner.clone());
        Till { url: crate::world::serve(router).await, inner }
    }

    /// The sessions that there are.
    pub(crate) async fn sessions(&self) -> Vec<Value> {
        self.inner.sessions.lock().await.values().cloned().collect()
    }

    /// The forms with which customers were created.
    pub(crate) async fn customers(&self) -> Vec<String> {
        self.inner.customers.lock().await.values().cloned().collect()
    }

    /// Sets the status of all sessions.
    pub(crate) async fn all_are(&self, status: &str) {
        for session in self.inner.sessions.lock().await.values_mut() {
            session["status"] = json!(status);
        }
    }

    /// Sets whether all sessions are paid.
    pub(crate) async fn all_payments_are(&self, status: &str) {
        for session in self.inner.sessions.lock().await.values_mut() {
            session["payment_status"] = json!(status);
        }
    }

    /// Sets the status of one session.
    pub(crate) async fn is(&self, id: &str, status: &str) {
        for session in self.inner.sessions.lock().await.values_mut() {
            if session["id"] == id {
                session["status"] = json!(status);
            }
        }
    }

    /// Fails the next requests, the last of these first.
    pub(crate) async fn fails(&self, statuses: &[u16]) {
        *self.inner.failures.lock().await = statuses.to_vec();
    }

    pub(crate) fn looks(&self) -> usize {
        self.inner.looks.load(Ordering::SeqCst)
    }
}

async fn refusal(till: &Inner, headers: &HeaderMap) -> Option<Response> {
    if !is_signed(headers, SECRET_KEY) {
        return Some(StatusCode::UNAUTHORIZED.into_response());
    }
    let status = till.failures.lock().await.pop()?;
    Some(StatusCode::from_u16(status).expect("a status").into_response())
}

fn idempotency_key(headers: &HeaderMap) -> String {
    let key = headers.get("idempotency-key").expect("requests that create have a key");
    key.to_str().expect("a plain key").to_owned()
}

async fn create_customer(
    State(till): State<Arc<Inner>>,
    headers: HeaderMap,
    form: String,
) -> Response {
    if let Some(refusal) = refusal(&till, &headers).await {
        return refusal;
    }
    let mut customers = till.customers.lock().await;
    customers.insert(idempotency_key(&headers), form);
    let id = format!("cus_{}", customers.len());
    json!({"id": id, "object": "customer"}).to_string().into_response()
}

async fn create_session(
    State(till): State<Arc<Inner>>,
    headers: HeaderMap,
    form: String,
) -> Response {
    till.session_requests.fetch_add(1, Ordering::SeqCst);
    if let Some(refusal) = refusal(&till, &headers).await {
        return refusal;
    }
    let mut sessions = till.sessions.lock().await;
    let number = sessions.len() + 1;
    let session = sessions.entry(idempotency_key(&headers)).or_insert_with(|| {
        json!({
            "id": format!("cs_test_{number}"),
            "object": "checkout.session",
            "url": format!("https://checkout.example.com/c/pay/cs_test_{number}"),
            "status": "open",
            "client_reference_id": idempotency_key(&headers),
            "expires_at": null,
            "form": form,
        })
    });
    session.to_string().into_response()
}

async fn session(
    State(till): State<Arc<Inner>>,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> Response {
    till.looks.fetch_add(1, Ordering::SeqCst);
    till.was_asked.notify_one();
    if till.waits.load(Ordering::SeqCst) {
        till.let_go.notified().await;
    }
    if let Some(refusal) = refusal(&till, &headers).await {
        return refusal;
    }
    let sessions = till.sessions.lock().await;
    match sessions.values().find(|session| session["id"] == *id) {
        Some(session) => session.to_string().into_response(),
        None => StatusCode::NOT_FOUND.into_response(),
    }
}

async fn expire(
    State(till): State<Arc<Inner>>,
    Path(id): Path<String>,
    headers: HeaderMap,
    _body: Bytes,
) -> Response {
    if let Some(refusal) = refusal(&till, &headers).await {
        return refusal;
    }
    let mut sessions = till.sessions.lock().await;
    for session in sessions.values_mut().filter(|session| session["id"] == *id) {
        session["status"] = json!("expired");
    }
    StatusCode::OK.into_response()
}
