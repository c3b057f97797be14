//! Entries that a worker cannot run.

use keyrack_jobs::hot::{Counts, Producer, Unknown, keys};
use keyrack_testkit::{on_every_store, wait_until_async};
use serde_json::json;

use super::workshop::{Running, assert_clean, command, gate, list, worker};

#[tokio::test]
async fn unknown_and_malformed_entries_are_set_aside_byte_for_byte_on_every_store() {
    for reliable in [false, true] {
        on_every_store(async |store| {
            let producer = Producer::new(store.clone());
            let entries: [&[u8]; 4] = [
                br#"{"name": "runners.new", "kwargs": {"n":  7}, "queued_at": 1.0}"#,
                b"no job",
                b"\xff\x00",
                br#"{"name":"known"}"#,
            ];
            let _: i64 = command(&store, "RPUSH", &keys::hot(), &entries[..]).await;
            let (gate, mut keeper) = gate();
            let worker = worker(&store, "w").on("known", gate.handler());
            let running = Running::start(if reliable { worker.reliable() } else { worker });
            producer.push("known", &json!({"n": 1})).await.expect("queued");
            keeper.begun().await;
            keeper.let_go(1);
            assert_eq!(producer.unknown_depth().await.expect("a depth"), 4);
            assert_eq!(producer.unknown(10).await.expect("entries"), entries);
            assert_eq!(producer.unknown(1).await.expect("entries"), [entries[0]]);
            let counters = running.counters.clone();
            running.stop().await;
            let expected = Counts { done: 1, unknown: 1, malformed: 3, ..Counts::default() };
            assert_eq!(counters.now(), expected);
            assert_clean(&store, "w").await;
        })
        .await;
    }
}

#[tokio::test]
async fn only_the_newest_ten_thousand_are_kept() {
    let store = keyrack_store::Store::open("embedded:memory").await.expect("a store");
    let producer = Producer::new(store.clone());
    let old: Vec<String> = (0..10_000).map(|n| n.to_string()).collect();
    let _: i64 = command(&store, "RPUSH", &keys::unknown(), &old).await;
    let running = Running::start(worker(&store, "w"));
    let _: i64 = command(&store, "RPUSH", &keys::hot(), "the newest").await;
    wait_until_async("the entry to be set aside", async || {
        list(&store, &keys::unknown()).await.last().is_some_and(|last| last == "the newest")
    })
    .await;
    assert_eq!(producer.unknown_depth().await.expect("a depth"), 10_000);
    assert_eq!(producer.unknown(1).await.expect("entries"), [b"1"]);
    running.stop().await;
}

#[tokio::test]
async fn a_job_can_be_left_to_a_worker_that_knows_it_on_every_store() {
    for reliable in [false, true] {
        on_every_store(async |store| {
            let producer = Producer::new(store.clone());
            let (gate, mut keeper) = gate();
            let picky = worker(&store, "picky").on("mine", gate.handler()).unknown(Unknown::Leave);
            let picky = Running::start(if reliable { picky.reliable() } else { picky });
            producer.push("theirs", &json!({"n": 1})).await.expect("queued");
            producer.push("mine", &json!({"n": 2})).await.expect("queued");
            assert_eq!(keeper.begun().await, "2");
            keeper.let_go(1);
            let (their_gate, mut their_keeper) = self::gate();
            let other = Running::start(worker(&store, "other").on("theirs", their_gate.handler()));
            assert_eq!(their_keeper.begun().await, "1");
            their_keeper.let_go(1);
            assert_eq!(producer.unknown_depth().await.expect("a depth"), 0);
            picky.stop().await;
            other.stop().await;
            assert_clean(&store, "picky").await;
        })
        .await;
    }
}
