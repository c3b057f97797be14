//! The three tiers, and what they write.

use keyrack_entitlements::{Entitlement, Error, Origin, keys};
use keyrack_testkit::on_every_store_at;
use serde_json::json;

use crate::{
    cat::{Cat, Mood},
    world::{NOW, NOW_MS, ask, assert_clean, forced_pro_of, hash, known, pro, pro_of, user},
};

#[tokio::test(flavor = "multi_thread")]
async fn the_first_read_asks_the_source_and_the_next_ones_nobody_on_every_store() {
    on_every_store_at(NOW_MS, async |store, _| {
        let (cat, alice) = (Cat::start().await, user("alice"));
        cat.everybody_has(pro()).await;
        let here = known(&store, &cat, &alice).await;
        let first = pro_of(&here, &alice).await;
        let until_2030 = Some(1_893_456_000.0);
        let expected = Entitlement { is_active: true, expires_at: until_2030, checked_at: NOW };
        assert_eq!((first.entitlement, first.origin), (expected, Origin::Source));
        let again = pro_of(&here, &alice).await;
        assert_eq!((again.entitlement, again.origin), (expected, Origin::Local));
        let there = known(&store, &cat, &alice).await;
        let elsewhere = pro_of(&there, &alice).await;
        assert_eq!((elsewhere.entitlement, elsewhere.origin), (expected, Origin::Store));
        assert_eq!(pro_of(&there, &alice).await.origin, Origin::Local);
        assert_eq!(cat.asked(), 1);
        assert_clean(&store).await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn answers_are_stored_byte_by_byte_as_documented_for_a_day_on_every_store() {
    on_every_store_at(NOW_MS, async |store, _| {
        let (cat, zoe) = (Cat::start().await, user("zoë:{1}"));
        let all = json!({
            "pro": {"expires_date": "2026-11-15T12:00:00.5Z"},
            "lasting": {"expires_date": null},
            "lapsed": {"expires_date": "2020-01-01T00:00:00Z"},
        });
        cat.everybody_has(all).await;
        let entitlements = known(&store, &cat, &zoe).await;
        let _: i64 = ask(&store, "HSET", &keys::entitlements(&zoe), &["other", "{}"]).await;
        pro_of(&entitlements, &zoe).await;
        let stored = hash(&store, &zoe).await;
        let expected = [
            ("lapsed", r#"{"is_active": false, "expires_at": null, "checked_at": 1794709387.25}"#),
            ("lasting", r#"{"is_active": true, "expires_at": null, "checked_at": 1794709387.25}"#),
            ("other", "{}"),
            (
                "pro",
                r#"{"is_active": true, "expires_at": 1794744000.5, "checked_at": 1794709387.25}"#,
            ),
        ];
        let stored: Vec<(&str, &str)> = stored.iter().map(|(k, v)| (&**k, &**v)).collect();
        assert_eq!(stored, expected);
        let ttl: i64 = ask(&store, "TTL", &keys::entitlements(&zoe), &[]).await;
        assert!((86_390..=86_400).contains(&ttl), "{ttl}");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_source_does_not_name_is_inactive_on_every_store() {
    on_every_store_at(NOW_MS, async |store, _| {
        let (cat, bob) = (Cat::start().await, user("bob"));
        let entitlements = known(&store, &cat, &bob).await;
        let found = pro_of(&entitlements, &bob).await;
        assert_eq!(found.entitlement, Entitlement::inactive(NOW));
        assert_eq!(hash(&store, &bob).await.len(), 1);
        assert_eq!(pro_of(&entitlements, &bob).await.origin, Origin::Local);
        assert_eq!(cat.asked(), 1, "that somebody has nothing is remembered too");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_another_program_stored_is_believed_until_it_is_gone_on_every_store() {
    on_every_store_at(NOW_MS, async |store, clock| {
        let (cat, alice) = (Cat::start().await, user("alice"));
        let entitlements = known(&store, &cat, &alice).await;
        // Neither how old it is nor that it has run out is looked at.
        let old = r#"{"is_active": true, "expires_at": 5.5, "checked_at": 1.0}"#;
        let key = keys::entitlements(&alice);
        let _: i64 = ask(&store, "HSET", &key, &["pro", old]).await;
        let _: i64 = ask(&store, "EXPIRE", &key, &["1000"]).await;
        let found = pro_of(&entitlements, &alice).await;
        assert!(found.entitlement.is_active && found.origin == Origin::Store, "{found:?}");
        clock.advance_ms(999_000);
        assert_eq!(pro_of(&entitlements, &alice).await.origin, Origin::Local);
        clock.advance_ms(1_000);
        let later = pro_of(&entitlements, &alice).await;
        assert_eq!(later.origin, Origin::Store, "memory does not outlive the store");
        let _: i64 = ask(&store, "HSET", &key, &["pro", "no JSON"]).await;
        clock.advance_ms(86_400_000);
        assert_eq!(pro_of(&entitlements, &alice).await.origin, Origin::Source);
        assert_eq!(cat.asked(), 1);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_forced_read_asks_the_source_and_renews_what_is_known_on_every_store() {
    on_every_store_at(NOW_MS, async |store, clock| {
        let (cat, alice) = (Cat::start().await, user("alice"));
        let entitlements = known(&store, &cat, &alice).await;
        assert!(!pro_of(&entitlements, &alice).await.entitlement.is_active);
        cat.everybody_has(pro()).await;
        assert!(!pro_of(&entitlements, &alice).await.entitlement.is_active);
        clock.advance_ms(500);
        let forced = forced_pro_of(&entitlements, &alice).await;
        assert_eq!((forced.entitlement.is_active, forced.origin), (true, Origin::Source));
        assert_eq!(forced.entitlement.checked_at, NOW + 0.5);
        assert_eq!(pro_of(&entitlements, &alice).await.entitlement, forced.entitlement);
        assert_eq!(cat.asked(), 2);
        assert_clean(&store).await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_is_older_than_what_is_known_does_not_replace_it_on_every_store() {
    on_every_store_at(NOW_MS, async |store, _| {
        let (cat, alice) = (Cat::start().await, user("alice"));
        let entitlements = known(&store, &cat, &alice).await;
        let newer = r#"{"is_active": true, "expires_at": null, "checked_at": 1794709388.0}"#;
        let _: i64 = ask(&store, "HSET", &keys::entitlements(&alice), &["pro", newer]).await;
        forced_pro_of(&entitlements, &alice).await;
        assert_eq!(hash(&store, &alice).await["pro"], newer);
        // What was only assumed gives way.
        let assumed =
            r#"{"is_active": true, "expires_at": 1794709988.0, "checked_at": 1794709388.0}"#;
        let _: i64 = ask(&store, "HSET", &keys::entitlements(&alice), &["pro", assumed]).await;
        forced_pro_of(&entitlements, &alice).await;
        assert!(hash(&store, &alice).await["pro"].starts_with(r#"{"is_active": false"#));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn unknown_entitlements_and_users_are_refused_and_leave_nothing_behind_on_every_store() {
    on_every_store_at(NOW_MS, async |store, _| {
        let (cat, alice) = (Cat::start().await, user("alice"));
        let entitlements = known(&store, &cat, &alice).await;
        let refused = entitlements.lookup(&alice, "Pro").await;
        assert!(matches!(refused, Err(Error::UnknownEntitlement { .. })), "{refused:?}");
        let refused = entitlements.lookup_forced(&alice, "").await;
        assert!(matches!(refused, Err(Error::UnknownEntitlement { .. })), "{refused:?}");
        let refused = entitlements.lookup(&user("stranger"), "pro").await;
        assert!(matches!(refused, Err(Error::UnknownUser)), "{refused:?}");
        assert_eq!(cat.asked(), 0);
        cat.is(Mood::Status(404)).await;
        let refused = entitlements.lookup(&alice, "pro").await;
        assert!(matches!(refused, Err(Error::UnknownUser)), "{refused:?}");
        assert_eq!(hash(&store, &alice).await.len(), 0);
        let errors: u32 = ask(&store, "ZCARD", &keys::revenue_cat_errors(), &[]).await;
        assert_eq!((cat.asked(), errors), (1, 0));
    })
    .await;
}
