//! However many read at once, the source is asked once.

use std::{future::poll_fn, task::Poll};

use futures_util::future::{FutureExt as _, join_all};
use keyrack_testkit::on_every_store_at;

use crate::{
    cat::{Cat, Mood},
    world::{NOW_MS, forced_pro_of, known, pro, pro_of, user},
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
