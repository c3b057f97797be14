//! Programs that report their own runs, straight to the store.

use std::time::Duration;

use futures_util::{Stream as _, StreamExt as _, stream};
use keyrack_keys::UserSub;
use keyrack_progress::{Outcome, Progress, client::Client};
use keyrack_store::Store;
use keyrack_testkit::{RedisServer, on_every_store};

use crate::rig::hot_queue;

const LONG: Duration = Duration::from_secs(20);

fn user() -> UserSub {
    UserSub::new("ada").expect("a user")
}

fn open(store: Store) -> (Progress, Client) {
    let progress = Progress::open(store, hot_queue());
    (progress.clone(), Client::direct(progress, user()))
}

#[tokio::test]
async fn wrapped_items_come_out_as_they_went_in_and_their_run_is_kept() {
    on_every_store(async |store| {
        let (progress, client) = open(store);
        let wrapped = client.wrap("import", "copy", vec!["a", "b", "c"]);
        assert_eq!(wrapped.len(), 3);
        assert_eq!(wrapped.collect::<Vec<_>>(), ["a", "b", "c"]);
        assert!(client.flush(LONG).await);
        let samples = progress.samples(&user(), "import").await.expect("an answer").expect("a bar");
        assert_eq!((samples.traces.len(), samples.steps[1].name.as_str()), (1, "copy"));
        assert_eq!(samples.traces[0].steps[0].iterations, Some(3));
    })
    .await;
}

#[tokio::test]
async fn every_run_of_a_wrapped_loop_is_learned_from() {
    on_every_store(async |store| {
        let (progress, client) = open(store);
        for n in 1..=24 {
            let wrapped = client.wrap("import", "copy", 0..3);
            let uid = wrapped.uid().to_owned();
            assert_eq!(wrapped.count(), 3);
            assert!(client.flush(LONG).await);
            let samples = progress.samples(&user(), "import").await.expect("an answer");
            assert_eq!(samples.expect("a bar").traces.len(), n);
            let trace = progress.trace(&user(), "import", &uid).await.expect("an answer");
            assert!(trace.is_some_and(|trace| trace.done));
        }
    })
    .await;
}

#[tokio::test]
async fn wrapped_loop_says_how_long_it_will_take() {
    on_every_store(async |store| {
        let (_, client) = open(store);
        let unknown = client.wrap("import", "copy", 0..3);
        assert_eq!(unknown.estimate(), None);
        assert_eq!(unknown.count(), 3);
        assert!(client.flush(LONG).await);
        let mut wrapped = client.wrap("import", "copy", 0..3);
        wrapped.next();
        let known = async || loop {
            if let Some(estimate) = wrapped.estimate() {
                return estimate;
            }
            tokio::task::yield_now().await;
        };
        let estimate = tokio::time::timeout(LONG, known()).await.expect("known in time");
        assert!(estimate.p10 <= estimate.p50 && estimate.p50 <= estimate.p90, "{estimate:?}");
        assert_eq!(wrapped.count(), 2);
    })
    .await;
}

#[tokio::test]
async fn wrapped_streams_are_runs_too() {
    on_every_store(async |store| {
        let (progress, client) = open(store);
        let items = || stream::iter(["a", "b", "c"]);
        // One that knows how many there are, one that was told, and one of which nobody knows.
        let known = client.wrap_stream("known", "copy", None, items());
        assert_eq!(known.size_hint(), (3, Some(3)));
        assert_eq!(known.collect::<Vec<_>>().await, ["a", "b", "c"]);
        let filtered = || items().filter(|item| std::future::ready(*item != "b"));
        let told = client.wrap_stream("told", "copy", Some(2), filtered());
        let uid = told.uid().to_owned();
        assert_eq!(told.collect::<Vec<_>>().await, ["a", "c"]);
        let unknown = client.wrap_stream("unknown", "copy", None, filtered());
        assert_eq!(unknown.count().await, 2);
        assert!(client.flush(LONG).await);
        for (bar, iterations) in [("known", Some(3)), ("told", Some(2)), ("unknown", None)] {
            let samples = progress.samples(&user(), bar).await.expect("an answer").expect("a bar");
            assert_eq!(samples.traces[0].steps[0].iterations, iterations, "{bar}");
        }
        let trace = progress.trace(&user(), "told", &uid).await.expect("an answer");
        assert!(trace.is_some_and(|trace| trace.done));
    })
    .await;
}

#[cfg(feature = "draw")]
#[tokio::test(flavor = "multi_thread")]
async fn run_draws_its_bar_and_takes_it_away() {
    let store = Store::open("embedded:memory").await.expect("a store");
    let (_, client) = open(store);
    let terminal = indicatif::InMemoryTerm::new(5, 80);
    let run = client.start("import", "copy", Some(1_500));
    run.tick(20);
    run.draw_to(indicatif::ProgressDrawTarget::term_like(Box::new(terminal.clone())));
    keyrack_testkit::wait_until("a bar", || terminal.contents().contains("copy 20 of 1,500"));
    run.finish();
    assert_eq!(terminal.contents(), "");
}

#[tokio::test]
async fn run_that_the_store_has_lost_is_told_again_from_its_start() {
    on_every_store(async |store| {
        let (progress, client) = open(store);
        let run = client.start("import", "load", None);
        let uid = run.uid().to_owned();
        let find = async || progress.trace(&user(), "import", &uid).await.expect("an answer");
        let reported = async || {
            while find().await.is_none() {
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(LONG, reported()).await.expect("reported in time");
        let (bar, trace) = ("import".parse().expect("a bar"), uid.parse().expect("a uid"));
        let key = keyrack_progress::keys::trace(&user(), &bar, &trace);
        let mut cmd = redis::cmd("DEL");
        cmd.arg(&*progress.store().place(&key));
        cmd.exec_async(&mut progress.store().connection()).await.expect("deleted");
        run.step("copy", Some(2));
        run.tick(2);
        run.finish();
        assert!(client.flush(LONG).await);
        let steps = find().await.expect("told again").steps;
        let names: Vec<&str> = steps.iter().map(|step| step.step_name.as_str()).collect();
        assert_eq!(names, ["load", "copy"]);
        assert!(progress.samples(&user(), "import").await.expect("an answer").is_some());
    })
    .await;
}

#[tokio::test]
async fn run_that_is_left_before_its_end_has_failed() {
    on_every_store(async |store| {
        let (progress, client) = open(store);
        let wrapped = client.wrap("import", "copy", 0..1_000);
        let uid = wrapped.uid().to_owned();
        let find = async || progress.trace(&user(), "import", &uid).await.expect("an answer");
        let reported = async || {
            while find().await.is_none() {
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(LONG, reported()).await.expect("reported in time");
        drop(wrapped);
        assert!(client.flush(LONG).await);
        let outcome = find().await.expect("the trace").outcome(progress.now());
        assert!(matches!(outcome, Outcome::Failed(_)), "{outcome:?}");
    })
    .await;
}

#[tokio::test]
async fn run_with_several_steps_can_be_watched() {
    on_every_store(async |store| {
        let (progress, client) = open(store);
        let run = client.start("import", "load", None);
        run.step("copy", Some(10));
        run.tick(4);
        let uid = run.uid().to_owned();
        let reported = async || loop {
            let trace = progress.trace(&user(), "import", &uid).await.expect("an answer");
            if trace.is_some_and(|trace| trace.steps.len() == 2 && trace.current().iteration == 4) {
                return;
            }
            tokio::task::yield_now().await;
        };
        tokio::time::timeout(LONG, reported()).await.expect("reported in time");
        run.finish();
        assert!(client.flush(LONG).await);
        let trace = progress.trace(&user(), "import", &uid).await.expect("an answer");
        assert!(trace.is_some_and(|trace| trace.done && trace.current().iteration == 10));
    })
    .await;
}

#[tokio::test]
async fn nothing_is_learned_from_items_that_were_left() {
    on_every_store(async |store| {
        let (progress, client) = open(store);
        assert_eq!(client.wrap("import", "copy", 0..1_000).take(10).count(), 10);
        assert!(client.flush(LONG).await);
        assert_eq!(progress.samples(&user(), "import").await.expect("an answer"), None);
    })
    .await;
}

#[tokio::test]
async fn no_items_are_a_run_too() {
    let (progress, client) = open(Store::open("embedded:memory").await.expect("a store"));
    assert_eq!(client.wrap("import", "copy", Vec::<u8>::new()).count(), 0);
    assert!(client.flush(LONG).await);
    assert!(progress.samples(&user(), "import").await.expect("an answer").is_some());
}

#[tokio::test]
async fn names_that_cannot_be_do_not_disturb_the_work() {
    let (_, client) = open(Store::open("embedded:memory").await.expect("a store"));
    for (bar, step) in [("", "copy"), ("import", ""), ("import", "default")] {
        assert_eq!(client.wrap(bar, step, 0..100).count(), 100);
    }
    let run = client.start("import", "copy", Some(0));
    run.step("copy", None);
    run.finish();
    assert!(client.flush(LONG).await, "what is refused is not tried again");
}

#[tokio::test]
async fn lost_store_does_not_disturb_the_work() {
    let mut server = RedisServer::start();
    let (_, client) = open(Store::open(&server.url()).await.expect("a store"));
    let mut items = client.wrap("import", "copy", 0..100_000);
    items.next();
    server.stop();
    assert_eq!(items.count(), 99_999);
    assert!(!client.flush(Duration::from_millis(10)).await, "it still tries");
}
