//! A receiver, and webhooks that send to it.

use std::{net::SocketAddr, sync::Arc};

use axum::{
    Router,
    body::Bytes,
    extract::State,
    http::{HeaderMap, StatusCode, Uri, header::LOCATION},
    response::{IntoResponse, Response},
};
use keyrack_engine::SimulatedHost;
use keyrack_store::Store;
use keyrack_testkit::on_every_store_at;
use keyrack_webhooks::{
    AllowedPrivate, Change, CreatedHook, Draft, Event, HookId, Settings, Webhooks,
};
use serde_json::{Value as Json, json};
use tokio::{net::TcpListener, sync::watch};

pub(crate) const NOW: u64 = 1_794_709_387_250;
pub(crate) const SECRET: &str = "a secret of sixteen and more";

/// What a receiver does with requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    Answers(u16),
    /// It sends elsewhere: to `/elsewhere` of itself.
    Redirects,
    /// It takes a request and says nothing.
    Hangs,
}

/// A request that came.
#[derive(Debug, Clone)]
pub(crate) struct Received {
    pub(crate) path: String,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Vec<u8>,
    /// Whether it was answered with 2xx.
    pub(crate) taken: bool,
}

impl Received {
    pub(crate) fn json(&self) -> Json {
        serde_json::from_slice(&self.body).expect("JSON")
    }

    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).expect("the header").to_str().expect("text")
    }
}

/// An HTTP server that remembers what it was sent.
#[derive(Clone)]
pub(crate) struct Receiver {
    pub(crate) addr: SocketAddr,
    mode: Arc<watch::Sender<Mode>>,
    received: Arc<watch::Sender<Vec<Received>>>,
}

impl Receiver {
    pub(crate) async fn start(mode: Mode) -> Receiver {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let receiver = Receiver {
            addr: listener.local_addr().expect("an address"),
            mode: Arc::new(watch::Sender::new(mode)),
            received: Arc::default(),
        };
        let app = Router::new().fallback(take).with_state(receiver.clone());
        tokio::spawn(async move { axum::serve(listener, app).await });
        receiver
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}/hook/path-secret", self.addr)
    }

    pub(crate) fn set(&self, mode: Mode) {
        self.mode.send_replace(mode);
    }

    pub(crate) fn received(&self) -> Vec<Received> {
        self.received.borrow().clone()
    }

    /// Waits until so many requests came.
    pub(crate) async fn wait_for(&self, n: usize) {
        let mut received = self.received.subscribe();
        received.wait_for(|received| received.len() >= n).await.expect("the receiver runs");
    }
}

async fn take(
    State(receiver): State<Receiver>,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let mode = *receiver.mode.borrow();
    let taken = matches!(mode, Mode::Answers(status) if status < 300);
    let (path, body) = (uri.path().to_owned(), body.to_vec());
    let request = Received { path, headers, body, taken };
    receiver.received.send_modify(|received| received.push(request));
    match mode {
        Mode::Answers(status) => StatusCode::from_u16(status).expect("a status").into_response(),
        Mode::Redirects => (StatusCode::FOUND, [(LOCATION, "/elsewhere")]).into_response(),
        Mode::Hangs => std::future::pending().await,
    }
}

/// Webhooks of a store whose clock is moved by hand.
pub(crate) struct Fixture {
    pub(crate) webhooks: Webhooks,
    pub(crate) store: Store,
    pub(crate) clock: SimulatedHost,
}

/// Runs a test on every kind of store.
pub(crate) async fn everywhere(test: impl AsyncFn(Fixture)) {
    on_every_store_at(NOW, async |store, clock| {
        let webhooks = webhooks(&store);
        test(Fixture { webhooks, store, clock }).await;
    })
    .await;
}

/// The webhooks of another server on the same store. This one may call this machine.
pub(crate) fn webhooks(store: &Store) -> Webhooks {
    let allow_private = AllowedPrivate::parse("127.0.0.1").expect("a list");
    Webhooks::new(store.clone(), Settings { allow_private, ..Settings::default() })
}

impl Fixture {
    pub(crate) async fn hook(&self, url: String) -> HookId {
        let created: CreatedHook = self.webhooks.create(draft(url)).await.expect("created");
        created.id
    }

    pub(crate) async fn enqueue(&self, events: &[Event]) {
        self.webhooks.enqueue(events).await.expect("taken");
    }

    pub(crate) async fn deliver(&self, hook: &HookId) -> usize {
        self.webhooks.deliver_due(hook).await.expect("delivered")
    }

    pub(crate) async fn change(&self, hook: &HookId, change: Change) {
        self.webhooks.change(hook, change).await.expect("changed");
    }

    pub(crate) async fn waiting(&self, hook: &HookId) -> u64 {
        self.webhooks.hook(hook).await.expect("the webhook").health.waiting
    }

    /// Moves the clock on and delivers, a minute at a time.
    pub(crate) async fn pass_minutes(&self, hook: &HookId, minutes: u64) {
        for _ in 0..minutes {
            self.clock.advance_ms(60_000);
            self.deliver(hook).await;
        }
    }
}

pub(crate) fn draft(url: String) -> Draft {
    Draft {
        url: Some(url),
        events: vec!["job.completed".into(), "job.failed".into()],
        secret: Some(SECRET.into()),
        ..Draft::default()
    }
}

/// The nth event of a job.
pub(crate) fn event(job: usize, n: usize) -> Event {
    let (subject, unique) = (format!("job:{job}"), format!("{job} {n}"));
    let data = json!({"job": job, "n": n});
    Event::new("job.failed", &unique, NOW, subject, data).in_queue("emails")
}
