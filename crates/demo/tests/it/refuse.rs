//! Where a demo does not begin.

use keyrack_contract::registry;
use keyrack_demo::{Demo, Error, Options, survey};
use keyrack_jobs::bee::{Hive, Submission};
use keyrack_testkit::simulated_store;

use crate::world::{demo, picture, put_other_data};

const NOW: u64 = 1_700_000_000_000;

#[tokio::test]
async fn store_with_other_data_is_refused_and_left_alone() {
    let (store, _clock) = simulated_store(NOW, 1).await;
    put_other_data(&store).await;
    let before = picture(&store).await;
    let refused = Demo::open(store.clone(), registry(), Options::default()).await;
    let Err(Error::OtherData { keys, example }) = refused else { panic!("{refused:?}") };
    assert!(keys > 5 && !example.is_empty(), "{keys} {example}");
    assert_eq!(picture(&store).await, before);
}

#[tokio::test]
async fn names_of_the_demo_in_other_hands_are_refused() {
    let (store, _clock) = simulated_store(NOW, 1).await;
    let hive = Hive::named(store.clone(), "test");
    hive.submit(Submission::new("demo/mail").expect("a queue")).await.expect("submitted");
    let options = Options { beside_others: true, ..Options::default() };
    let refused = Demo::open(store.clone(), registry(), options).await;
    assert!(matches!(refused, Err(Error::NamesTaken { .. })), "{refused:?}");
}

#[tokio::test]
async fn second_demo_is_refused_while_the_first_runs() {
    let (store, _clock) = simulated_store(NOW, 1).await;
    let first = demo(&store).await;
    let second = Demo::open(store.clone(), registry(), Options::default()).await;
    assert!(matches!(second, Err(Error::Running)), "{second:?}");
    first.clean(registry()).await.expect("cleaned");
    demo(&store).await;
}

#[tokio::test]
async fn speeds_that_make_no_sense_are_refused() {
    let (store, _clock) = simulated_store(NOW, 1).await;
    for speed in [0.0, -1.0, 1_000.0, f64::NAN] {
        let options = Options { speed, ..Options::default() };
        let refused = Demo::open(store.clone(), registry(), options).await;
        assert!(matches!(refused, Err(Error::Speed { .. })), "{speed}");
    }
}

#[tokio::test]
async fn survey_does_not_take_a_demo_for_data() {
    let (store, _clock) = simulated_store(NOW, 1).await;
    let mut demo = demo(&store).await;
    demo.hurry(50).await.expect("deeds");
    let found = survey(&store, registry()).await.expect("a survey");
    assert!(found.marked.is_some());
    demo.clean(registry()).await.expect("cleaned");
    assert_eq!(survey(&store, registry()).await.expect("a survey"), Default::default());
}
