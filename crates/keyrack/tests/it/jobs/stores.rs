//! The same commands on other stores than a server.

use keyrack_testkit::RedisCluster;
use serde_json::Value as Json;
use tempfile::TempDir;

use crate::program::{Run, keyrack};

/// Submits jobs to queues of two groups, runs them and looks at them.
fn check(store: &str) {
    let dir = TempDir::new().expect("a folder");
    let run = |line: &str| -> Run {
        let mut command = keyrack(dir.path());
        command.args(line.split(' ')).args(store.split(' '));
        let run = Run::of(command);
        assert_eq!(run.code, Some(0), "{line}: {run:?}");
        run
    };
    let json = |line: &str| -> Json { serde_json::from_str(&run(line).stdout).expect("JSON") };
    for queue in ["emails", "mail/send"] {
        let first = run(&format!("jobs submit {queue} 1 --tag t")).stdout;
        run(&format!("jobs submit {queue} 2 --tag t --after {}", first.trim()));
        let ended = run(&format!("work {queue} --drain --exec cat"));
        assert!(ended.stderr.ends_with("stopped: 2 completed\n"), "{ended:?}");
        let listed = json(&format!("jobs list {queue} --in ended --json"));
        assert_eq!(listed["jobs"].as_array().map(Vec::len), Some(2));
    }
    assert_eq!(json("jobs search t --json").as_array().map(Vec::len), Some(4));
    let stats = json("jobs stats --json");
    let ended: Vec<&Json> =
        stats.as_array().expect("a list").iter().map(|one| &one["ended"]).collect();
    assert_eq!(ended, [2, 2]);
}

#[test]
fn jobs_run_on_a_cluster() {
    let cluster = RedisCluster::start();
    check(&format!("--store {}", cluster.url()));
}

#[test]
fn jobs_run_in_a_data_folder_without_a_server() {
    let dir = TempDir::new().expect("a folder");
    check(&format!("--data {}", dir.path().display()));
}
