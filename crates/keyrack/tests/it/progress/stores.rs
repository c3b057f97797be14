//! The same on other stores than a server.

use keyrack_testkit::RedisCluster;
use serde_json::Value as Json;
use tempfile::TempDir;

use crate::program::{Run, Serve, keyrack};

/// Runs a command twice with a bar, and looks at what was learned.
fn check(store: &str) {
    let dir = TempDir::new().expect("a folder");
    let run = |line: &str, more: &[&str]| {
        let mut command = keyrack(dir.path());
        command.args(line.split(' ')).args(store.split(' ')).args(more);
        let run = Run::of(command);
        assert_eq!(run.code, Some(0), "{line}: {run:?}");
        run
    };
    for uid in ["r1", "r2"] {
        let line = ["--", "sh", "-c", "echo step load; echo step copy 5; echo tick 5"];
        let ended = run(&format!("progress run import --uid {uid}"), &line);
        assert_eq!((ended.stdout.as_str(), ended.stderr.as_str()), ("", ""), "{ended:?}");
        run("progress run lines", &["--", "seq", "9"]);
        run(&format!("progress watch import {uid}"), &[]);
    }
    let listed: Json =
        serde_json::from_str(&run("progress list --json", &[]).stdout).expect("JSON");
    let runs: Vec<&Json> =
        listed.as_array().expect("a list").iter().map(|bar| &bar["runs"]).collect();
    assert_eq!(runs, [2, 2]);
    run("keys lint", &[]);
}

#[test]
fn bars_learn_on_a_cluster() {
    let cluster = RedisCluster::start();
    check(&format!("--store {}", cluster.url()));
}

#[test]
fn bars_learn_in_a_data_folder_without_a_server() {
    let dir = TempDir::new().expect("a folder");
    check(&format!("--data {}", dir.path().display()));
}

#[test]
fn bars_learn_beside_a_running_server() {
    let dir = TempDir::new().expect("a folder");
    let serve = Serve::start(dir.path());
    check(&format!("--store redis://{}", serve.resp()));
}
