//! What those see who look after the whole.

use keyrack_entitlements::State;
use keyrack_testkit::on_every_store_at;

use crate::{
    cat::{Cat, Mood},
    checkout::{start, wait_for_limits},
    till::Till,
    world::{NOW, NOW_MS, entitlements, known, pro, pro_of, shop, user},
};

#[tokio::test(flavor = "multi_thread")]
async fn known_is_told_with_its_tier_and_counts_as_no_read_on_every_store() {
    on_every_store_at(NOW_MS, async |store, _| {
        let (cat, alice) = (Cat::start().await, user("alice"));
        cat.everybody_has(pro()).await;
        let here = known(&store, &cat, &alice).await;
        let nothing = here.known(&alice).await.expect("an answer");
        assert!(nothing.remembered.is_empty() && nothing.stored.is_empty());
        let found = pro_of(&here, &alice).await.entitlement;
        let counts = here.counts();
        let there = entitlements(&store, &cat);
        let elsewhere = there.known(&alice).await.expect("an answer");
        assert_eq!((elsewhere.remembered.len(), elsewhere.stored["pro"]), (0, found));
        assert!(elsewhere.stored_for_ms > 86_000_000);
        let told = here.known(&alice).await.expect("an answer");
        assert_eq!(told.stored["pro"], found);
        assert_eq!((here.counts().local, cat.asked()), (counts.local, 1));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn breaker_is_told_with_its_failures_on_every_store() {
    on_every_store_at(NOW_MS, async |store, clock| {
        let cat = Cat::start().await;
        let here = entitlements(&store, &cat);
        let calm = here.breaker_report().await.expect("a report");
        assert_eq!((calm.state, calm.failures.len(), calm.next_trial_at), (State::Closed, 0, None));
        cat.is(Mood::Status(500)).await;
        for n in 0..10 {
            let user = user(&format!("user {n}"));
            here.ensure_customer(&user).await.expect("a customer");
            pro_of(&here, &user).await;
            clock.advance_ms(1_000);
        }
        let report = here.breaker_report().await.expect("a report");
        assert_eq!((report.state, report.failures.len()), (State::Open, 10));
        assert_eq!((report.failures[0], report.open_until()), (NOW, Some(NOW + 300.0)));
        clock.advance_ms(291_000);
        let report = here.breaker_report().await.expect("a report");
        assert_eq!((report.state, report.open_until()), (State::HalfOpen, None));
        assert!(report.next_trial_at.is_some());
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn open_checkouts_are_listed_for_all_and_for_one_on_every_store() {
    on_every_store_at(NOW_MS, async |store, clock| {
        let (cat, till) = (Cat::start().await, Till::start().await);
        let (alice, bob) = (user("alice"), user("bob"));
        let shop = shop(&store, &cat, &till);
        let here = shop.entitlements();
        assert_eq!(here.open_checkouts(10).await.expect("none"), (0, vec![]));
        start(&shop, &alice).await;
        clock.advance_ms(60_000);
        wait_for_limits(&store, &alice).await;
        start(&shop, &bob).await;
        let (count, open) = here.open_checkouts(10).await.expect("both");
        let told: Vec<_> =
            open.iter().map(|one| (&*one.user_sub, one.created_at, one.due_at - NOW)).collect();
        assert_eq!((count, told), (2, vec![("alice", NOW, 300.0), ("bob", NOW + 60.0, 360.0)]));
        assert_eq!(here.open_checkouts(1).await.expect("one").1, open[..1]);
        assert_eq!(here.checkouts_of(&bob).await.expect("his"), open[1..]);
        assert!(here.checkouts_of(&user("carol")).await.expect("none").is_empty());
    })
    .await;
}
