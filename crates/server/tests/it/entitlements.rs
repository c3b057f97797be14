//! What callers have paid for, how they pay, and limits, over HTTP.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use axum::{
    Router,
    http::StatusCode,
    response::{IntoResponse, Response},
    routing::{get, post},
};
use keyrack_entitlements::{
    Checkout, CheckoutSettings, Entitlements, RevenueCat, Settings, Stripe, keys, sign_webhook,
};
use keyrack_identity::Role;
use keyrack_keys::{Key, UserSub};
use keyrack_services::Billing;
use keyrack_store::Store;
use serde_json::{Value as Json, json};
use tokio::{net::TcpListener, sync::Mutex};

use crate::site::{Answer, Site, jwt};

const PRO: &str = "/api/1/users/me/entitlements/pro";
const START: &str = "/api/1/users/me/checkout/stripe/start";
const FINISH: &str = "/api/1/users/me/checkout/stripe/finish";
const WEBHOOK: &str = "/api/1/checkout/stripe/webhook";
pub(crate) const SECRETS: [&str; 4] =
    ["sk_cat_secret", "pk_cat_secret", "sk_till_secret", "whsec_secret"];

/// RevenueCat and Stripe in one.
#[derive(Default)]
struct Others {
    asked: AtomicUsize,
    fails: AtomicBool,
    is_paid: AtomicBool,
    receipts: AtomicUsize,
    /// The checkout that was started last.
    uid: Mutex<String>,
}

/// A server that sells, and those whom it asks.
struct Shop {
    site: Site,
    others: Arc<Others>,
}

/// What is sold, where nobody answers who knows what was paid for.
pub(crate) fn billing_of_nobody(store: &Store) -> Billing {
    // A port for which nobody may listen.
    billing(store, "http://127.0.0.1:1")
}

fn billing(store: &Store, url: &str) -> Billing {
    let [cat, public, till, webhook] = SECRETS;
    let source = RevenueCat::new(url, cat, public, Duration::from_secs(5)).expect("a source");
    let entitlements = Entitlements::open(store.clone(), Arc::new(source), Settings::default());
    let entitlements = entitlements.expect("good settings");
    let stripe = Stripe::new(url, till, Duration::from_secs(5)).expect("a till");
    let settings = CheckoutSettings {
        identifier: "pro".into(),
        price: "price".into(),
        frontend_root: "https://www.example.com".into(),
        paths: vec!["/admin".into()],
        webhook_secret: Some(webhook.into()),
    };
    let checkout = Checkout::new(entitlements.clone(), stripe, settings).expect("settings");
    Billing { entitlements, checkout: Some(checkout) }
}

impl Shop {
    async fn open() -> Shop {
        let others = Arc::new(Others::default());
        let url = serve(&others).await;
        let store = Store::open("embedded:memory").await.expect("a store");
        let billing = billing(&store, &url);
        Shop { site: Site::selling(store, Vec::new(), Some(billing)).await, others }
    }

    async fn read(&self, token: &str, headers: &[(&str, &str)]) -> Answer {
        let bearer = format!("bearer {token}");
        let headers = [&[("Authorization", &*bearer)], headers].concat();
        self.site.send("GET", PRO, &headers, "").await
    }

    async fn start(&self, token: &str) -> Answer {
        let body = json!({"cancel_path": "/admin", "success_path": "/admin"});
        self.site.post_as(token, START, body).await
    }

    async fn finish(&self, token: &str) -> Answer {
        let uid = self.others.uid.lock().await.clone();
        self.site.post_as(token, FINISH, json!({ "checkout_uid": uid })).await
    }

    /// Takes a limit away, as if its time were over.
    async fn wait(&self, limit: Key) {
        let mut cmd = redis::cmd("DEL");
        cmd.arg(&*self.site.store.place(&limit));
        cmd.exec_async(&mut self.site.store.connection()).await.expect("deleted");
    }
}

async fn serve(others: &Arc<Others>) -> String {
    let (cat, receipt) = (others.clone(), others.clone());
    let (start, look) = (others.clone(), others.clone());
    let router = Router::new()
        .route("/v1/subscribers/{id}", get(async move || subscriber(&cat)))
        .route("/v1/receipts", post(async move || receipts(&receipt)))
        .route("/v1/customers", post(async || json!({"id": "cus_1"}).to_string()))
        .route(
            "/v1/checkout/sessions",
            post(async move |headers: axum::http::HeaderMap| {
                let uid = headers["idempotency-key"].to_str().expect("a key").to_owned();
                *start.uid.lock().await = uid;
                session(&start)
            }),
        )
        .route("/v1/checkout/sessions/cs_1", get(async move || session(&look)));
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    tokio::spawn(async move { axum::serve(listener, router).await });
    url
}

fn subscriber(others: &Others) -> Response {
    others.asked.fetch_add(1, Ordering::SeqCst);
    if others.fails.load(Ordering::SeqCst) {
        return StatusCode::INTERNAL_SERVER_ERROR.into_response();
    }
    let entitlements = match others.receipts.load(Ordering::SeqCst) {
        0 => json!({}),
        _ => json!({"pro": {"expires_date": "2099-01-01T00:00:00Z"}}),
    };
    json!({"subscriber": {"entitlements": entitlements}}).to_string().into_response()
}

fn receipts(others: &Others) -> Response {
    if others.fails.load(Ordering::SeqCst) {
        return StatusCode::INTERNAL_SERVER_ERROR.into_response();
    }
    others.receipts.fetch_add(1, Ordering::SeqCst);
    StatusCode::OK.into_response()
}

fn session(others: &Others) -> String {
    let status = if others.is_paid.load(Ordering::SeqCst) { "complete" } else { "open" };
    json!({"id": "cs_1", "url": "https://pay.example.com/cs_1", "status": status}).to_string()
}

fn user(sub: &str) -> UserSub {
    UserSub::new(sub).expect("a subject")
}

#[tokio::test]
async fn a_caller_reads_an_entitlement_and_forces_a_read_once_in_thirty_seconds() {
    let shop = Shop::open().await;
    let token = shop.site.token("alice").await;
    let first = shop.read(&token, &[]).await;
    assert_eq!(first.header("cache-control"), Some("no-store"));
    let read = first.ok();
    assert!(read["checked_at"].is_f64(), "{read}");
    let expected = json!({
        "identifier": "pro", "is_active": false, "expiration_date": null, "checked_at": read["checked_at"],
    });
    assert_eq!(read, expected);
    assert_eq!(shop.read(&token, &[]).await.ok(), read);
    assert_eq!(shop.others.asked.load(Ordering::SeqCst), 1);
    let forced = [("Pragma", "no-cache")];
    shop.read(&token, &forced).await.ok();
    assert_eq!(shop.others.asked.load(Ordering::SeqCst), 2);
    let refused = shop.read(&token, &forced).await;
    let seconds: u32 = refused.header("retry-after").expect("a time").parse().expect("a number");
    assert!((1..=30).contains(&seconds), "{seconds}");
    refused.problem(429, "ratelimited");
    shop.read(&token, &[("Pragma", "NO-CACHE")]).await.ok();
    assert_eq!(shop.others.asked.load(Ordering::SeqCst), 2);
    shop.wait(keys::read_limit(&user("alice"))).await;
    shop.read(&token, &forced).await.ok();
    assert_eq!(shop.others.asked.load(Ordering::SeqCst), 3);
}

#[tokio::test]
async fn an_entitlement_that_there_is_not_is_refused_before_anybody_is_asked() {
    let shop = Shop::open().await;
    let token = shop.site.token("alice").await;
    let path = "/api/1/users/me/entitlements/gold";
    let told = shop.site.send_as(&token, "GET", path, json!({})).await;
    assert_eq!(
        told.problem(404, "unknown_entitlement"),
        "there is no entitlement \"gold\"; there are: pro"
    );
    assert_eq!(shop.others.asked.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn an_outage_hurts_no_reader_and_shows_in_the_metrics() {
    let shop = Shop::open().await;
    shop.others.fails.store(true, Ordering::SeqCst);
    for n in 0..12 {
        let token = shop.site.token(&format!("user{n}")).await;
        assert_eq!(shop.read(&token, &[]).await.ok()["is_active"], json!(true));
    }
    assert_eq!(shop.others.asked.load(Ordering::SeqCst), 10);
    let metrics = shop.site.get("/metrics").await.body;
    for line in [
        "keyrack_entitlements_lookups_total{origin=\"assumed\"} 12",
        "keyrack_entitlements_source_failures_total 10",
        "keyrack_entitlements_source_held_back_total 2",
        "keyrack_entitlements_breaker{state=\"open\"} 1",
    ] {
        assert!(metrics.contains(line), "{line} is not in {metrics}");
    }
    assert!(SECRETS.iter().all(|secret| !metrics.contains(secret)));
}

#[tokio::test]
async fn a_caller_learns_their_own_id_at_revenue_cat_and_nobody_keeps_it() {
    let shop = Shop::open().await;
    let path = "/api/1/users/me/revenue_cat_id";
    let mut ids = Vec::new();
    for sub in ["alice", "bob", "alice"] {
        let answer = shop.site.send_as(&jwt(sub), "GET", path, json!({})).await;
        assert_eq!(answer.header("cache-control"), Some("no-store"));
        ids.push(answer.ok()["revenue_cat_id"].as_str().expect("an id").to_owned());
    }
    assert!(ids[0].starts_with("oseh_u_rc_") && ids[0] == ids[2] && ids[0] != ids[1], "{ids:?}");
}

#[tokio::test]
async fn a_caller_buys_what_they_then_have() {
    let shop = Shop::open().await;
    let (alice, limits) = (jwt("alice"), user("alice"));
    let started = shop.start(&alice).await.ok();
    assert_eq!(started, json!({"url": "https://pay.example.com/cs_1"}));
    let limited = shop.start(&alice).await;
    assert_eq!(limited.header("retry-after"), Some("15"));
    limited.problem(429, "ratelimited");
    shop.finish(&alice).await.problem(409, "incomplete");
    shop.finish(&alice).await.problem(429, "ratelimited");
    shop.others.is_paid.store(true, Ordering::SeqCst);
    shop.wait(keys::checkout_finish_limit(&limits)).await;
    assert_eq!(shop.finish(&alice).await.ok(), json!({}));
    assert_eq!(shop.read(&alice, &[]).await.ok()["is_active"], json!(true));
    shop.wait(keys::checkout_finish_limit(&limits)).await;
    shop.finish(&alice).await.problem(404, "not_found");
    shop.wait(keys::checkout_start_limit(&limits)).await;
    shop.start(&alice).await.problem(409, "already_subscribed");
    assert_eq!(shop.others.receipts.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn a_failure_of_those_who_sell_is_told_as_such_and_without_secrets() {
    let shop = Shop::open().await;
    let alice = jwt("alice");
    shop.start(&alice).await.ok();
    shop.others.is_paid.store(true, Ordering::SeqCst);
    shop.others.fails.store(true, Ordering::SeqCst);
    let failed = shop.finish(&alice).await;
    assert_eq!(failed.header("retry-after"), Some("15"));
    let told = failed.problem(503, "revenue_cat_error");
    assert!(SECRETS.iter().all(|secret| !told.contains(secret)), "{told}");
    let wrong = json!({"cancel_path": "/admin", "success_path": "https://evil.example.com"});
    shop.site.post_as(&jwt("bob"), START, wrong).await.problem(422, "invalid");
}

#[tokio::test]
async fn stripe_is_heard_once_and_nobody_else_is() {
    let shop = Shop::open().await;
    shop.start(&jwt("alice")).await.ok();
    let uid = shop.others.uid.lock().await.clone();
    let session = json!({"id": "cs_1", "client_reference_id": uid, "status": "complete"});
    let event =
        json!({"type": "checkout.session.completed", "data": {"object": session}}).to_string();
    shop.site.send("POST", WEBHOOK, &[], &event).await.problem(400, "bad_signature");
    let now = shop.site.store.now_ms() / 1000;
    let forged = sign_webhook("whsec_other", now, event.as_bytes());
    let forged = [("Stripe-Signature", &*forged)];
    shop.site.send("POST", WEBHOOK, &forged, &event).await.problem(400, "bad_signature");
    assert_eq!(shop.others.receipts.load(Ordering::SeqCst), 0);
    let signature = sign_webhook(SECRETS[3], now, event.as_bytes());
    for _ in 0..3 {
        let answer =
            shop.site.send("POST", WEBHOOK, &[("Stripe-Signature", &signature)], &event).await;
        assert_eq!(answer.ok(), json!({}));
    }
    assert_eq!(shop.others.receipts.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn everybody_gets_in_where_they_belong_and_nowhere_else() {
    let shop = Shop::open().await;
    shop.start(&jwt("victim")).await.ok();
    let uid = shop.others.uid.lock().await.clone();
    let take = json!({"subject": "x", "max": 1, "period_seconds": 60});
    let routes: [(&str, &str, Json, &str); 5] = [
        ("GET", PRO, json!({}), "viewer"),
        ("GET", "/api/1/users/me/revenue_cat_id", json!({}), "viewer"),
        ("POST", START, json!({"cancel_path": "/admin", "success_path": "/admin"}), "signed in"),
        ("POST", FINISH, json!({"checkout_uid": uid}), "signed in"),
        ("POST", "/api/1/limits/search/take", take, "operator"),
    ];
    let viewer = shop.site.token_of("viewer", Role::Viewer).await;
    let admin = shop.site.token_of("admin", Role::Admin).await;
    for (method, path, body, asks) in routes {
        shop.site.send(method, path, &[], &body.to_string()).await.problem(401, "not_set");
        shop.site.send_as("ep_ut_x", method, path, body.clone()).await.problem(403, "invalid");
        let answer = shop.site.send_as(&viewer, method, path, body.clone()).await;
        match asks {
            "viewer" => assert_eq!(answer.status, 200, "{path}: {answer:?}"),
            "operator" => drop(answer.problem(403, "forbidden")),
            _ => drop(answer.problem(403, "invalid")),
        }
        let answer = shop.site.send_as(&admin, method, path, body.clone()).await;
        match asks {
            "signed in" => drop(answer.problem(403, "invalid")),
            _ => assert_eq!(answer.status, 200, "{path}: {answer:?}"),
        }
    }
    let stolen = shop.site.post_as(&jwt("thief"), FINISH, json!({ "checkout_uid": uid })).await;
    stolen.problem(404, "not_found");
}

#[tokio::test]
async fn limits_belong_to_their_caller_and_say_when_to_come_back() {
    let site = Site::start().await;
    let (alice, bob) = (site.token("alice").await, site.token("bob").await);
    let path = "/api/1/limits/search/take";
    let take = json!({"subject": "10.0.0.1", "max": 2, "period_seconds": 60});
    for remaining in [1, 0] {
        let taken = site.post_as(&alice, path, take.clone()).await.ok();
        assert_eq!((&taken["allowed"], &taken["remaining"]), (&json!(true), &json!(remaining)));
    }
    let refused = site.post_as(&alice, path, take.clone()).await;
    assert_eq!((refused.status, refused.header("retry-after")), (429, Some("60")));
    assert_eq!(refused.json()["allowed"], json!(false));
    assert_eq!(site.post_as(&bob, path, take).await.ok()["remaining"], json!(1));
    let steady = json!({"subject": "x", "max": 60, "period_seconds": 60, "burst": 5, "amount": 9});
    let never = site.post_as(&alice, "/api/1/limits/mail/take", steady).await;
    assert_eq!((never.status, never.header("retry-after")), (429, None));
    assert_eq!(never.json()["retry_after_seconds"], Json::Null);
    for (body, field) in [
        (json!({"subject": "x", "max": 0, "period_seconds": 60}), "max"),
        (json!({"subject": "x", "max": 1, "period_seconds": -1}), "period_seconds"),
        (json!({"subject": "x", "max": 1}), "period_seconds"),
    ] {
        let answer = site.post_as(&alice, path, body).await;
        assert_eq!(answer.status, 422, "{field}: {answer:?}");
    }
}

#[tokio::test]
async fn a_server_that_asks_and_sells_nothing_says_so() {
    let site = Site::start().await;
    let alice = jwt("alice");
    site.send_as(&alice, "GET", PRO, json!({})).await.problem(501, "not_set_up");
    let body = json!({"cancel_path": "/admin", "success_path": "/admin"});
    site.post_as(&alice, START, body).await.problem(501, "not_set_up");
}
