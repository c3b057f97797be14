//! Claims about a throw-away Sentinel group.

use std::{
    collections::HashMap,
    thread,
    time::{Duration, Instant},
};

use keyrack_testkit::{Sentinel, wait_until};
use redis::cmd;
use rustix::process::{Pid, Signal, kill_process};

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

#[test]
fn planned_failover_holds_although_the_new_master_is_silent_for_a_while() {
    let group = Sentinel::start();
    let (old, new) = (group.master_addr(), group.other().addr());
    let new_master = Pid::from_raw(group.other().process_id() as i32).unwrap();
    thread::scope(|scope| {
        scope.spawn(|| {
            wait_until("the switch", || group.master_addr() == new);
            kill_process(new_master, Signal::STOP).unwrap();
            // Far beyond the time after which the sentinels take a master for dead outside of a planned failover.
            wait_until("pings to go unanswered", || silence_of_master(&group) > 4000);
            kill_process(new_master, Signal::CONT).unwrap();
        });
        assert_eq!(group.fail_over(), new);
    });
    assert_eq!(group.master_addr(), new);
    assert_eq!(group.other().addr(), old);
}

/// How many milliseconds ago the master answered a ping of the first sentinel.
fn silence_of_master(group: &Sentinel) -> u64 {
    let mut query = cmd("SENTINEL");
    query.arg("MASTER").arg(group.master_name());
    let fields: HashMap<String, String> =
        query.query(&mut group.sentinels()[0].connection()).unwrap();
    fields["last-ok-ping-reply"].parse().unwrap()
}

#[test]
fn sentinels_that_did_not_run_for_seconds_act_again_within_seconds() {
    let mut group = Sentinel::start();
    let began = Instant::now();
    for n in 0..3 {
        group.sentinel_mut(n).pause();
    }
    wait_until("the freeze to last for as long as starts tilt mode", || {
        began.elapsed() > Duration::from_millis(2500)
    });
    for n in 0..3 {
        group.sentinel_mut(n).resume();
    }
    let tilt = |value: &str| {
        group.sentinels().iter().all(|it| it.info("sentinel_tilt").as_deref() == Some(value))
    };
    wait_until("tilt mode", || tilt("1"));
    let began = Instant::now();
    wait_until("the end of tilt mode", || tilt("0"));
    assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
}
