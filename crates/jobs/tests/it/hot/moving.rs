//! Workers of the hot queue while the slot of its keys moves from one node of a cluster to another.

use keyrack_jobs::hot::{Producer, keys};
use keyrack_store::Store;
use keyrack_testkit::RedisCluster;
use serde_json::json;

use super::workshop::{Running, gate, worker};

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
