//! RevenueCat and Stripe in one: a server that counts what it is asked.

use std::sync::{
    Arc,
    atomic::{AtomicU16, AtomicUsize, Ordering},
};

use axum::{
    Router,
    http::StatusCode,
    routing::{get, post},
};
use serde_json::json;
use tokio::{net::TcpListener, runtime::Runtime};

/// A running server.
pub(super) struct Others {
    pub(super) url: String,
    counts: Arc<Counts>,
    _runtime: Runtime,
}

#[derive(Default)]
struct Counts {
    asked: AtomicUsize,
    sessions: AtomicUsize,
    customers: AtomicUsize,
    looks: AtomicUsize,
    /// With which status customers are asked about in vain; 0 for none.
    refusal: AtomicU16,
}

impl Others {
    pub(super) fn start() -> Others {
        let runtime = Runtime::new().expect("a runtime");
        let counts = Arc::new(Counts::default());
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).expect("a port");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        let router = router(&counts);
        runtime.spawn(async move { axum::serve(listener, router).await });
        Others { url, counts, _runtime: runtime }
    }

    /// How often it was asked about customers.
    pub(super) fn asked(&self) -> usize {
        self.counts.asked.load(Ordering::SeqCst)
    }

    /// How many checkouts were started.
    pub(super) fn sessions(&self) -> usize {
        self.counts.sessions.load(Ordering::SeqCst)
    }

    /// How many customers were made.
    pub(super) fn customers(&self) -> usize {
        self.counts.customers.load(Ordering::SeqCst)
    }

    /// How often it was asked about checkouts.
    pub(super) fn looks(&self) -> usize {
        self.counts.looks.load(Ordering::SeqCst)
    }

    /// Fails from now on.
    pub(super) fn fail(&self) {
        self.counts.refusal.store(500, Ordering::SeqCst);
    }

    /// Knows no customer from now on.
    pub(super) fn forget_everybody(&self) {
        self.counts.refusal.store(404, Ordering::SeqCst);
    }
}

fn router(counts: &Arc<Counts>) -> Router {
    let count = |which: fn(&Counts) -> &AtomicUsize, answer: String| {
        let counts = counts.clone();
        async move || {
            which(&counts).fetch_add(1, Ordering::SeqCst);
            answer.clone()
        }
    };
    let session = json!({"id": "cs_1", "url": "https://pay.example.com/cs_1", "status": "open"});
    let asked = counts.clone();
    let subscriber = async move || {
        asked.asked.fetch_add(1, Ordering::SeqCst);
        match StatusCode::from_u16(asked.refusal.load(Ordering::SeqCst)) {
            Ok(refusal) => Err(refusal),
            Err(_) => Ok(json!({"subscriber": {"entitlements": {}}}).to_string()),
        }
    };
    let customer = json!({"id": "cus_1"}).to_string();
    Router::new()
        .route("/v1/subscribers/{id}", get(subscriber))
        .route("/v1/customers", post(count(|counts| &counts.customers, customer)))
        .route("/v1/checkout/sessions", post(count(|counts| &counts.sessions, session.to_string())))
        .route(
            "/v1/checkout/sessions/{id}",
            get(count(|counts| &counts.looks, session.to_string())),
        )
}
