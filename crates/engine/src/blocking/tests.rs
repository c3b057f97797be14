//! What it costs to wake those who wait.

use std::time::{Duration, Instant};

use crate::{reply::Reply, test_engine::TestEngine};

/// Keys that one client waits for.
const KEYS: usize = 20_000;

/// Far more than the work takes, and far less than it took when each key cost as much as all keys before it.
const TIME_MAX: Duration = Duration::from_secs(2);

/// Has a client wait for many keys and another bring data for all of them in one unit.
fn bring_data_for_all(pop: &str, push: &str) -> (TestEngine, usize, Duration) {
    let mut rig = TestEngine::new();
    let waiter = rig.connect();
    let names: Vec<String> = (0..KEYS).map(|n| format!("key:{n}")).collect();
    assert_eq!(rig.run_as(waiter, &format!("{pop} {} 0", names.join(" "))), None);
    rig.check("multi => +OK");
    for name in &names {
        rig.run(&push.replace("KEY", name));
    }
    let started = Instant::now();
    assert!(matches!(rig.run("exec"), Reply::Array(replies) if replies.len() == KEYS));
    (rig, waiter, started.elapsed())
}

#[test]
fn a_client_that_waits_for_thousands_of_keys_is_woken_in_time() {
    let (mut rig, waiter, time) = bring_data_for_all("bzpopmin", "zadd KEY 1 m");
    assert!(time < TIME_MAX, "{time:?}");
    assert_eq!(rig.delivered(waiter).len(), 1);
    assert_eq!(rig.state.waiting.len(), 0);
    rig.check(
        "exists key:0 => :0
         zcard key:1 => :1",
    );
}

#[test]
fn data_that_a_client_does_not_want_is_passed_by_in_time() {
    let (mut rig, waiter, time) = bring_data_for_all("blpop", "zadd KEY 1 m");
    assert!(time < TIME_MAX, "{time:?}");
    assert_eq!(rig.delivered(waiter), []);
    assert_eq!(rig.state.waiting.len(), KEYS);
    rig.check(
        "del key:7 => :1
         rpush key:7 item => :1",
    );
    assert_eq!(rig.delivered(waiter), [Reply::bulks(["key:7", "item"])]);
}
