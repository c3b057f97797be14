//! Writes that replicas have to have.

use std::time::Duration;

use keyrack_store::{Error, Options, ReplicasAcknowledge, Store};
use keyrack_testkit::{RedisCluster, RedisServer};
use redis::AsyncCommands;

use crate::keys::account;

/// Long enough for a busy machine; a replica that follows answers in a millisecond.
const ONE: ReplicasAcknowledge =
    ReplicasAcknowledge { replicas: 1, within: Duration::from_secs(2) };

async fn open(url: &str) -> Result<Store, Error> {
    let options = Options { replicas_acknowledge: Some(ONE), ..Options::default() };
    Store::open_with(url.parse().expect("a good URL"), options).await
}

async fn write(store: &Store) -> Result<(), Error> {
    let writing = store.writing().await;
    let _: i64 = store.connection().incr(&*store.place(&account("giro")), 1).await?;
    writing.acknowledged().await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_write_succeeds_once_a_replica_has_it_and_is_told_of_if_none_has() {
    let primary = RedisServer::start();
    let mut replica = RedisServer::builder().replica_of(&primary).start();
    replica.wait_until_in_sync();
    let store = open(&primary.url()).await.expect("a store");
    let writes = (0..100).map(|_| write(&store));
    for outcome in futures_util::future::join_all(writes).await {
        outcome.expect("the replica has it");
    }
    replica.pause();
    let error = write(&store).await.expect_err("the replica hangs");
    assert!(matches!(error, Error::NotReplicated { acknowledged: 0, wanted: 1 }), "{error:?}");
    assert!(error.is_transient() && error.to_string().contains("saved on the primary only"));
    replica.resume();
    keyrack_testkit::wait_until_async("the replica to follow", async || {
        write(&store).await.is_ok()
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_acknowledgement_counts_only_from_the_server_that_took_the_write() {
    let mut primary = RedisServer::start();
    let replica = RedisServer::builder().replica_of(&primary).start();
    replica.wait_until_in_sync();
    let store = open(&primary.url()).await.expect("a store");
    write(&store).await.expect("the replica has it");

    let writing = store.writing().await;
    let key = store.place(&account("giro")).into_owned();
    let _: i64 = store.connection().incr(&key, 1).await.expect("a write");
    // It saves nothing, and its replica takes over its emptiness.
    primary.restart();
    replica.wait_until_in_sync();
    let error = writing.acknowledged().await.expect_err("the write is gone");
    assert!(matches!(error, Error::NotReplicated { acknowledged: 0, .. }), "{error:?}");
    keyrack_testkit::wait_until_async("writes to be acknowledged again", async || {
        write(&store).await.is_ok()
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn writes_to_another_database_are_acknowledged_too() {
    let primary = RedisServer::start();
    let replica = RedisServer::builder().replica_of(&primary).start();
    replica.wait_until_in_sync();
    let store = open(&primary.url()).await.expect("a store");
    write(&store.database(3).await.expect("a database")).await.expect("the replica has it");
    write(&store.tagged()).await.expect("the replica has it");
}

#[tokio::test]
async fn a_store_without_replicas_to_wait_for_is_refused() {
    let cluster = RedisCluster::start();
    for url in ["embedded:memory", &cluster.url()] {
        let error = open(url).await.expect_err("there are none");
        assert!(matches!(error, Error::NoReplicas { .. }), "{error:?}");
    }
}

#[tokio::test]
async fn a_probe_finds_a_store_that_takes_no_writes() {
    keyrack_testkit::on_every_store(async |store| store.probe().await.expect("a write")).await;
    let server = RedisServer::start();
    let store = Store::open(&server.url()).await.expect("a store");
    let mut full = redis::cmd("CONFIG");
    full.arg("SET").arg("maxmemory").arg("1").exec(&mut server.connection()).expect("full");
    store.ping().await.expect("it answers");
    let error = store.probe().await.expect_err("it takes no writes");
    assert!(matches!(error, Error::Unavailable { .. }), "{error:?}");
}
