//! When the source is no longer asked, and when it is again.

use keyrack_entitlements::{ERRORS_MAX, Entitlements, Error, Origin, State, keys};
use keyrack_store::Store;
use keyrack_testkit::on_every_store_at;

use crate::{
    cat::{Cat, Mood},
    world::{NOW, NOW_MS, ask, assert_clean, entitlements, forced_pro_of, pro_of, user},
};

/// Lets somebody new ask; where the answer comes from.
async fn somebody_asks(entitlements: &Entitlements, name: usize) -> Origin {
    let user = user(&format!("user {name}"));
    entitlements.ensure_customer(&user).await.expect("a customer");
    pro_of(entitlements, &user).await.origin
}

async fn state(entitlements: &Entitlements) -> State {
    entitlements.breaker().await.expect("a state")
}

/// Fails as often as it takes.
async fn open(store: &Store, cat: &Cat) -> Entitlements {
    let entitlements = entitlements(store, cat);
    cat.is(Mood::Status(500)).await;
    for n in 0..10 {
        assert_eq!(state(&entitlements).await, State::Closed);
        assert_eq!(somebody_asks(&entitlements, n).await, Origin::Assumed);
    }
    assert_eq!((state(&entitlements).await, cat.asked()), (State::Open, 10));
    entitlements
}

#[tokio::test(flavor = "multi_thread")]
async fn ten_failures_within_five_minutes_stop_all_requests_on_every_store() {
    assert_eq!(ERRORS_MAX, 10);
    on_every_store_at(NOW_MS, async |store, clock| {
        let cat = Cat::start().await;
        let here = open(&store, &cat).await;
        let there = entitlements(&store, &cat);
        clock.advance_ms(299_000);
        for n in 100..120 {
            assert_eq!(somebody_asks(&here, n).await, Origin::Assumed);
            assert_eq!(somebody_asks(&there, n + 100).await, Origin::Assumed);
        }
        forced_pro_of(&here, &user("user 1")).await;
        assert_eq!(cat.asked(), 10, "not even forced reads ask");
        assert_eq!(here.counts().held_back, 21);
        assert_clean(&store).await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn failures_that_are_five_minutes_old_do_not_count_on_every_store() {
    on_every_store_at(NOW_MS, async |store, clock| {
        let cat = Cat::start().await;
        let entitlements = entitlements(&store, &cat);
        cat.is(Mood::Status(500)).await;
        for n in 0..30 {
            somebody_asks(&entitlements, n).await;
            clock.advance_ms(33_400);
        }
        assert_eq!((state(&entitlements).await, cat.asked()), (State::Closed, 30));
        let kept: usize = ask(&store, "ZCARD", &keys::revenue_cat_errors(), &[]).await;
        assert!(kept <= 9, "{kept} are kept");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_request_at_a_time_finds_out_and_success_lets_everybody_ask_on_every_store() {
    on_every_store_at(NOW_MS, async |store, clock| {
        let cat = Cat::start().await;
        let here = open(&store, &cat).await;
        let there = entitlements(&store, &cat);
        clock.advance_ms(300_001);
        assert_eq!(state(&here).await, State::HalfOpen);
        for n in 200..210 {
            somebody_asks(&here, n).await;
            somebody_asks(&there, n + 100).await;
        }
        assert_eq!(
            cat.asked(),
            11,
            "one of twenty, in two processes, found out that it is not over"
        );
        clock.advance_ms(10_000);
        cat.is(Mood::Well).await;
        assert_eq!(somebody_asks(&here, 400).await, Origin::Source);
        assert_eq!((state(&here).await, cat.asked()), (State::Closed, 12));
        for n in 500..510 {
            assert_eq!(somebody_asks(&there, n).await, Origin::Source);
        }
        let left: Vec<usize> = vec![
            ask(&store, "EXISTS", &keys::revenue_cat_errors(), &[]).await,
            ask(&store, "EXISTS", &keys::revenue_cat_trial(), &[]).await,
        ];
        assert_eq!(left, [0, 0]);
        assert_clean(&store).await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn failures_that_another_program_counted_count_on_every_store() {
    on_every_store_at(NOW_MS, async |store, clock| {
        let cat = Cat::start().await;
        let entitlements = entitlements(&store, &cat);
        for n in 0..10 {
            let at = (NOW - f64::from(n)).to_string();
            let _: i64 =
                ask(&store, "ZADD", &keys::revenue_cat_errors(), &[&at, &format!("token {n}")])
                    .await;
        }
        assert_eq!(somebody_asks(&entitlements, 1).await, Origin::Assumed);
        assert_eq!((state(&entitlements).await, cat.asked()), (State::Open, 0));
        // The first of them is too old, and one request may find out.
        clock.advance_ms(291_001);
        assert_eq!(somebody_asks(&entitlements, 2).await, Origin::Source);
        assert_eq!((state(&entitlements).await, cat.asked()), (State::Closed, 1));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_user_without_a_customer_id_leaves_the_trial_to_others_on_every_store() {
    on_every_store_at(NOW_MS, async |store, clock| {
        let cat = Cat::start().await;
        let entitlements = open(&store, &cat).await;
        cat.is(Mood::Well).await;
        clock.advance_ms(300_001);
        for n in 0..5 {
            let nobody = user(&format!("new {n}"));
            let found = entitlements.lookup(&nobody, "pro").await;
            assert!(matches!(found, Err(Error::UnknownUser)), "{found:?}");
        }
        assert_eq!((state(&entitlements).await, cat.asked()), (State::HalfOpen, 10));
        assert_eq!(somebody_asks(&entitlements, 400).await, Origin::Source);
        assert_eq!((state(&entitlements).await, cat.asked()), (State::Closed, 11));
    })
    .await;
}
