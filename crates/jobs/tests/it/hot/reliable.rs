//! Reliable mode: a job is kept aside while it runs, and run again when its worker is lost.

use keyrack_jobs::hot::{Producer, keys};
use keyrack_store::Store;
use keyrack_testkit::{on_every_store, simulated_store, wait_until_async};
use serde_json::json;

use super::workshop::{ALONE, Running, assert_clean, command, gate, id, numbers, worker};

async fn push_numbers(store: &Store, numbers: std::ops::Range<u64>) {
    for n in numbers {
        Producer::new(store.clone()).push("wait", &json!({ "n": n })).await.expect("queued");
    }
}

/// Lets the heartbeat of a worker run out, as if time had passed.
async fn let_expire(store: &Store, worker: &str) {
    let _: i64 = command(store, "DEL", &keys::alive(&id(worker)), ALONE).await;
    let long_ago = store.now_ms() as f64 / 1000.0 - 60.0;
    let _: i64 = command(store, "ZADD", &keys::workers(), (long_ago, worker)).await;
}

#[tokio::test]
async fn a_running_job_is_kept_aside_and_gone_when_it_ends_on_every_store() {
    on_every_store(async |store| {
        push_numbers(&store, 0..2).await;
        let (gate, mut keeper) = gate();
        let running = Running::start(worker(&store, "w").on("wait", gate.handler()).reliable());
        keeper.begun().await;
        keeper.begun().await;
        assert_eq!(numbers(&store, &keys::taken(&id("w"))).await, [0, 1]);
        assert!(numbers(&store, &keys::hot()).await.is_empty());
        let ttl: i64 = command(&store, "PTTL", &keys::alive(&id("w")), ALONE).await;
        assert!((1..=15_000).contains(&ttl), "{ttl}");
        keeper.let_go(1);
        wait_until_async("one job to be gone", async || {
            numbers(&store, &keys::taken(&id("w"))).await.len() == 1
        })
        .await;
        keeper.let_go(1);
        running.stop().await;
        assert_clean(&store, "w").await;
    })
    .await;
}

#[tokio::test]
async fn failed_jobs_are_not_run_again_on_every_store() {
    on_every_store(async |store| {
        push_numbers(&store, 0..2).await;
        let worker = worker(&store, "w")
            .on("wait", async |_: keyrack_jobs::hot::Job| panic!("as it must"))
            .reliable();
        let running = Running::start(worker);
        let counters = running.counters.clone();
        wait_until_async("both to end", async || counters.now().panicked == 2).await;
        running.stop().await;
        assert_eq!(counters.now().panicked, 2);
        assert!(numbers(&store, &keys::hot()).await.is_empty());
        assert_clean(&store, "w").await;
    })
    .await;
}

#[tokio::test]
async fn jobs_of_a_lost_worker_run_again_in_their_order_on_every_store() {
    on_every_store(async |store| {
        push_numbers(&store, 0..4).await;
        let (gate, mut keeper) = gate();
        let lost = Running::start(worker(&store, "lost").on("wait", gate.handler()).reliable());
        for _ in 0..4 {
            keeper.begun().await;
        }
        lost.kill().await;
        push_numbers(&store, 4..5).await;
        let producer = Producer::new(store.clone());
        assert_eq!(producer.rescue().await.expect("nothing to rescue yet"), 0);
        let_expire(&store, "lost").await;

        let (next_gate, mut next_keeper) = self::gate();
        let next = worker(&store, "next").concurrency(1).on("wait", next_gate.handler()).reliable();
        let next = Running::start(next);
        next_keeper.let_go(5);
        for n in 0..5 {
            assert_eq!(next_keeper.begun().await, n.to_string());
        }
        next.stop().await;
        // The lost one stays listed for an hour, in case it only slept.
        let listed: Vec<String> = command(&store, "ZRANGE", &keys::workers(), (0, -1)).await;
        assert_eq!(listed, ["lost"]);
    })
    .await;
}

#[tokio::test]
async fn jobs_of_a_worker_that_lives_are_left_alone_on_every_store() {
    on_every_store(async |store| {
        push_numbers(&store, 0..1).await;
        let (gate, mut keeper) = gate();
        let running = Running::start(worker(&store, "w").on("wait", gate.handler()).reliable());
        keeper.begun().await;
        // Its clock may be behind: what counts is that its heartbeat has not expired.
        let _: i64 = command(&store, "ZADD", &keys::workers(), (1.0, "w")).await;
        assert_eq!(Producer::new(store.clone()).rescue().await.expect("looked"), 0);
        assert_eq!(numbers(&store, &keys::taken(&id("w"))).await, [0]);
        keeper.let_go(1);
        running.stop().await;
    })
    .await;
}

#[tokio::test]
async fn a_lost_worker_is_noticed_by_time_alone_and_forgotten_after_an_hour() {
    let (store, clock) = simulated_store(1_667_950_000_000, 1).await;
    push_numbers(&store, 0..1).await;
    let (gate, mut keeper) = gate();
    let lost = Running::start(worker(&store, "lost").on("wait", gate.handler()).reliable());
    keeper.begun().await;
    lost.kill().await;
    let producer = Producer::new(store.clone());
    clock.advance_ms(14_999);
    assert_eq!(producer.rescue().await.expect("looked"), 0);
    clock.advance_ms(1);
    assert_eq!(producer.rescue().await.expect("rescued"), 1);
    assert_eq!(numbers(&store, &keys::hot()).await, [0]);
    clock.advance_ms(3_600_000);
    assert_eq!(producer.rescue().await.expect("looked"), 0);
    assert!(!command::<bool>(&store, "EXISTS", &keys::workers(), ALONE).await);
}
