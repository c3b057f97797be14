//! Claims about a throw-away cluster.

use keyrack_testkit::RedisCluster;
use redis::cmd;

#[test]
fn three_masters_share_the_slots() {
    let cluster = RedisCluster::start();
    assert_eq!([0, 8_000, 16_383].map(|slot| cluster.owner(slot)), [0, 1, 2]);
    for (index, node) in cluster.nodes().iter().enumerate() {
        let key = format!("key:{index}");
        let stored = cmd("SET").arg(&key).arg(1).exec(&mut node.connection());
        let owned = cluster.owner(cluster.key_slot(&key)) == index;
        assert_eq!(stored.is_ok(), owned, "node {index}: {stored:?}");
    }
}

#[test]
fn moved_slot_takes_its_keys_along() {
    let mut cluster = RedisCluster::start();
    let slot = cluster.key_slot("{user}");
    let from = cluster.owner(slot);
    let to = (from + 1) % 3;
    let mut connection = cluster.nodes()[from].connection();
    for index in 0..250 {
        cmd("SET").arg(format!("{{user}}:{index}")).arg(index).exec(&mut connection).unwrap();
    }

    cluster.move_slot(slot, to);

    assert_eq!(cluster.owner(slot), to);
    let value: i64 =
        cmd("GET").arg("{user}:249").query(&mut cluster.nodes()[to].connection()).unwrap();
    assert_eq!(value, 249);
    let error = cmd("GET").arg("{user}:0").exec(&mut connection).unwrap_err();
    assert_eq!(error.code(), Some("MOVED"));
}

#[test]
fn half_moved_slot_asks() {
    let cluster = RedisCluster::start();
    let slot = cluster.key_slot("key");
    let from = cluster.owner(slot);
    let slot_move = cluster.begin_slot_move(slot, (from + 1) % 3);
    let mut connection = cluster.nodes()[from].connection();
    let error = cmd("GET").arg("key").exec(&mut connection).unwrap_err();
    assert_eq!(error.code(), Some("ASK"));

    slot_move.finish();
    let error = cmd("GET").arg("key").exec(&mut connection).unwrap_err();
    assert_eq!(error.code(), Some("MOVED"));
}

#[test]
fn replica_takes_over_on_request_and_after_a_crash() {
    let mut cluster = RedisCluster::start_with_replicas();
    let slot = cluster.key_slot("key");
    let first = cluster.owner(slot);
    cmd("SET").arg("key").arg("value").exec(&mut cluster.nodes()[first].connection()).unwrap();

    let second = cluster.fail_over(first);
    assert_eq!((second, cluster.owner(slot)), (first + 3, second));

    let third = cluster.kill_master(second);
    assert_eq!((third, cluster.owner(slot)), (first, first));
    let value: String =
        cmd("GET").arg("key").query(&mut cluster.nodes()[third].connection()).unwrap();
    assert_eq!(value, "value");

    cluster.node_mut(second).restart();
    cluster.nodes()[second].wait_until_in_sync();
    cluster.wait_until_settled();
}
