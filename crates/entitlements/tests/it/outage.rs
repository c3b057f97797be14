//! A source that fails hurts nobody: what is known has to do, and where nothing is, nobody is turned away.

use std::time::Duration;

use keyrack_entitlements::{Entitlement, Origin, keys};
use keyrack_store::Store;
use keyrack_testkit::on_every_store_at;
use serde_json::json;

use crate::{
    cat::{Cat, Mood},
    world::{
        NOW, NOW_MS, ask, assert_clean, entitlements_within, forced_pro_of, hash, known, pro,
        pro_of, user,
    },
};

async fn errors(store: &Store) -> usize {
    ask(store, "ZCARD", &keys::revenue_cat_errors(), &[]).await
}

#[tokio::test(flavor = "multi_thread")]
async fn every_kind_of_failure_is_counted_and_lets_everybody_in_on_every_store() {
    on_every_store_at(NOW_MS, async |store, _| {
        let (cat, elsewhere) = (Cat::start().await, Cat::start().await);
        let entitlements = known(&store, &cat, &user("nobody")).await;
        let moods = [
            Mood::Status(429),
            Mood::Status(500),
            Mood::Status(503),
            Mood::Status(401),
            Mood::Says("{\"subscriber\": {\"entitle"),
            Mood::Says("[]"),
            Mood::Says(r#"{"subscriber": {"entitlements": {"pro": {"expires_date": "soon"}}}}"#),
            Mood::Redirects(format!("{}/v1/subscribers/x", elsewhere.url)),
        ];
        for (n, mood) in moods.iter().enumerate() {
            cat.is(mood.clone()).await;
            let somebody = user(&format!("user {n}"));
            entitlements.ensure_customer(&somebody).await.expect("a customer");
            let found = pro_of(&entitlements, &somebody).await;
            assert_eq!(found.entitlement, Entitlement::assumed(NOW), "{mood:?}");
            assert_eq!(found.origin, Origin::Assumed, "{mood:?}");
            assert_eq!((cat.asked(), errors(&store).await), (n + 1, n + 1), "{mood:?}");
        }
        assert_eq!(elsewhere.asked(), 0, "nobody follows with the key");
        assert_clean(&store).await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_source_that_hangs_is_given_up_on_every_store() {
    on_every_store_at(NOW_MS, async |store, _| {
        let (cat, alice) = (Cat::start().await, user("alice"));
        cat.is(Mood::Hangs).await;
        let entitlements = entitlements_within(&store, &cat, Duration::from_millis(50));
        entitlements.ensure_customer(&alice).await.expect("a customer");
        assert_eq!(pro_of(&entitlements, &alice).await.origin, Origin::Assumed);
        assert_eq!((cat.asked(), errors(&store).await), (1, 1));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_source_that_is_not_there_lets_everybody_in() {
    let (store, _clock) = keyrack_testkit::simulated_store(NOW_MS, 1).await;
    let (mut cat, alice) = (Cat::start().await, user("alice"));
    // Nothing ever listens on the port that everybody knows for this.
    cat.url = "http://127.0.0.1:9".into();
    let entitlements = known(&store, &cat, &alice).await;
    assert_eq!(pro_of(&entitlements, &alice).await.origin, Origin::Assumed);
    assert_eq!(errors(&store).await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_assumption_is_stored_as_documented_and_ends_after_ten_minutes_on_every_store() {
    on_every_store_at(NOW_MS, async |store, clock| {
        let (cat, alice) = (Cat::start().await, user("alice"));
        let entitlements = known(&store, &cat, &alice).await;
        cat.is(Mood::Status(500)).await;
        assert!(pro_of(&entitlements, &alice).await.entitlement.is_active);
        let expected =
            r#"{"is_active": true, "expires_at": 1794709987.25, "checked_at": 1794709387.25}"#;
        assert_eq!(hash(&store, &alice).await["pro"], expected);
        let ttl: i64 = ask(&store, "TTL", &keys::entitlements(&alice), &[]).await;
        assert!((590..=600).contains(&ttl), "{ttl}");
        cat.is(Mood::Well).await;
        clock.advance_ms(599_999);
        let still = pro_of(&entitlements, &alice).await;
        assert_eq!((still.origin, cat.asked()), (Origin::Assumed, 1), "nobody is asked meanwhile");
        clock.advance_ms(1);
        let over = pro_of(&entitlements, &alice).await;
        assert_eq!((over.origin, over.entitlement.is_active), (Origin::Source, false));
        let ttl: i64 = ask(&store, "TTL", &keys::entitlements(&alice), &[]).await;
        assert!(ttl > 600, "{ttl}");
        assert_clean(&store).await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_assumption_of_another_program_for_a_whole_day_ends_as_early_on_every_store() {
    on_every_store_at(NOW_MS, async |store, clock| {
        let (cat, alice) = (Cat::start().await, user("alice"));
        let entitlements = known(&store, &cat, &alice).await;
        let assumed = r#"{"is_active": true, "expires_at": 1794709987.123457, "checked_at": 1794709387.123457}"#;
        let key = keys::entitlements(&alice);
        let _: i64 = ask(&store, "HSET", &key, &["pro", assumed]).await;
        let _: i64 = ask(&store, "EXPIRE", &key, &["86400"]).await;
        assert_eq!(pro_of(&entitlements, &alice).await.origin, Origin::Assumed);
        clock.advance_ms(600_000);
        assert_eq!(pro_of(&entitlements, &alice).await.origin, Origin::Source);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_known_comes_before_what_is_assumed_on_every_store() {
    on_every_store_at(NOW_MS, async |store, clock| {
        let cat = Cat::start().await;
        let (payer, other) = (user("payer"), user("other"));
        let entitlements = known(&store, &cat, &payer).await;
        entitlements.ensure_customer(&other).await.expect("a customer");
        let has_not = pro_of(&entitlements, &other).await.entitlement;
        cat.everybody_has(pro()).await;
        let has = pro_of(&entitlements, &payer).await.entitlement;
        cat.is(Mood::Status(502)).await;
        clock.advance_ms(60_000);
        for (user, known) in [(&payer, has), (&other, has_not)] {
            let found = forced_pro_of(&entitlements, user).await;
            assert_eq!((found.entitlement, found.origin), (known, Origin::LastKnown));
            assert_eq!(pro_of(&entitlements, user).await.entitlement, known);
        }
        assert_eq!(entitlements.counts().last_known, 2);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_assumption_about_one_entitlement_leaves_the_others_as_they_are() {
    on_every_store_at(NOW_MS, async |store, _| {
        let (cat, alice) = (Cat::start().await, user("alice"));
        let entitlements = known(&store, &cat, &alice).await;
        cat.everybody_has(json!({"plus": {"expires_date": null}})).await;
        pro_of(&entitlements, &alice).await;
        let key = keys::entitlements(&alice);
        let _: i64 = ask(&store, "HDEL", &key, &["pro"]).await;
        let _: i64 = ask(&store, "EXPIRE", &key, &["30"]).await;
        cat.is(Mood::Status(500)).await;
        forced_pro_of(&entitlements, &alice).await;
        let stored = hash(&store, &alice).await;
        assert_eq!(
            stored["plus"],
            r#"{"is_active": true, "expires_at": null, "checked_at": 1794709387.25}"#
        );
        let ttl: i64 = ask(&store, "TTL", &key, &[]).await;
        assert!((590..=600).contains(&ttl), "it lives as long as the assumption: {ttl}");
    })
    .await;
}
