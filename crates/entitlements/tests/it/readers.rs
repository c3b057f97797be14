//! However many read at once, in however many processes, the source is asked once.

use std::{future::poll_fn, task::Poll, time::Duration};

use futures_util::future::{FutureExt as _, join_all};
use keyrack_entitlements::{Origin, keys};
use keyrack_testkit::on_every_store_at;

use crate::{
    cat::{Cat, Mood},
    world::{
        NOW_MS, SOURCE_TIME_MAX, ask, assert_clean, entitlements_within, forced_pro_of, known, pro,
        pro_of, user,
    },
};

#[tokio::test(flavor = "multi_thread")]
async fn a_thousand_readers_at_once_are_one_request_on_every_store() {
    on_every_store_at(NOW_MS, async |store, _| {
        let (cat, alice) = (Cat::start().await, user("alice"));
        cat.everybody_has(pro()).await;
        cat.is(Mood::Waits).await;
        let entitlements = known(&store, &cat, &alice).await;
        let readers: Vec<_> = (0..1000)
            .map(|_| {
                let (entitlements, alice) = (entitlements.clone(), alice.clone());
                tokio::spawn(async move { pro_of(&entitlements, &alice).await })
            })
            .collect();
        cat.was_asked().await;
        cat.let_go();
        for reader in join_all(readers).await {
            assert!(reader.expect("a reader").entitlement.is_active);
        }
        assert_eq!(cat.asked(), 1);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn readers_in_several_processes_are_one_request_on_every_store() {
    on_every_store_at(NOW_MS, async |store, _| {
        let (cat, alice) = (Cat::start().await, user("alice"));
        cat.everybody_has(pro()).await;
        cat.is(Mood::Waits).await;
        let mut processes = Vec::new();
        for _ in 0..4 {
            processes.push(known(&store, &cat, &alice).await);
        }
        let read = |n: usize| {
            let (entitlements, alice) = (processes[n % 4].clone(), alice.clone());
            tokio::spawn(async move { pro_of(&entitlements, &alice).await })
        };
        let first = read(0);
        cat.was_asked().await;
        let others = join_all((0..100).map(read));
        cat.let_go();
        assert_eq!(first.await.expect("a reader").origin, Origin::Source);
        for reader in others.await {
            let found = reader.expect("a reader");
            assert!(found.entitlement.is_active && found.origin != Origin::Assumed, "{found:?}");
        }
        assert_eq!(cat.asked(), 1);
        let marks: usize = ask(&store, "EXISTS", &keys::asking(&alice), &[]).await;
        assert_eq!(marks, 0, "whoever asked has taken the mark away");
        assert_clean(&store).await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_mark_is_there_while_somebody_asks_and_ends_by_itself_on_every_store() {
    on_every_store_at(NOW_MS, async |store, _| {
        let (cat, alice) = (Cat::start().await, user("alice"));
        cat.is(Mood::Waits).await;
        let entitlements = known(&store, &cat, &alice).await;
        let (reading, sub) = (entitlements.clone(), alice.clone());
        let reader = tokio::spawn(async move { pro_of(&reading, &sub).await });
        cat.was_asked().await;
        let left_ms: u64 = ask(&store, "PTTL", &keys::asking(&alice), &[]).await;
        let longest = SOURCE_TIME_MAX + Duration::from_secs(1);
        assert!((1..=longest.as_millis() as u64).contains(&left_ms), "{left_ms}");
        assert_clean(&store).await;
        cat.let_go();
        reader.await.expect("a reader");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_waits_for_one_who_died_longer_than_for_the_source_on_every_store() {
    on_every_store_at(NOW_MS, async |store, _| {
        let (cat, alice) = (Cat::start().await, user("alice"));
        let entitlements = entitlements_within(&store, &cat, Duration::from_millis(300));
        entitlements.ensure_customer(&alice).await.expect("a customer");
        let mark = keys::asking(&alice);
        let _: String = ask(&store, "SET", &mark, &["somebody", "EX", "60"]).await;
        assert_eq!(pro_of(&entitlements, &alice).await.origin, Origin::Source);
        assert_eq!(cat.asked(), 1);
        let left: String = ask(&store, "GET", &mark, &[]).await;
        assert_eq!(left, "somebody", "nobody takes away what is not theirs");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_source_that_fails_is_asked_once_by_all_processes_on_every_store() {
    on_every_store_at(NOW_MS, async |store, _| {
        let (cat, alice) = (Cat::start().await, user("alice"));
        cat.is(Mood::Status(500)).await;
        let here = known(&store, &cat, &alice).await;
        let there = known(&store, &cat, &alice).await;
        let found = join_all((0..50).flat_map(|_| [&here, &there]).map(|at| pro_of(at, &alice)));
        for found in found.await {
            assert_eq!(found.origin, Origin::Assumed);
        }
        assert_eq!(cat.asked(), 1);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_forced_read_is_not_answered_by_a_request_that_began_before_it() {
    on_every_store_at(NOW_MS, async |store, _| {
        let (cat, alice) = (Cat::start().await, user("alice"));
        cat.is(Mood::Waits).await;
        let entitlements = known(&store, &cat, &alice).await;
        let (reading, sub) = (entitlements.clone(), alice.clone());
        let before = tokio::spawn(async move { pro_of(&reading, &sub).await });
        cat.was_asked().await;
        let mut forced = join_all((0..20).map(|_| forced_pro_of(&entitlements, &alice)));
        let is_waiting = poll_fn(|cx| Poll::Ready(forced.poll_unpin(cx).is_pending())).await;
        assert!(is_waiting);
        cat.let_go();
        assert!(!before.await.expect("a reader").entitlement.is_active);
        cat.everybody_has(pro()).await;
        cat.was_asked().await;
        cat.is(Mood::Well).await;
        cat.let_go();
        for found in forced.await {
            assert!(found.entitlement.is_active);
        }
        assert_eq!(cat.asked(), 2);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reader_who_goes_away_does_not_end_the_request() {
    let (store, _clock) = keyrack_testkit::simulated_store(NOW_MS, 1).await;
    let (cat, alice) = (Cat::start().await, user("alice"));
    cat.is(Mood::Waits).await;
    let entitlements = known(&store, &cat, &alice).await;
    let (reading, sub) = (entitlements.clone(), alice.clone());
    let reader = tokio::spawn(async move { pro_of(&reading, &sub).await });
    cat.was_asked().await;
    reader.abort();
    cat.let_go();
    pro_of(&entitlements, &alice).await;
    assert_eq!(cat.asked(), 1);
}
