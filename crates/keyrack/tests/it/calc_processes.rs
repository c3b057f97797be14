//! Calculations by several processes at once, some of which die.

use std::{collections::BTreeMap, fs, path::Path};

use keyrack_testkit::{Process, wait_until};
use serde_json::json;
use tempfile::TempDir;

use crate::{
    program::{Run, Serve, keyrack},
    world::World,
};

const CALCULATIONS: [&str; 7] =
    ["sum", "count", "average", "standard_deviation", "linear_regression", "max", "median"];
const INTERVALS: [&str; 3] = ["hours", "weeks", "months"];

/// The n-th of some events, each at a time of its own.
fn line(n: usize) -> String {
    let (day, second) = (n / 600 % 28 + 1, n % 600);
    json!({
        "account": "7", "project": "2", "dimension": "job-skills", "key": "python",
        "value": format!("{}.{}", n * 7919 % 1000, n % 10),
        "created_at": format!("2014-{:02}-{day:02} {:02}:{:02}:{:02} -0400", n % 12 + 1, n % 24, second / 60, second % 60),
        "interval": INTERVALS, "calculation": CALCULATIONS,
    })
    .to_string()
}

/// All lines in an order of its own, every third of them twice.
fn shuffled(n: usize, seed: usize) -> String {
    // Steps of a size that has no divisor in common with n reach every line.
    let step = [7, 11, 13, 17][seed % 4];
    assert!(!n.is_multiple_of(step));
    let order = (0..n).map(|at| (at * step + seed * 31) % n);
    let twice = order.flat_map(|at| std::iter::repeat_n(at, if at % 3 == 0 { 2 } else { 1 }));
    twice.map(|at| line(at) + "\n").collect()
}

/// Every result of the key as it is stored.
fn results(
    connection: &mut redis::Connection,
    tag: &str,
) -> BTreeMap<String, BTreeMap<String, String>> {
    let mut all = BTreeMap::new();
    for calculation in CALCULATIONS {
        for interval in INTERVALS {
            let name = format!("{tag}hash:2:job-skills:python:{calculation}:{interval}");
            let fields = redis::cmd("HGETALL").arg(&name).query(connection).expect("a result");
            all.insert(format!("{calculation}:{interval}"), fields);
        }
    }
    all
}

/// Imports in four processes at once, each of which has all events in another order.
fn import_by_four(dir: &Path, store: &str, n: usize) {
    let imports: Vec<_> = (0..4)
        .map(|seed| {
            let file = dir.join(format!("{seed}.ndjson"));
            fs::write(&file, shuffled(n, seed)).expect("written");
            let mut command = keyrack(dir);
            command.args(["calc", "import", "--store", store]).arg(&file);
            std::thread::spawn(move || Run::of(command))
        })
        .collect();
    for import in imports {
        let run = import.join().expect("the import ran");
        assert_eq!(run.code, Some(0), "{run:?}");
    }
}

#[test]
fn processes_that_import_the_same_events_at_once_leave_what_one_would() {
    const N: usize = 1500;
    let alone = World::new();
    let lines: String = (0..N).map(|n| line(n) + "\n").collect();
    fs::write(alone.path("all.ndjson"), lines).expect("written");
    assert_eq!(alone.run("calc import all.ndjson").code, Some(0));
    let expected = results(&mut alone.server.connection(), "{7}");
    assert!(expected.values().all(|fields| !fields.is_empty()), "{expected:?}");

    let world = World::new();
    import_by_four(&world.path(""), &world.server.url(), N);
    assert_eq!(results(&mut world.server.connection(), "{7}"), expected, "on redis");
    let run = world.run("calc verify --account 7");
    assert_eq!(run.code, Some(0), "{run:?}");

    let dir = TempDir::new().expect("a folder");
    let serve = Serve::start(dir.path());
    import_by_four(dir.path(), &format!("redis://{}", serve.resp()), N);
    let mut connection = serve.redis();
    redis::cmd("SELECT").arg(100).exec(&mut connection).expect("the account's database");
    assert_eq!(results(&mut connection, ""), expected, "on the embedded engine");
}

/// Starts a process that takes in events from a list.
fn ingest(world: &World) -> Process {
    Process::spawn("keyrack calc ingest", world.keyrack("calc ingest --list in --quiet"))
}

#[test]
fn events_of_a_list_are_all_taken_in_though_a_process_is_killed() {
    const N: usize = 4000;
    let world = World::new();
    let mut connection = world.server.connection();
    let push = |connection: &mut redis::Connection, lines: Vec<String>| {
        let pushed = redis::cmd("RPUSH").arg("calculations:intake:in").arg(lines).exec(connection);
        pushed.expect("pushed");
    };
    push(&mut connection, (0..N / 2).map(line).collect());
    let mut takers = vec![ingest(&world), ingest(&world), ingest(&world)];
    let mut stored = || -> usize {
        let values = "{7}hash:2:job-skills:python:values";
        redis::cmd("HLEN").arg(values).query(&mut connection).expect("a length")
    };
    wait_until("the first events to be stored", || stored() > 0);
    // This is kill -9.
    drop(takers.pop());
    let mut connection = world.server.connection();
    push(&mut connection, (N / 2..N).map(line).collect());
    wait_until("all events to be stored", || stored() == N);
    drop(takers);

    let run = world.run("calc ingest --list in --drain");
    assert_eq!(run.code, Some(0), "{run:?}");
    let mut left: Vec<String> =
        redis::cmd("KEYS").arg("calculations:intake:*").query(&mut connection).expect("keys");
    // Who was killed with nothing in hand is noticed by whoever takes something next.
    left.retain(|name| name != "calculations:intake:in:takers");
    assert_eq!(left, [] as [&str; 0], "no event is left behind");
    let run = world.run("calc verify --account 7");
    assert_eq!(run.code, Some(0), "{run:?}");
}

#[test]
fn a_rule_whose_condition_holds_is_told_without_another_event() {
    let dir = TempDir::new().expect("a folder");
    let serve = Serve::start(dir.path());
    let store = format!("redis://{}", serve.resp());
    let token = Run::line_in(dir.path(), &format!("calc token create 7 2 --store {store}"));
    let token = token.stdout.trim();
    let rule = json!({
        "dimension": "job-skills", "key": "python", "interval": "weeks", "calculation": "sum",
        "operator": ">", "threshold": "0", "hold_ms": "300",
    });
    let path = format!("/api/1.0/rule/comparator?access_token={token}");
    let (head, body) = serve.post(&path, &rule.to_string());
    assert!(head.starts_with("HTTP/1.1 201"), "{head}{body}");
    let mut event = serde_json::from_str::<serde_json::Value>(&line(1)).expect("an event");
    for name in ["account", "project"] {
        event.as_object_mut().expect("an object").remove(name);
    }
    event["access_token"] = token.into();
    let (head, body) = serve.post("/api/1.0/event", &event.to_string());
    assert!(head.starts_with("HTTP/1.1 200"), "{head}{body}");
    wait_until("the rule to speak", || {
        let path = format!("/api/1.0/event/job-skills/python?access_token={token}");
        let (_, body) = serve.get(&path);
        body.contains("\"event_type\":\"fired\"")
    });
}
