//! Servers that go away while workers wait.

use std::time::{Duration, Instant};

use keyrack_jobs::hot::{Producer, encode, keys};
use keyrack_store::Store;
use keyrack_testkit::{FaultProxy, RedisServer, wait_until_async};
use serde_json::json;

use super::workshop::{ALONE, Running, command, gate, id, worker};

/// What the product promises: everything works again this long after a server's return.
const HEALED_AFTER_MAX: Duration = Duration::from_secs(2);

async fn push(producer: &Producer, n: u64) {
    wait_until_async("the queue to take a job", async || {
        producer.push("wait", &json!({ "n": n })).await.is_ok()
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn workers_go_on_within_two_seconds_of_a_servers_return() {
    for reliable in [false, true] {
        let mut server = RedisServer::builder().append_only().start();
        let store = Store::open(&server.url()).await.expect("a store");
        let producer = Producer::new(store.clone());
        let (gate, mut keeper) = gate();
        let worker = worker(&store, "w").on("wait", gate.handler());
        let running = Running::start(if reliable { worker.reliable() } else { worker });
        push(&producer, 1).await;
        keeper.begun().await;
        server.kill();
        // The job ends while there is nobody to tell.
        keeper.let_go(1);
        server.restart();
        let returned = Instant::now();
        push(&producer, 2).await;
        assert_eq!(keeper.begun().await, "2");
        assert!(returned.elapsed() < HEALED_AFTER_MAX, "{:?}", returned.elapsed());
        keeper.let_go(1);
        wait_until_async("the ends of both jobs to be noted", async || {
            let taken = keys::taken(&id("w"));
            !command::<bool>(&store, "EXISTS", &taken, ALONE).await
        })
        .await;
        running.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cut_connection_is_opened_again() {
    let server = RedisServer::start();
    let proxy = FaultProxy::start(server.addr()).await;
    let store = Store::open(&proxy.redis_url()).await.expect("a store");
    let direct = Producer::new(Store::open(&server.url()).await.expect("a store"));
    let (gate, mut keeper) = gate();
    let running = Running::start(worker(&store, "w").on("wait", gate.handler()));
    push(&direct, 1).await;
    keeper.begun().await;
    keeper.let_go(2);
    for n in 2..5 {
        proxy.cut();
        push(&direct, n).await;
        // What the server sends into the cut is lost: at most once. Then the next arrives.
        let mut tries = n * 100;
        while tokio::time::timeout(Duration::from_millis(200), keeper.begun()).await.is_err() {
            tries += 1;
            push(&direct, tries).await;
        }
        keeper.let_go(1);
    }
    keeper.let_go(100);
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_that_was_taken_while_the_connection_was_lost_is_put_back_and_run() {
    let server = RedisServer::start();
    let proxy = FaultProxy::start(server.addr()).await;
    let store = Store::open(&proxy.redis_url()).await.expect("a store");
    let direct = Store::open(&server.url()).await.expect("a store");
    let (gate, mut keeper) = gate();
    let running = Running::start(worker(&store, "w").on("wait", gate.handler()).reliable());
    let producer = Producer::new(direct.clone());
    push(&producer, 1).await;
    push(&producer, 1).await;
    keeper.begun().await;
    keeper.begun().await;
    // As after a move whose answer was lost; one of them looks just like a job that runs.
    let taken = keys::taken(&id("w"));
    let same = command::<Vec<String>>(&direct, "LRANGE", &taken, (0, 0)).await.remove(0);
    let other = encode("wait", &json!({"n": 2}), direct.now_ms()).expect("an entry");
    let _: i64 = command(&direct, "RPUSH", &taken, &[same, other]).await;
    wait_until_async("the worker to wait for more", async || {
        let info: String = redis::cmd("INFO")
            .arg("clients")
            .query_async(&mut direct.connection())
            .await
            .expect("the server's numbers");
        info.contains("blocked_clients:1")
    })
    .await;
    proxy.cut();
    let mut begun = [keeper.begun().await, keeper.begun().await];
    begun.sort();
    assert_eq!(begun, ["1", "2"]);
    keeper.let_go(4);
    wait_until_async("all to end", async || {
        !command::<bool>(&direct, "EXISTS", &taken, ALONE).await
    })
    .await;
    running.stop().await;
}
