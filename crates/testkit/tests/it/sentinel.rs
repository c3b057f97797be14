//! Claims about a throw-away Sentinel group.

use keyrack_testkit::Sentinel;
use redis::cmd;

#[test]
fn sentinels_replace_a_killed_master_and_take_it_back_as_replica() {
    let mut group = Sentinel::start();
    let before = group.master_addr();
    let mut connection = group.master().connection();
    cmd("SET").arg("key").arg("value").exec(&mut connection).unwrap();
    let replicas: usize = cmd("WAIT").arg(1).arg(0).query(&mut connection).unwrap();
    assert_eq!(replicas, 1);

    let after = group.kill_master();
    assert_ne!(before, after);
    assert_eq!(group.master_addr(), after);
    let value: String = cmd("GET").arg("key").query(&mut group.master().connection()).unwrap();
    assert_eq!(value, "value");

    group.other_mut().restart();
    group.wait_until_watched();
    group.other().wait_until_in_sync();
    assert_eq!(group.other().addr(), before);
}

#[test]
fn url_names_every_sentinel_and_the_master() {
    let group = Sentinel::start();
    let ports: Vec<u16> = group.sentinels().iter().map(|it| it.port()).collect();
    let [a, b, c] = ports[..] else { panic!("there are three sentinels") };
    let expected = format!("redis+sentinel://127.0.0.1:{a},127.0.0.1:{b},127.0.0.1:{c}/mymaster");
    assert_eq!(group.url(), expected);
}
