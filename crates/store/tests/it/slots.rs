//! Slots of a cluster that move: calls wait until they have arrived.

use std::time::Duration;

use keyrack_store::{Error, Options, Script, Store, script};
use keyrack_testkit::RedisCluster;
use redis::AsyncCommands;

use crate::keys::{account, alice, moved};

static TRANSFER: Script = script!("transfer.lua", "amounts.lua");
static DERIVE: Script = script!("derive.lua");

const NAMES: [&str; 3] = ["giro", "savings", "derived"];

/// Long enough for a call to have been refused, had it not waited.
const NO_REFUSAL_WITHIN: Duration = Duration::from_millis(700);

async fn transfer(store: &Store) -> Result<i64, Error> {
    let call = TRANSFER.call(store).key("from", &account("giro")).key("to", &account("savings"));
    call.key("moved", &moved(&alice())).arg("amount", 1).run().await
}

/// Writes a key that the script makes by itself, beside the one it is given.
async fn derive(store: &Store) -> Result<i64, Error> {
    DERIVE.call(store).key("from", &account("giro")).run().await
}

async fn waits_for_its_slot(call: impl AsyncFn(&Store) -> Result<i64, Error>) {
    let cluster = RedisCluster::start();
    let store = Store::open(&cluster.url()).await.expect("a store");
    for name in NAMES {
        let key = store.place(&account(name)).into_owned();
        let _: () = store.connection().set(&key, 100).await.expect("a first amount");
    }
    let slot = cluster.key_slot(&store.place(&account("giro")));
    let to = (cluster.owner(slot) + 1) % 3;
    let moving = cluster.begin_slot_move(slot, to);
    // One key stays behind, as in the middle of a move.
    migrate(&cluster, &store, "derived", to);
    let mut under_way = std::pin::pin!(call(&store));
    let early = tokio::time::timeout(NO_REFUSAL_WITHIN, &mut under_way).await;
    assert!(early.is_err(), "the call did not wait: {early:?}");
    moving.move_keys();
    moving.finish();
    assert_eq!(under_way.await.expect("the slot has arrived"), 99);
}

fn migrate(cluster: &RedisCluster, store: &Store, name: &str, to: usize) {
    let key = store.place(&account(name)).into_owned();
    let mut cmd = redis::cmd("MIGRATE");
    cmd.arg("127.0.0.1").arg(cluster.nodes()[to].port()).arg(&key).arg(0).arg(5000);
    let from = cluster.owner(cluster.key_slot(&key));
    cmd.exec(&mut cluster.nodes()[from].connection()).expect("the key moves");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_script_waits_until_its_slot_has_moved() {
    waits_for_its_slot(transfer).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_script_whose_derived_key_is_on_the_other_node_waits_until_its_slot_has_moved() {
    waits_for_its_slot(derive).await;
}

async fn is_refused_in_an_open_slot(call: impl AsyncFn(&Store) -> Result<i64, Error>) {
    let cluster = RedisCluster::start();
    let options = Options { slot_wait: Some(NO_REFUSAL_WITHIN), ..Options::default() };
    let url = cluster.url().parse().expect("a URL");
    let store = Store::open_with(url, options).await.expect("a store");
    for name in NAMES {
        let key = store.place(&account(name)).into_owned();
        let _: () = store.connection().set(&key, 100).await.expect("a first amount");
    }
    let slot = cluster.key_slot(&store.place(&account("giro")));
    let to = (cluster.owner(slot) + 1) % 3;
    let moving = cluster.begin_slot_move(slot, to);
    migrate(&cluster, &store, "derived", to);
    migrate(&cluster, &store, "savings", to);

    let refused = call(&store).await;

    assert!(matches!(refused, Err(Error::Unavailable { .. })), "{refused:?}");
    moving.move_keys();
    moving.finish();
    for name in NAMES {
        let key = store.place(&account(name)).into_owned();
        let amount: i64 = store.connection().get(&key).await.expect("an amount");
        assert_eq!(amount, 100, "{name} has changed");
    }
    assert_eq!(call(&store).await.expect("the slot has arrived"), 99);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_script_in_a_slot_that_stays_open_is_unavailable_and_changes_nothing() {
    is_refused_in_an_open_slot(transfer).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_script_with_a_derived_key_in_a_slot_that_stays_open_is_unavailable_and_changes_nothing()
{
    is_refused_in_an_open_slot(derive).await;
}
