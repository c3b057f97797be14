//! Servers that go away, come back, and change places.

use std::time::{Duration, Instant};

use keyrack_store::{Error, Event, Store, Subscription};
use keyrack_testkit::{FaultProxy, RedisCluster, RedisServer, Sentinel, wait_until_async};
use redis::AsyncCommands;

use crate::keys::{account, alice, moved};

/// What the product promises: everything works again this long after a server's return.
const HEALED_AFTER_MAX: Duration = Duration::from_secs(2);

async fn write(store: &Store) -> Result<i64, Error> {
    Ok(store.connection().incr(&*store.place(&account("giro")), 1).await?)
}

/// Waits until a message that is published now arrives; gaps on the way are counted.
async fn gaps_until_message(store: &Store, events: &mut Subscription) -> usize {
    let mut gaps = 0;
    loop {
        let _ = store.publish(&moved(&alice()), "1").await;
        match tokio::time::timeout(Duration::from_millis(50), events.next()).await {
            Ok(Some(Event::Gap)) => gaps += 1,
            Ok(Some(Event::Message(_))) => return gaps,
            Ok(None) => panic!("the subscription ended"),
            Err(_) => {}
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_server_heals_within_two_seconds_of_its_return() {
    let mut server = RedisServer::builder().append_only().start();
    let store = Store::open(&server.url()).await.expect("a store");
    let mut events = store.subscribe(&[moved(&alice())]).await.expect("a subscription");
    assert_eq!(write(&store).await.expect("a write"), 1);

    server.kill();
    let error = write(&store).await.expect_err("the server is gone");
    assert!(error.is_transient(), "{error:?}");

    server.restart();
    let returned = Instant::now();
    wait_until_async("writes to work again", async || write(&store).await.is_ok()).await;
    assert_eq!(gaps_until_message(&store, &mut events).await, 1);
    assert!(returned.elapsed() < HEALED_AFTER_MAX, "{:?}", returned.elapsed());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cut_connection_fails_what_was_under_way_and_comes_back() {
    let server = RedisServer::start();
    let proxy = FaultProxy::start(server.addr()).await;
    let store = Store::open(&proxy.redis_url()).await.expect("a store");
    let mut events = store.subscribe(&[moved(&alice())]).await.expect("a subscription");
    write(&store).await.expect("a write");

    proxy.black_hole(true);
    let under_way = tokio::spawn({
        let store = store.clone();
        async move { write(&store).await }
    });
    tokio::task::yield_now().await;
    proxy.black_hole(false);
    proxy.cut();
    let outcome = under_way.await.expect("the task");
    assert!(matches!(outcome, Ok(_) | Err(Error::Lost(_))), "{outcome:?}");

    wait_until_async("writes to work again", async || write(&store).await.is_ok()).await;
    assert_eq!(gaps_until_message(&store, &mut events).await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_new_primary_is_followed_after_a_sentinel_failover() {
    let mut group = Sentinel::start();
    let store = Store::open(&group.url()).await.expect("a store");
    let mut events = store.subscribe(&[moved(&alice())]).await.expect("a subscription");
    write(&store).await.expect("a write");
    group.kill_master();
    let switched = Instant::now();
    wait_until_async("writes to work on the new primary", async || write(&store).await.is_ok())
        .await;
    assert!(gaps_until_message(&store, &mut events).await >= 1);
    assert!(switched.elapsed() < HEALED_AFTER_MAX, "{:?}", switched.elapsed());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cluster_failover_is_survived() {
    let mut cluster = RedisCluster::start_with_replicas();
    let store = Store::open(&cluster.url()).await.expect("a store");
    let mut events = store.subscribe(&[moved(&alice())]).await.expect("a subscription");
    write(&store).await.expect("a write");
    let slot = cluster.key_slot(&store.place(&account("giro")));
    let master = cluster.owner(slot);
    cluster.kill_master(master);
    wait_until_async("writes to work on the promoted replica", async || {
        write(&store).await.is_ok()
    })
    .await;
    gaps_until_message(&store, &mut events).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_moved_slot_is_followed() {
    let mut cluster = RedisCluster::start();
    let store = Store::open(&cluster.url()).await.expect("a store");
    let mut events = store.subscribe(&[moved(&alice())]).await.expect("a subscription");
    write(&store).await.expect("a write");
    let slot = cluster.key_slot(&store.place(&account("giro")));
    let to = (cluster.owner(slot) + 1) % 3;
    cluster.move_slot(slot, to);
    assert_eq!(write(&store).await.expect("a write to the new owner"), 2);
    gaps_until_message(&store, &mut events).await;
}
