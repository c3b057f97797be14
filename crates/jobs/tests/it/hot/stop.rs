//! Stopping in peace: what runs ends, what was not begun stays.

use std::time::{Duration, Instant};

use keyrack_jobs::hot::{Job, Producer, keys};
use keyrack_testkit::{on_every_store, wait_until_async};
use serde_json::json;
use tokio::sync::mpsc;

use super::workshop::{Running, assert_clean, gate, numbers, worker};

#[tokio::test]
async fn a_stopping_worker_ends_what_runs_and_leaves_the_rest_on_every_store() {
    for reliable in [false, true] {
        on_every_store(async |store| {
            let producer = Producer::new(store.clone());
            for n in 0..6 {
                producer.push("wait", &json!({ "n": n })).await.expect("queued");
            }
            let (gate, mut keeper) = gate();
            let worker = worker(&store, "w").on("wait", gate.handler());
            let running = Running::start(if reliable { worker.reliable() } else { worker });
            for _ in 0..4 {
                keeper.begun().await;
            }
            let counters = running.counters.clone();
            let stopped = running.tell_to_stop();
            keeper.let_go(4);
            stopped.await.expect("the worker stops in peace");
            assert_eq!(counters.now().done, 4);
            assert_eq!(numbers(&store, &keys::hot()).await, [4, 5]);
            assert_clean(&store, "w").await;
        })
        .await;
    }
}

#[tokio::test]
async fn an_idle_worker_stops_at_once_on_every_store() {
    on_every_store(async |store| {
        let (sender, mut begun) = mpsc::unbounded_channel();
        let worker = worker(&store, "w").on("x", move |_: Job| {
            sender.send(()).expect("the test listens");
            async { Ok(None) }
        });
        let running = Running::start(worker);
        // It has taken a job, so it waits for the next one by now.
        Producer::new(store.clone()).push("x", &json!({})).await.expect("queued");
        begun.recv().await;
        let told = Instant::now();
        running.stop().await;
        // Far less than the five seconds that a pop may wait.
        assert!(told.elapsed() < Duration::from_secs(2), "{:?}", told.elapsed());
        assert_clean(&store, "w").await;
    })
    .await;
}

#[tokio::test]
async fn an_exclusive_job_that_could_not_begin_goes_back_to_the_head_on_every_store() {
    for reliable in [false, true] {
        on_every_store(async |store| {
            let producer = Producer::new(store.clone());
            let (gate, mut keeper) = gate();
            let worker = worker(&store, "w")
                .on("wait", gate.handler())
                .on_exclusive("alone", gate.handler());
            let running = Running::start(if reliable { worker.reliable() } else { worker });
            producer.push("wait", &json!({"n": 0})).await.expect("queued");
            keeper.begun().await;
            producer.push("alone", &json!({"n": 1})).await.expect("queued");
            producer.push("wait", &json!({"n": 2})).await.expect("queued");
            wait_until_async("the exclusive job to be taken", async || {
                numbers(&store, &keys::hot()).await == [2]
            })
            .await;
            let stopped = running.tell_to_stop();
            wait_until_async("the exclusive job to be put back", async || {
                numbers(&store, &keys::hot()).await == [1, 2]
            })
            .await;
            keeper.let_go(1);
            stopped.await.expect("the worker stops in peace");
            assert!(keeper.none_begun());
            assert_clean(&store, "w").await;
        })
        .await;
    }
}

#[tokio::test]
async fn a_long_job_learns_that_its_worker_stops() {
    let store = keyrack_store::Store::open("embedded:memory").await.expect("a store");
    let producer = Producer::new(store.clone());
    let (sender, mut begun) = mpsc::unbounded_channel();
    let worker = worker(&store, "w").on("long", {
        let producer = producer.clone();
        move |job: Job| {
            let (sender, producer) = (sender.clone(), producer.clone());
            async move {
                sender.send(job.is_stopping())?;
                job.stopping().await;
                producer.push("long", &json!({"n": 2})).await?;
                Ok(None)
            }
        }
    });
    producer.push("long", &json!({"n": 1})).await.expect("queued");
    let running = Running::start(worker);
    assert_eq!(begun.recv().await, Some(false));
    running.stop().await;
    assert_eq!(numbers(&store, &keys::hot()).await, [2]);
}
