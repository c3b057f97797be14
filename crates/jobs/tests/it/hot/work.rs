//! Running jobs.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use keyrack_jobs::hot::{Counts, Job, Producer, keys};
use keyrack_testkit::{on_every_store, wait_until_async};
use serde::Deserialize;
use serde_json::json;
use tokio::sync::mpsc;

use super::workshop::{Running, assert_clean, command, gate, worker};

async fn push_numbers(producer: &Producer, name: &str, numbers: std::ops::Range<u64>) {
    for n in numbers {
        producer.push(name, &json!({ "n": n })).await.expect("queued");
    }
}

#[tokio::test]
async fn jobs_run_once_each_and_the_oldest_first_on_every_store() {
    on_every_store(async |store| {
        let producer = Producer::new(store.clone());
        push_numbers(&producer, "note", 0..20).await;
        let (sender, mut noted) = mpsc::unbounded_channel();
        let worker = worker(&store, "w").concurrency(1).on("note", move |job: Job| {
            let sender = sender.clone();
            async move {
                sender.send(job.kwargs["n"].as_u64().ok_or("no number")?)?;
                Ok(None)
            }
        });
        let running = Running::start(worker);
        push_numbers(&producer, "note", 20..40).await;
        for n in 0..40 {
            assert_eq!(noted.recv().await, Some(n));
        }
        running.stop().await;
        assert_eq!(noted.recv().await, None);
        assert_eq!(producer.depth().await.expect("a depth"), 0);
        assert_clean(&store, "w").await;
    })
    .await;
}

#[tokio::test]
async fn as_many_jobs_run_at_once_as_allowed_and_no_more_on_every_store() {
    on_every_store(async |store| {
        let producer = Producer::new(store.clone());
        push_numbers(&producer, "wait", 0..6).await;
        let (gate, mut keeper) = gate();
        let running = Running::start(worker(&store, "w").on("wait", gate.handler()));
        for _ in 0..4 {
            keeper.begun().await;
        }
        // Nothing is taken that could not begin.
        assert_eq!(producer.depth().await.expect("a depth"), 2);
        assert!(keeper.none_begun());
        keeper.let_go(1);
        keeper.begun().await;
        keeper.let_go(5);
        keeper.begun().await;
        running.stop().await;
    })
    .await;
}

#[tokio::test]
async fn an_exclusive_job_waits_for_all_others_and_runs_alone_on_every_store() {
    on_every_store(async |store| {
        let producer = Producer::new(store.clone());
        let (gate, mut keeper) = gate();
        let (alone_gate, mut alone_keeper) = self::gate();
        let worker = worker(&store, "w")
            .on("wait", gate.handler())
            .on_exclusive("alone", alone_gate.handler());
        // Also when nothing runs: the first job of all.
        producer.push("alone", &json!({"n": 0})).await.expect("queued");
        let running = Running::start(worker);
        assert_eq!(alone_keeper.begun().await, "0");
        push_numbers(&producer, "wait", 1..3).await;
        alone_keeper.let_go(1);
        keeper.begun().await;
        keeper.begun().await;

        producer.push("alone", &json!({"n": 3})).await.expect("queued");
        push_numbers(&producer, "wait", 4..6).await;
        wait_until_async("the exclusive job to be taken", async || {
            producer.depth().await.expect("a depth") == 2
        })
        .await;
        keeper.let_go(1);
        assert!(alone_keeper.none_begun(), "one of the others still runs");
        keeper.let_go(1);
        assert_eq!(alone_keeper.begun().await, "3");
        assert!(keeper.none_begun());
        assert_eq!(producer.depth().await.expect("a depth"), 2, "the intake is closed");
        alone_keeper.let_go(1);
        keeper.begun().await;
        keeper.begun().await;
        keeper.let_go(2);
        running.stop().await;
    })
    .await;
}

#[tokio::test]
async fn exclusive_jobs_of_a_worker_with_one_place_just_run() {
    let store = keyrack_store::Store::open("embedded:memory").await.expect("a store");
    let producer = Producer::new(store.clone());
    push_numbers(&producer, "alone", 0..3).await;
    let (gate, mut keeper) = gate();
    let worker = worker(&store, "w").concurrency(0).on_exclusive("alone", gate.handler());
    let running = Running::start(worker);
    keeper.let_go(3);
    for n in 0..3 {
        assert_eq!(keeper.begun().await, n.to_string());
    }
    running.stop().await;
}

#[tokio::test]
async fn errors_and_panics_of_handlers_end_no_worker_on_every_store() {
    on_every_store(async |store| {
        let producer = Producer::new(store.clone());
        let done = Arc::new(AtomicUsize::new(0));
        let worker = worker(&store, "w")
            .on("fails", async |_: Job| Err("as it must".into()))
            .on("panics", async |_: Job| panic!("as it must"))
            .on("panics at once", |job: Job| {
                assert!(job.kwargs.contains_key("never"), "as it must");
                async { Ok(None) }
            })
            .on("works", {
                let done = done.clone();
                move |_: Job| {
                    done.fetch_add(1, Ordering::Relaxed);
                    async { Ok(None) }
                }
            });
        for _ in 0..3 {
            for name in ["fails", "panics", "panics at once", "works"] {
                producer.push(name, &json!({})).await.expect("queued");
            }
        }
        let running = Running::start(worker);
        let counters = running.counters.clone();
        let expected = Counts { done: 3, failed: 3, panicked: 6, ..Counts::default() };
        wait_until_async("all jobs to end", async || counters.now() == expected).await;
        assert_eq!(done.load(Ordering::Relaxed), 3);
        running.stop().await;
    })
    .await;
}

#[tokio::test]
async fn arguments_that_do_not_fit_fail_the_job() {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Message {
        message: String,
    }

    let store = keyrack_store::Store::open("embedded:memory").await.expect("a store");
    let producer = Producer::new(store.clone());
    let (sender, mut heard) = mpsc::unbounded_channel();
    let worker = worker(&store, "w").on("runners.example", move |job: Job| {
        let sender = sender.clone();
        async move {
            sender.send(job.read::<Message>()?.message)?;
            Ok(None)
        }
    });
    producer.push("runners.example", &json!({})).await.expect("queued");
    producer.push("runners.example", &json!({"message": "x", "more": 1})).await.expect("queued");
    let by_python = r#"{"name": "runners.example", "kwargs": {"message": "hi"}, "queued_at": 1}"#;
    let _: i64 = command(&store, "RPUSH", &keys::hot(), by_python).await;
    let running = Running::start(worker);
    assert_eq!(heard.recv().await.as_deref(), Some("hi"));
    let counters = running.counters.clone();
    running.stop().await;
    assert_eq!(counters.now(), Counts { done: 1, failed: 2, ..Counts::default() });
}

#[tokio::test]
async fn many_workers_share_the_queue_and_run_each_job_once_on_every_store() {
    on_every_store(async |store| {
        let producer = Producer::new(store.clone());
        let (sender, mut noted) = mpsc::unbounded_channel();
        let workers: Vec<Running> = (0..3)
            .map(|n| {
                let sender = sender.clone();
                let worker = worker(&store, &format!("w{n}")).on("note", move |job: Job| {
                    let sender = sender.clone();
                    async move {
                        sender.send(job.kwargs["n"].as_u64().ok_or("no number")?)?;
                        Ok(None)
                    }
                });
                Running::start(worker)
            })
            .collect();
        push_numbers(&producer, "note", 0..200).await;
        let mut seen = Vec::new();
        while seen.len() < 200 {
            seen.extend(noted.recv().await);
        }
        for worker in workers {
            worker.stop().await;
        }
        assert!(noted.is_empty());
        seen.sort_unstable();
        assert_eq!(seen, (0..200).collect::<Vec<_>>());
    })
    .await;
}
