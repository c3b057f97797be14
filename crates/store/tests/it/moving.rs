//! Scripts while the slot of their keys moves from one node of a cluster to another.

use keyrack_store::{Script, Store, script};
use keyrack_testkit::{RedisCluster, SlotMove, wait_until_async};

use crate::keys::account;

/// It is given one key and derives another.
static WRITE_BOTH: Script = script!("write_both.lua");

async fn write_both(store: &Store, amount: u32) -> (String, String, usize) {
    let call = WRITE_BOTH.call(store).key("balance", &account("giro")).arg("amount", amount);
    call.run().await.expect("the script runs once the slot has arrived")
}

/// Stops a move of the script's slot at a point that `reach` leads to, with the two keys or none. A call in the meantime
/// changes nothing on either side, and runs whole when the move is over.
async fn check(stored: bool, reach: impl Fn(&SlotMove<'_>, [&str; 2])) {
    let cluster = RedisCluster::start();
    let store = Store::open(&cluster.url()).await.expect("a store");
    let key = store.place(&account("giro")).into_owned();
    let keys = [key.clone(), format!("{key}:beside")];
    let before = if stored {
        assert_eq!(write_both(&store, 1).await, (String::new(), String::new(), 1));
        ("1".to_owned(), "1".to_owned(), 1)
    } else {
        (String::new(), String::new(), 1)
    };
    let slot = cluster.key_slot(&key);
    let from = cluster.owner(slot);
    let to = (from + 1) % 3;

    let slot_move = cluster.begin_slot_move(slot, to);
    reach(&slot_move, [&keys[0], &keys[1]]);
    let held = [from, to].map(|node| cluster.keys_in_slot(slot, node));
    let call = tokio::spawn({
        let store = store.clone();
        async move { write_both(&store, 2).await }
    });
    let refused = || cluster.refusals("TRYAGAIN", from) + cluster.refusals("TRYAGAIN", to) > 0;
    wait_until_async("the call to be refused", async || refused() || call.is_finished()).await;
    assert!(!call.is_finished(), "the script ran while its keys were moving");
    assert_eq!([from, to].map(|node| cluster.keys_in_slot(slot, node)), held);

    slot_move.move_keys();
    slot_move.finish();
    assert_eq!(call.await.expect("the call"), before, "what the script found");
    assert_eq!(cluster.keys_in_slot(slot, from), [""; 0]);
    assert_eq!(cluster.keys_in_slot(slot, to), keys);
    assert_eq!(write_both(&store, 3).await, ("2".into(), "2".into(), 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn script_waits_for_its_slot_that_holds_nothing() {
    check(false, |_, _| {}).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn script_waits_for_its_slot_whose_keys_are_still_at_the_source() {
    check(true, |_, _| {}).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn script_waits_for_its_slot_whose_declared_key_has_moved() {
    check(true, |slot_move, [declared, _]| slot_move.move_key(declared)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn script_waits_for_its_slot_whose_derived_key_has_moved() {
    check(true, |slot_move, [_, derived]| slot_move.move_key(derived)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn script_waits_for_its_slot_whose_keys_have_all_moved() {
    check(true, |slot_move, _| slot_move.move_keys()).await;
}
