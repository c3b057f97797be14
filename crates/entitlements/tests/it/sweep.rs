//! Checkouts whose buyers do not come back.

use std::sync::atomic::Ordering;

use keyrack_entitlements::{Error, Swept, keys};
use keyrack_testkit::on_every_store_at;

use crate::{
    cat::{Cat, Mood},
    checkout::{is_open, start},
    till::Till,
    world::{NOW_MS, ask, assert_clean, hash, pro_of, shop, user},
};

#[tokio::test(flavor = "multi_thread")]
async fn stripe_is_asked_after_five_minutes_an_hour_and_a_day_on_every_store() {
    on_every_store_at(NOW_MS, async |store, clock| {
        let (cat, till, alice) = (Cat::start().await, Till::start().await, user("alice"));
        let shop = shop(&store, &cat, &till);
        let started = start(&shop, &alice).await;
        let open = Swept { open: 1, ..Swept::default() };
        for (wait_s, looks) in
            [(299, 0), (1, 1), (3299, 1), (1, 2), (82_800, 2), (1, 3), (299, 3), (1, 4)]
        {
            clock.advance_ms(wait_s * 1000);
            let swept = shop.sweep().await.expect("swept");
            let expected = if till.looks() > looks - usize::from(swept.open == 1) {
                open
            } else {
                Swept::default()
            };
            assert_eq!((till.looks(), swept), (looks, expected), "after {wait_s} s more");
        }
        assert!(is_open(&store, &alice, &started.uid).await);
        till.all_are("expired").await;
        clock.advance_ms(300_000);
        let swept = shop.sweep().await.expect("swept");
        assert_eq!(swept, Swept { expired: 1, ..Swept::default() });
        assert!(!is_open(&store, &alice, &started.uid).await);
        assert_eq!(cat.receipts().await.len(), 0);
        assert_clean(&store).await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn who_has_paid_gets_it_without_coming_back_on_every_store() {
    on_every_store_at(NOW_MS, async |store, clock| {
        let (cat, till, alice) = (Cat::start().await, Till::start().await, user("alice"));
        let shop = shop(&store, &cat, &till);
        let started = start(&shop, &alice).await;
        assert!(!pro_of(shop.entitlements(), &alice).await.entitlement.is_active);
        till.all_are("complete").await;
        clock.advance_ms(300_000);
        let swept = shop.sweep().await.expect("swept");
        assert_eq!(swept, Swept { completed: 1, ..Swept::default() });
        assert_eq!(cat.receipts().await.len(), 1);
        assert!(hash(&store, &alice).await["pro"].starts_with(r#"{"is_active": true"#));
        assert!(pro_of(shop.entitlements(), &alice).await.entitlement.is_active);
        assert!(!is_open(&store, &alice, &started.uid).await);
        assert_clean(&store).await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_payment_on_its_way_is_waited_for_on_every_store() {
    on_every_store_at(NOW_MS, async |store, clock| {
        let (cat, till) = (Cat::start().await, Till::start().await);
        let shop = shop(&store, &cat, &till);
        let alice = user("alice");
        let bought = start(&shop, &alice).await;
        till.all_are("complete").await;
        till.all_payments_are("unpaid").await;
        clock.advance_ms(300_000);
        let open = Swept { open: 1, ..Swept::default() };
        assert_eq!(shop.sweep().await.expect("swept"), open);
        clock.advance_ms(3_599_000);
        assert_eq!(shop.sweep().await.expect("swept"), Swept::default());
        till.all_payments_are("paid").await;
        clock.advance_ms(1_000);
        let completed = Swept { completed: 1, ..Swept::default() };
        assert_eq!(shop.sweep().await.expect("swept"), completed);
        assert!(!is_open(&store, &alice, &bought.uid).await);

        assert_eq!(cat.receipts().await.len(), 1);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_payment_that_does_not_come_is_given_up_after_thirty_days_on_every_store() {
    on_every_store_at(NOW_MS, async |store, clock| {
        let (cat, till, bob) = (Cat::start().await, Till::start().await, user("bob"));
        let shop = shop(&store, &cat, &till);
        let open = Swept { open: 1, ..Swept::default() };
        let bought = start(&shop, &bob).await;
        till.all_are("complete").await;
        till.all_payments_are("unpaid").await;
        clock.advance_ms(30 * 86_400_000);
        assert_eq!(shop.sweep().await.expect("swept"), open);
        clock.advance_ms(3_600_000);
        let expired = Swept { expired: 1, ..Swept::default() };
        assert_eq!(shop.sweep().await.expect("swept"), expired);
        assert!(!is_open(&store, &bob, &bought.uid).await);
        assert_eq!(cat.receipts().await.len(), 0);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn several_sweeps_at_once_finish_each_checkout_once_and_one_that_fails_stops_none_on_every_store()
 {
    on_every_store_at(NOW_MS, async |store, clock| {
        let (cat, till) = (Cat::start().await, Till::start().await);
        let shops = [shop(&store, &cat, &till), shop(&store, &cat, &till)];
        for n in 0..120 {
            start(&shops[n % 2], &user(&format!("user {n}"))).await;
        }
        till.all_are("complete").await;
        // One of them is not paid, and one look fails.
        till.is("cs_test_7", "open").await;
        clock.advance_ms(300_000);
        till.fails(&[500]).await;
        let (here, there) = tokio::join!(shops[0].sweep(), shops[1].sweep());
        let (here, there) = (here.expect("swept"), there.expect("swept"));
        assert_eq!(here.completed + there.completed, 118, "{here:?} {there:?}");
        assert_eq!(here.failed + there.failed, 1);
        assert_eq!(here.open + there.open, 1);
        assert_eq!(cat.receipts().await.len(), 118, "nothing was told twice");
        let left: usize = ask(&store, "ZCARD", &keys::checkouts_due(), &[]).await;
        assert_eq!(left, 2);
        clock.advance_ms(300_000);
        let swept = shops[0].sweep().await.expect("swept");
        assert_eq!(swept, Swept { completed: 1, ..Swept::default() }, "the one that failed");
        assert_clean(&store).await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_checkout_that_somebody_holds_is_left_alone_until_they_are_surely_gone_on_every_store() {
    on_every_store_at(NOW_MS, async |store, clock| {
        let (cat, till, alice) = (Cat::start().await, Till::start().await, user("alice"));
        let shop = shop(&store, &cat, &till);
        let started = start(&shop, &alice).await;
        till.all_are("complete").await;
        till.inner.waits.store(true, Ordering::SeqCst);
        let (finishing, sub, uid) = (shop.clone(), alice.clone(), started.uid.clone());
        let crashed = tokio::spawn(async move { finishing.finish(&sub, &uid).await });
        till.inner.was_asked.notified().await;
        crashed.abort();
        assert!(crashed.await.expect_err("aborted").is_cancelled());
        till.inner.waits.store(false, Ordering::SeqCst);
        let busy = shop.finish(&alice, &started.uid).await;
        assert!(matches!(busy, Err(Error::Limited { .. })), "{busy:?}");
        clock.advance_ms(300_000 - 240_001);
        let uid = started.uid.as_str();
        let _: i64 = ask(&store, "ZADD", &keys::checkouts_due(), &["0", uid]).await;
        let swept = shop.sweep().await.expect("swept");
        assert_eq!(swept, Swept { busy: 1, ..Swept::default() });
        clock.advance_ms(1);
        let swept = shop.sweep().await.expect("swept");
        assert_eq!(swept, Swept { completed: 1, ..Swept::default() });
        assert_eq!(cat.receipts().await.len(), 1);
        assert_clean(&store).await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_outage_of_the_source_delays_what_was_bought_and_loses_nothing_on_every_store() {
    on_every_store_at(NOW_MS, async |store, clock| {
        let (cat, till, alice) = (Cat::start().await, Till::start().await, user("alice"));
        let shop = shop(&store, &cat, &till);
        start(&shop, &alice).await;
        till.all_are("complete").await;
        cat.is(Mood::Status(500)).await;
        for _ in 0..3 {
            clock.advance_ms(300_000);
            let swept = shop.sweep().await.expect("swept");
            assert_eq!(swept, Swept { failed: 1, ..Swept::default() });
        }
        cat.is(Mood::Well).await;
        clock.advance_ms(300_000);
        assert_eq!(shop.sweep().await.expect("swept").completed, 1);
        assert_eq!(cat.receipts().await.len(), 1);
    })
    .await;
}
