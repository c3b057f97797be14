//! `keyrack files`, in folders.

use std::{fs, path::Path, process::Command};

use keyrack_testkit::wait_until;
use serde_json::json;
use tempfile::TempDir;

use crate::{
    program::{Run, Serve, keyrack},
    world::World,
};

/// A world with a bucket `b` in the folder `buckets`.
fn world() -> World {
    let world = World::new();
    fs::create_dir_all(world.path("buckets/b")).expect("a bucket");
    world
}

fn sweep(world: &World, more: &str) -> Command {
    let mut command = world.keyrack(&format!("files sweep {more}"));
    command.env("KEYRACK_FILES", "file:buckets");
    command
}

#[test]
fn files_that_were_asked_for_are_swept() {
    let world = world();
    fs::write(world.path("buckets/b/k"), "x").expect("a file");
    let run = world.run("files rm b k other --hint tests --yes");
    assert_eq!((run.code, &*run.stderr), (Some(0), "2 files to be deleted by the next sweep\n"));
    let listed = world.json("files list");
    assert_eq!(
        listed[0]["member"],
        r#"{"bucket": "b", "expected": true, "hint": "tests", "key": "k"}"#
    );
    assert_eq!((&listed[1]["key"], &listed[1]["failure"]), (&json!("other"), &json!(null)));
    let dry = Run::of(sweep(&world, "--dry-run --json"));
    assert_eq!(dry.stdout, world.run("files list --json").stdout);
    assert!(world.path("buckets/b/k").exists());
    let run = Run::of(sweep(&world, ""));
    assert_eq!((run.code, &*run.stderr), (Some(0), "1 file deleted, 1 gone already\n"));
    assert!(!world.path("buckets/b/k").exists());
    assert_eq!(world.run("files list").stderr, "no files\n");
}

#[test]
fn a_file_that_cannot_be_deleted_is_told_and_listed_with_its_reason() {
    let world = world();
    world.run("files rm no-such-bucket k --yes");
    let run = Run::of(sweep(&world, "--json"));
    assert_eq!(run.code, Some(1), "{run:?}");
    let swept: serde_json::Value = serde_json::from_str(&run.stdout).expect("JSON");
    assert_eq!((&swept["failed"], &swept["deleted"]), (&json!(1), &json!(0)));
    assert!(run.stderr.starts_with("could not delete {\"bucket\": \"no-such-bucket\""), "{run:?}");
    let listed = world.printed("files list");
    let reason = "failed 1 time: the bucket \"no-such-bucket\" failed: there is no such folder";
    assert!(listed.contains(reason), "{listed}");
}

#[test]
fn a_file_that_is_kept_is_not_swept() {
    let world = world();
    fs::write(world.path("buckets/b/k"), "x").expect("a file");
    world.run("files rm b k --yes");
    world.run("files rm b k --hint twice --yes");
    let kept = world.run("files keep b k");
    assert_eq!((kept.code, &*kept.stderr), (Some(0), "kept; it had been entered 2 times\n"));
    let again = world.run("files keep b k");
    assert_eq!(again.code, Some(3));
    assert_eq!(again.failure().0, "error: the file \"k\" in \"b\" is not in purgatory");
    assert_eq!(Run::of(sweep(&world, "")).stderr, "0 files deleted\n");
    assert!(world.path("buckets/b/k").exists());
}

#[test]
fn nothing_is_deleted_without_a_word_or_a_place() {
    let world = world();
    let run = world.run("files rm b k");
    assert_eq!(
        (run.code, run.failure().0),
        (Some(2), "error: deleting files needs to be confirmed")
    );
    let run = world.run("files sweep");
    assert_eq!((run.code, run.failure().0), (Some(2), "error: nothing says where the files are"));
    let run = world.run("files sweep --at somewhere");
    assert_eq!(run.code, Some(2), "{run:?}");
}

#[test]
fn serve_sweeps_when_told_so() {
    let dir = TempDir::new().expect("a folder");
    let file = dir.path().join("buckets/b/k");
    fs::create_dir_all(file.parent().expect("a bucket")).expect("a bucket");
    fs::write(&file, "x").expect("a file");
    let serve = Serve::start_with(dir.path(), "--files file:buckets --files-sweep 50ms", &[]);
    assert!(serve.words().contains("files  swept every 50ms"), "{}", serve.words());
    rm(dir.path(), &serve, "files rm b k --yes");
    wait_until("the file to be swept", || !file.exists());
    drop(serve);
    let mut refused = keyrack(dir.path());
    refused.args(["serve", "--files-sweep", "50ms"]);
    let run = Run::of(refused);
    assert_eq!((run.code, run.failure().0), (Some(2), "error: nothing says where the files are"));
}

fn rm(dir: &Path, serve: &Serve, line: &str) {
    let run = Run::line_in(dir, &format!("{line} --store redis://{}", serve.resp()));
    assert_eq!(run.code, Some(0), "{run:?}");
}
