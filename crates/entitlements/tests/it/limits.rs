//! The documented limits.

use std::time::Duration;

use keyrack_entitlements::{CHECKOUT_LIMIT_S, Error, READ_LIMIT_S, keys};
use keyrack_keys::Key;
use keyrack_store::Store;
use keyrack_testkit::on_every_store_at;

use crate::{
    cat::Cat,
    checkout::{start, try_start},
    till::Till,
    world::{NOW_MS, ask, assert_clean, known, shop, user},
};

#[tokio::test(flavor = "multi_thread")]
async fn a_user_reads_past_the_cache_every_thirty_seconds_on_every_store() {
    assert_eq!(READ_LIMIT_S, 30);
    on_every_store_at(NOW_MS, async |store, _| {
        let (cat, alice) = (Cat::start().await, user("alice"));
        let entitlements = known(&store, &cat, &alice).await;
        let key = keys::read_limit(&alice);
        assert_eq!(key.name(), "entitlements:read:force:ratelimit:alice");
        entitlements.limit_read(&alice).await.expect("the first");
        let value: String = ask(&store, "GET", &key, &[]).await;
        assert_eq!(value, "1");
        assert_lasts(&store, &key, READ_LIMIT_S).await;
        let _: i64 = ask(&store, "EXPIRE", &key, &["20"]).await;
        for _ in 0..3 {
            match entitlements.limit_read(&alice).await {
                Err(Error::Limited { retry_after }) => {
                    let range = Duration::from_secs(10)..=Duration::from_secs(20);
                    assert!(
                        range.contains(&retry_after),
                        "refusals extend nothing: {retry_after:?}"
                    );
                }
                other => panic!("not limited: {other:?}"),
            }
        }
        entitlements.limit_read(&user("bob")).await.expect("somebody else");
        assert_clean(&store).await;
        let _: i64 = ask(&store, "DEL", &key, &[]).await;
        entitlements.limit_read(&alice).await.expect("once it has expired");
    })
    .await;
}

/// Makes sure that a limit was set for so many seconds, of which a few may have passed.
async fn assert_lasts(store: &Store, key: &Key, seconds: u32) {
    let left: u32 = ask(store, "TTL", key, &[]).await;
    assert!((seconds - 5..=seconds).contains(&left), "{}: {left}", key.name());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_checkout_is_started_and_looked_at_every_fifteen_seconds_on_every_store() {
    assert_eq!(CHECKOUT_LIMIT_S, 15);
    on_every_store_at(NOW_MS, async |store, _| {
        let (cat, till, alice) = (Cat::start().await, Till::start().await, user("alice"));
        let shop = shop(&store, &cat, &till);
        let started = start(&shop, &alice).await;
        let looked = shop.finish(&alice, &started.uid).await;
        assert!(matches!(looked, Err(Error::Incomplete { .. })), "{looked:?}");
        for (key, name) in [
            (keys::checkout_start_limit(&alice), "checkout:stripe:start:ratelimit:alice"),
            (keys::checkout_finish_limit(&alice), "checkout:stripe:finish:ratelimit:alice"),
        ] {
            assert_eq!(key.name(), name);
            let value: String = ask(&store, "GET", &key, &[]).await;
            assert_eq!(value, "1");
            assert_lasts(&store, &key, CHECKOUT_LIMIT_S).await;
        }
        // What is limited asks nobody.
        let looks = till.looks();
        let limited = shop.finish(&alice, &started.uid).await;
        assert!(matches!(limited, Err(Error::Limited { .. })), "{limited:?}");
        let limited = try_start(&shop, &alice).await;
        assert!(matches!(limited, Err(Error::Limited { .. })), "{limited:?}");
        assert_eq!((till.looks(), till.sessions().await.len(), cat.asked()), (looks, 1, 1));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_permission_is_back_when_its_time_is_over() {
    let (store, clock) = keyrack_testkit::simulated_store(NOW_MS, 1).await;
    let (cat, alice) = (Cat::start().await, user("alice"));
    let entitlements = known(&store, &cat, &alice).await;
    entitlements.limit_read(&alice).await.expect("the first");
    clock.advance_ms(29_999);
    let refused = entitlements.limit_read(&alice).await;
    assert!(matches!(refused, Err(Error::Limited { .. })), "{refused:?}");
    clock.advance_ms(1);
    entitlements.limit_read(&alice).await.expect("the second");
}

#[tokio::test(flavor = "multi_thread")]
async fn of_a_hundred_at_once_one_is_let_through_on_every_store() {
    on_every_store_at(NOW_MS, async |store, _| {
        let (cat, alice) = (Cat::start().await, user("alice"));
        let entitlements = known(&store, &cat, &alice).await;
        let asking = (0..100).map(|_| entitlements.limit_read(&alice));
        let answers = futures_util::future::join_all(asking).await;
        assert_eq!(answers.iter().filter(|answer| answer.is_ok()).count(), 1);
    })
    .await;
}
