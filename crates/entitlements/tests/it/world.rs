//! What the tests have in common.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use axum::Router;
use keyrack_entitlements::{
    Checkout, CheckoutSettings, EntitlementLookup, Entitlements, RevenueCat, Settings, Stripe, keys,
};
use keyrack_keys::{Key, Registry, UserSub};
use keyrack_lint::{Options, lint};
use keyrack_store::Store;
use redis::FromRedisValue;
use serde_json::{Value, json};

use crate::{
    cat::{self, Cat},
    till::{self, Till},
};

/// Some time in November 2026.
pub(crate) const NOW_MS: u64 = 1_794_709_387_250;
pub(crate) const NOW: f64 = 1_794_709_387.25;

pub(crate) const WEBHOOK_SECRET: &str = "whsec_very_secret";

/// Long enough for a server on this machine, however busy, and short enough to wait for.
pub(crate) const SOURCE_TIME_MAX: Duration = Duration::from_secs(5);

/// Serves on a port of its own; the address of it.
pub(crate) async fn serve(router: Router) -> String {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    tokio::spawn(async move { axum::serve(listener, router).await });
    url
}

pub(crate) fn user(text: &str) -> UserSub {
    UserSub::new(text).expect("a good subject")
}

/// What somebody has until 2030.
pub(crate) fn pro() -> Value {
    json!({"pro": {"expires_date": "2030-01-01T00:00:00Z", "product_identifier": "pro_yearly"}})
}

/// A process with entitlements, as RevenueCat knows them.
pub(crate) fn entitlements(store: &Store, cat: &Cat) -> Entitlements {
    entitlements_within(store, cat, SOURCE_TIME_MAX)
}

/// The same with some time for the source.
pub(crate) fn entitlements_within(store: &Store, cat: &Cat, time_max: Duration) -> Entitlements {
    let source = RevenueCat::new(&cat.url, cat::SECRET_KEY, cat::PUBLIC_KEY, time_max);
    let settings = Settings { source_time_max: time_max, ..Settings::default() };
    let source = Arc::new(source.expect("a source"));
    Entitlements::open(store.clone(), source, settings).expect("good settings")
}

/// The same for somebody who is known.
pub(crate) async fn known(store: &Store, cat: &Cat, user: &UserSub) -> Entitlements {
    let entitlements = entitlements(store, cat);
    entitlements.ensure_customer(user).await.expect("a customer");
    entitlements.ready().await;
    entitlements
}

/// A shop that sells `pro`.
pub(crate) fn shop(store: &Store, cat: &Cat, till: &Till) -> Checkout {
    let stripe = Stripe::new(&till.url, till::SECRET_KEY, Stripe::TIME_MAX).expect("a till");
    let settings = CheckoutSettings {
        identifier: "pro".into(),
        price: "price_yearly".into(),
        frontend_root: "https://www.example.com".into(),
        paths: vec!["/admin".into()],
        webhook_secret: Some(WEBHOOK_SECRET.into()),
    };
    Checkout::new(entitlements(store, cat), stripe, settings).expect("good settings")
}

pub(crate) async fn pro_of(entitlements: &Entitlements, user: &UserSub) -> EntitlementLookup {
    entitlements.lookup(user, "pro").await.expect("an answer")
}

pub(crate) async fn forced_pro_of(
    entitlements: &Entitlements,
    user: &UserSub,
) -> EntitlementLookup {
    entitlements.lookup_forced(user, "pro").await.expect("an answer")
}

/// What a command about a key answers.
pub(crate) async fn ask<T: FromRedisValue>(
    store: &Store,
    command: &str,
    key: &Key,
    args: &[&str],
) -> T {
    let mut cmd = redis::cmd(command);
    cmd.arg(&*store.place(key)).arg(args);
    cmd.query_async(&mut store.connection()).await.expect("an answer")
}

/// What the store holds about a user.
pub(crate) async fn hash(store: &Store, user: &UserSub) -> BTreeMap<String, String> {
    ask(store, "HGETALL", &keys::entitlements(user), &[]).await
}

/// The lint has nothing to say about what was written.
pub(crate) async fn assert_clean(store: &Store) {
    let registry: &'static Registry =
        Box::leak(Box::new(Registry::new(&[keyrack_entitlements::FAMILIES])));
    let report = lint(store, registry, &Options::default(), |_| {}).await.expect("a report");
    assert_eq!(report.findings, Default::default());
    assert_eq!(report.unknown.keys, 0);
}
