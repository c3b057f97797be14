//! Nothing that is written down or told holds a secret.

use std::{
    fmt::Write as _,
    io,
    sync::{Arc, Mutex},
};

use keyrack_entitlements::CheckoutSettings;
use keyrack_testkit::simulated_store;
use tracing_subscriber::fmt::MakeWriter;

use crate::{
    cat::{self, Cat, Mood},
    checkout::{start, try_start, wait_for_limits},
    till::{self, Till},
    world::{NOW_MS, WEBHOOK_SECRET, forced_pro_of, shop, user},
};

/// A log in memory.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().expect("a log").extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Log {
    type Writer = Log;

    fn make_writer(&'a self) -> Log {
        self.clone()
    }
}

#[tokio::test]
async fn no_secret_stands_in_the_log_in_errors_or_in_what_debugging_shows() {
    let log = Log::default();
    let subscriber = tracing_subscriber::fmt().with_max_level(tracing::Level::TRACE);
    let subscriber = subscriber.with_writer(log.clone()).finish();
    let _guard = tracing::subscriber::set_default(subscriber);
    let (store, _clock) = simulated_store(NOW_MS, 1).await;
    let (cat, till, alice) = (Cat::start().await, Till::start().await, user("alice"));
    let shop = shop(&store, &cat, &till);
    let started = start(&shop, &alice).await;
    let customer = shop.entitlements().ensure_customer(&alice).await.expect("a customer");
    let mut told = format!("{shop:?} {customer:?} {started:?}");
    let moods =
        [Mood::Status(500), Mood::Status(401), Mood::Redirects("http://127.0.0.1:9/".into())];
    cat.is(Mood::Says("{")).await;
    forced_pro_of(shop.entitlements(), &alice).await;
    for mood in moods {
        cat.is(mood).await;
        forced_pro_of(shop.entitlements(), &alice).await;
        wait_for_limits(&store, &alice).await;
        till.all_are("complete").await;
        let error = shop.finish(&alice, &started.uid).await.expect_err("the source fails");
        write!(told, "{error} {error:?}").expect("written");
    }
    wait_for_limits(&store, &alice).await;
    till.fails(&[401]).await;
    let error = try_start(&shop, &user("bob")).await.expect_err("stripe fails");
    write!(told, "{error} {error:?}").expect("written");
    let settings = CheckoutSettings {
        identifier: "pro".into(),
        price: "price".into(),
        frontend_root: "https://example.com".into(),
        paths: vec!["/".into()],
        webhook_secret: Some(WEBHOOK_SECRET.into()),
    };
    write!(told, "{settings:?}").expect("written");
    let logged = String::from_utf8(log.0.lock().expect("a log").clone()).expect("text");
    assert!(logged.contains("the source of entitlements failed"), "{logged}");
    let id = customer.revenue_cat_id();
    for secret in [cat::SECRET_KEY, cat::PUBLIC_KEY, till::SECRET_KEY, WEBHOOK_SECRET, id] {
        assert!(!told.contains(secret), "{secret} in {told}");
        let ours = logged.lines().filter(|line| line.contains("keyrack"));
        for line in ours {
            assert!(!line.contains(secret), "{secret} in {line}");
        }
    }
}
