//! `keyrack store`: checking and repairing a folder, and telling about a store.

use std::{fs, path::PathBuf};

use keyrack_testkit::{RedisCluster, RedisServer};
use tempfile::TempDir;

use crate::program::{Run, Serve};

/// A folder with a hundred keys in it, closed in good order.
fn filled() -> TempDir {
    let dir = TempDir::new().expect("a folder");
    // A worker of the hot queue would note itself in the store.
    let mut serve = Serve::start_with(dir.path(), "--hot off", &[]);
    let mut redis = serve.redis();
    for i in 0..100 {
        redis::cmd("SET").arg(format!("k{i}")).arg("v").exec(&mut redis).expect("acknowledged");
    }
    assert_eq!(serve.process.terminate().code(), Some(0));
    dir
}

fn log_of(dir: &TempDir) -> PathBuf {
    dir.path().join("keyrack-data/appendonlydir/appendonly.aof.1.incr.aof")
}

/// Changes a byte in the middle of the log.
fn damage(dir: &TempDir) {
    let path = log_of(dir);
    let mut bytes = fs::read(&path).expect("the log");
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0x20;
    fs::write(&path, bytes).expect("the log is written");
}

#[test]
fn sound_folder_is_called_sound() {
    let dir = filled();
    let run = Run::line_in(dir.path(), "store check");
    let told =
        run.stderr.strip_prefix("intact: ").and_then(|rest| rest.strip_suffix(" commands\n"));
    // A hundred of ours, and what the first start has written.
    let commands: u64 = told.expect("a count").parse().expect("a number");
    assert_eq!(run.code, Some(0), "{run:?}");
    assert!((100..150).contains(&commands), "{run:?}");
    assert!(run.stdout.contains("appendonly.aof.1.incr.aof  incr"), "{run:?}");
    let run = Run::line_in(dir.path(), "store check keyrack-data --json --quiet");
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""));
    let report: serde_json::Value = serde_json::from_str(&run.stdout).expect("JSON");
    let found = (&report["sound"], &report["files"][0]["commands"]);
    assert_eq!(found, (&true.into(), &commands.into()));
}

#[test]
fn damage_is_named_and_repaired_when_told_to() {
    let dir = filled();
    damage(&dir);
    let run = Run::line_in(dir.path(), "store check");
    assert_eq!(run.code, Some(1), "{run:?}");
    let (error, hint) = run.failure();
    assert!(error.contains("\"appendonly.aof.1.incr.aof\" at byte "), "{error}");
    assert!(hint.is_some_and(|hint| hint.contains("keyrack store repair")), "{run:?}");

    let run = Run::line_in(dir.path(), "serve --http 127.0.0.1:0 --resp 127.0.0.1:0");
    assert_eq!(run.code, Some(1), "{run:?}");
    assert!(run.failure().0.contains("is damaged at byte "), "{run:?}");

    let before = fs::read(log_of(&dir)).expect("the log");
    let run = Run::line_in(dir.path(), "store repair");
    assert_eq!(run.code, Some(2), "nobody can be asked: {run:?}");
    assert_eq!(fs::read(log_of(&dir)).expect("the log"), before);

    let run = Run::line_in(dir.path(), "store repair --yes");
    assert_eq!(run.code, Some(0), "{run:?}");
    assert!(run.stdout.contains("are now in appendonly.aof.1.incr.aof.cut-"), "{run:?}");
    assert_eq!(Run::line_in(dir.path(), "store check").code, Some(0));
    let serve = Serve::start(dir.path());
    let value: String = redis::cmd("GET").arg("k0").query(&mut serve.redis()).expect("kept");
    assert_eq!(value, "v");
}

#[test]
fn folder_in_use_is_not_repaired() {
    let dir = TempDir::new().expect("a folder");
    let _serve = Serve::start(dir.path());
    let run = Run::line_in(dir.path(), "store repair --yes");
    assert_eq!(run.code, Some(4), "{run:?}");
}

#[test]
fn folder_that_is_not_there_is_not_found() {
    let run = Run::line("store check nothing");
    assert_eq!(run.code, Some(3), "{run:?}");
    assert_eq!(run.failure().0, "error: data folder \"nothing\" does not exist");
    let run = Run::line("store check --store redis://127.0.0.1:1");
    assert_eq!(run.code, Some(2), "{run:?}");
}

#[test]
fn stats_count_keys_by_database() {
    let server = RedisServer::start();
    let mut redis = server.connection();
    redis::cmd("SET").arg("a").arg(1).exec(&mut redis).expect("acknowledged");
    redis::cmd("SELECT").arg(3).exec(&mut redis).expect("there is a database 3");
    redis::cmd("SET").arg(&["a", "1", "EX", "100"]).exec(&mut redis).expect("acknowledged");
    let run = Run::line(&format!("store stats --json --store {}", server.url()));
    let stats: serde_json::Value = serde_json::from_str(&run.stdout).expect("JSON");
    assert_eq!((&stats["kind"], &stats["keys"]), (&"server".into(), &2.into()));
    let expected = serde_json::json!([
        { "db": 0, "keys": 1, "expires": 0 },
        { "db": 3, "keys": 1, "expires": 1 },
    ]);
    assert_eq!(stats["databases"], expected);
}

#[test]
fn stats_of_a_cluster_add_its_primaries_up() {
    let cluster = RedisCluster::start();
    for key in (0..30).map(|i| format!("k{i}")) {
        let node = &cluster.nodes()[cluster.owner(cluster.key_slot(&key))];
        let set = redis::cmd("SET").arg(key).arg(1).exec(&mut node.connection());
        set.expect("acknowledged");
    }
    let run = Run::line(&format!("store stats --json --store {}", cluster.url()));
    let stats: serde_json::Value = serde_json::from_str(&run.stdout).expect("JSON");
    let told = (&stats["kind"], &stats["servers"], &stats["keys"]);
    assert_eq!(told, (&"cluster".into(), &3.into(), &30.into()));
}
