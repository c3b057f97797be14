//! A demo leaves a store as it was, and its data is sound while it runs.

use keyrack_contract::registry;
use keyrack_demo::{CleanReport, clean};
use keyrack_lint::{Options, lint};
use keyrack_recommender::{Recommender, Settings};
use keyrack_store::Store;
use keyrack_testkit::{on_every_store, simulated_store, wait_until_async};

use crate::world::{demo, picture, put_other_data, run_a_while};

#[tokio::test(flavor = "multi_thread")]
async fn cleaning_up_leaves_other_data_as_it_was() {
    on_every_store(async |store| {
        put_other_data(&store).await;
        let before = picture(&store).await;
        let mut demo = demo(&store).await;
        demo.begin().await.expect("the past");
        demo.hurry(1_500).await.expect("deeds");
        run_a_while(&mut demo, &store).await;
        assert!(picture(&store).await.len() > before.len() + 300);

        let cleaned = demo.clean(registry()).await.expect("cleaned");
        assert!(cleaned.keys > 300 && cleaned.members > 10, "{cleaned:?}");
        let after = picture(&store).await;
        for (key, held) in &after {
            assert_eq!(before.get(key), Some(held), "{key:?}");
        }
        assert_eq!(before, after);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn cleaning_up_leaves_an_empty_store_empty() {
    on_every_store(async |store| {
        let mut demo = demo(&store).await;
        demo.begin().await.expect("the past");
        demo.hurry(1_500).await.expect("deeds");
        run_a_while(&mut demo, &store).await;
        demo.clean(registry()).await.expect("cleaned");
        assert_eq!(picture(&store).await, Default::default());
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn recommendations_are_judged_while_it_runs() {
    let store = Store::open("embedded:memory").await.expect("a store");
    let mut demo = demo(&store).await;
    demo.begin().await.expect("the past");
    let recommender = Recommender::new(store.clone(), Settings::default());
    let judged = wait_until_async("lists to be judged", async || {
        recommender.adopted().await.expect("read").is_some()
    });
    demo.run(judged).await;
    demo.clean(registry()).await.expect("cleaned");
    assert_eq!(picture(&store).await, Default::default());
}

#[tokio::test(flavor = "multi_thread")]
async fn lint_finds_nothing_wrong_with_a_demo() {
    on_every_store(async |store| {
        let mut demo = demo(&store).await;
        demo.begin().await.expect("the past");
        demo.hurry(1_500).await.expect("deeds");
        run_a_while(&mut demo, &store).await;
        let report = lint(&store, registry(), &Options::default(), |_| {}).await.expect("a lint");
        assert!(report.is_clean(), "{:#?}", report.findings);
    })
    .await;
}

#[tokio::test]
async fn what_a_crash_has_left_is_taken_away_later() {
    let (store, clock) = simulated_store(1_700_000_000_000, 1).await;
    let mut crashed = demo(&store).await;
    crashed.begin().await.expect("the past");
    crashed.hurry(300).await.expect("deeds");
    drop(crashed);
    // By now nobody has heard of it for long.
    clock.advance_ms(20_000);
    let cleaned = clean(&store, registry()).await.expect("cleaned");
    assert!(cleaned.keys > 100, "{cleaned:?}");
    assert_eq!(picture(&store).await, Default::default());
    assert_eq!(clean(&store, registry()).await.expect("nothing to do"), CleanReport::default());
}

#[tokio::test]
async fn next_demo_takes_away_what_the_last_has_left() {
    let (store, clock) = simulated_store(1_700_000_000_000, 1).await;
    let mut crashed = demo(&store).await;
    crashed.hurry(300).await.expect("deeds");
    drop(crashed);
    clock.advance_ms(20_000);
    let next = demo(&store).await;
    next.clean(registry()).await.expect("cleaned");
    assert_eq!(picture(&store).await, Default::default());
}
