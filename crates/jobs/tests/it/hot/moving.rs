//! Workers of the hot queue while the slot of its keys moves from one node of a cluster to another.

use keyrack_jobs::hot::{Producer, keys};
use keyrack_store::Store;
use keyrack_testkit::{RedisCluster, wait_until_async};
use serde_json::json;

use super::workshop::{ALONE, Running, assert_clean, command, gate, id, worker};

async fn push(store: &Store, n: u32) {
    Producer::new(store.clone()).push("wait", &json!({ "n": n })).await.expect("queued");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_that_waits_is_woken_to_stop_in_its_moving_slot() {
    let cluster = RedisCluster::start();
    let store = Store::open(&cluster.url()).await.expect("a store");
    let (gate, mut keeper) = gate();
    let running = Running::start(worker(&store, "w").on("wait", gate.handler()));
    push(&store, 1).await;
    assert_eq!(keeper.begun().await, "1");
    keeper.let_go(1);
    let slot = cluster.key_slot(&store.place(&keys::hot()));
    let to = (cluster.owner(slot) + 1) % 3;
    let slot_move = cluster.begin_slot_move(slot, to);
    let stopped = running.tell_to_stop();
    slot_move.move_keys();
    slot_move.finish();
    stopped.await.expect("the worker stops in peace");
    push(&store, 2).await;
    assert!(keeper.none_begun(), "it takes no more jobs");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_that_signs_on_in_a_moving_slot_is_known_when_it_has_moved() {
    let cluster = RedisCluster::start();
    let store = Store::open(&cluster.url()).await.expect("a store");
    let (gate, mut keeper) = gate();
    let start = |name| Running::start(worker(&store, name).reliable().on("wait", gate.handler()));
    let first = start("first");
    push(&store, 1).await;
    assert_eq!(keeper.begun().await, "1");
    let workers = store.place(&keys::workers()).into_owned();
    let slot = cluster.key_slot(&workers);
    let from = cluster.owner(slot);
    let slot_move = cluster.begin_slot_move(slot, (from + 1) % 3);
    slot_move.move_key(&workers);

    let refused = cluster.refusals("ASK", from);
    let second = start("second");
    let is_refused = async || cluster.refusals("ASK", from) > refused;
    wait_until_async("the heartbeat to be refused", is_refused).await;
    slot_move.move_keys();
    slot_move.finish();

    let lives = keys::alive(&id("second"));
    let is_known = async || command::<bool>(&store, "EXISTS", &lives, ALONE).await;
    wait_until_async("the second worker to be known", is_known).await;
    let known: Vec<String> = command(&store, "ZRANGE", &keys::workers(), (0, -1)).await;
    assert_eq!(known, ["first", "second"]);
    let stopped = first.tell_to_stop();
    keeper.let_go(1);
    stopped.await.expect("the worker stops in peace");
    push(&store, 2).await;
    assert_eq!(keeper.begun().await, "2");
    keeper.let_go(1);
    second.stop().await;
    assert!(keeper.none_begun(), "a job ran twice");
    assert_clean(&store, "first").await;
    assert_clean(&store, "second").await;
}
