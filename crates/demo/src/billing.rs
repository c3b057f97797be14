//! A stand-in of the billing provider: answers as RevenueCat does, on a port of this machine, and fails when it is told to.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use axum::{
    Json, Router,
    extract::{Path, State},
    http::StatusCode,
    response::IntoResponse,
    routing::get,
};
use jiff::{SignedDuration, Timestamp};
use keyrack_store::Clock;
use serde_json::{Value, json};
use tokio::{net::TcpListener, task::AbortHandle};

use crate::error::Error;

/// What users can have.
pub(crate) const PRO: &str = "pro";

/// The stand-in; it ends when this is dropped.
#[derive(Debug)]
pub(crate) struct Billing {
    url: String,
    down: Arc<AtomicBool>,
    server: AbortHandle,
}

impl Billing {
    /// Begins to answer.
    pub(crate) async fn start(clock: Arc<dyn Clock>) -> Result<Billing, Error> {
        let listener = TcpListener::bind("127.0.0.1:0").await.map_err(Error::Billing)?;
        let address = listener.local_addr().map_err(Error::Billing)?;
        let down = Arc::new(AtomicBool::new(false));
        let books = Books { down: down.clone(), clock };
        let routes = Router::new().route("/v1/subscribers/{id}", get(subscriber)).with_state(books);
        let serving = async move {
            if let Err(error) = axum::serve(listener, routes).await {
                tracing::warn!(%error, "the stand-in of the billing provider has stopped");
            }
        };
        let server = tokio::spawn(serving).abort_handle();
        Ok(Billing { url: format!("http://{address}"), down, server })
    }

    /// Where it is.
    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// Lets it fail, or answer again.
    pub(crate) fn set_down(&self, down: bool) {
        self.down.store(down, Ordering::Relaxed);
    }
}

impl Drop for Billing {
    fn drop(&mut self) {
        self.server.abort();
    }
}

#[derive(Debug, Clone)]
struct Books {
    down: Arc<AtomicBool>,
    clock: Arc<dyn Clock>,
}

async fn subscriber(State(books): State<Books>, Path(id): Path<String>) -> impl IntoResponse {
    if books.down.load(Ordering::Relaxed) {
        return StatusCode::SERVICE_UNAVAILABLE.into_response();
    }
    let now = i64::try_from(books.clock.now_ms()).unwrap_or(0);
    let now = Timestamp::from_millisecond(now).unwrap_or_default();
    Json(json!({ "subscriber": { "entitlements": bought(&id, now) } })).into_response()
}

/// What somebody has bought follows from their id: half have paid, some for ever, some not for long enough.
fn bought(id: &str, now: Timestamp) -> Value {
    let days = |days: i64| {
        let end = now.checked_add(SignedDuration::from_hours(24 * days)).unwrap_or(now);
        json!({ PRO: { "expires_date": end.to_string() } })
    };
    match id.bytes().fold(0_u32, |sum, byte| sum.wrapping_mul(31).wrapping_add(byte.into())) % 10 {
        0..4 => days(23),
        4 => json!({ PRO: { "expires_date": null } }),
        5 => days(-3),
        _ => json!({}),
    }
}
