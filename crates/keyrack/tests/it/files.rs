//! `keyrack files`, in folders.

use std::{fs, path::Path, process::Command};

use keyrack_testkit::{wait_for, wait_until};
use serde_json::{Value as Json, json};
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
fn serve_sweeps_by_the_calendar_where_files_are_known() {
    let dir = TempDir::new().expect("a folder");
    let file = dir.path().join("buckets/b/k");
    fs::create_dir_all(file.parent().expect("a bucket")).expect("a bucket");
    fs::write(&file, "x").expect("a file");
    let each_second = [("KEYRACK_FILES_SWEEP", "* * * * * *")];
    let serve = Serve::start_with(dir.path(), "--files file:buckets", &each_second);
    let words = serve.words();
    assert!(words.contains("  files  swept by cron * * * * * * in UTC\n"), "{words}");
    assert!(words.contains("  jobs   1 by the calendar\n"), "{words}");
    rm(dir.path(), &serve, "files rm b k --yes");
    wait_until("the file to be swept", || !file.exists());
}

#[test]
fn the_sweep_is_a_recurring_job_like_any_other() {
    let dir = TempDir::new().expect("a folder");
    fs::create_dir(dir.path().join("buckets")).expect("a folder");
    let serve = Serve::start_with(dir.path(), "--files file:buckets", &[]);
    let list = |files: Option<&str>| {
        let mut command = keyrack(dir.path());
        command.args(["recurring", "list", "--json", "--store"]);
        command.arg(format!("redis://{}", serve.resp()));
        command.envs(files.map(|files| ("KEYRACK_FILES", files)));
        serde_json::from_str::<Json>(&Run::of(command).stdout).expect("JSON")
    };
    let listed = wait_for("the list to be in force", || {
        Some(list(Some("file:buckets"))).filter(|listed| listed["in_force"] == true)
    });
    let job = &listed["jobs"][0];
    assert_eq!(job["name"], "runners.sweep_partial_file_uploads");
    assert_eq!((&job["queue"], &job["kwargs"]), (&json!(null), &json!({})));
    assert_eq!(job["schedule"], "cron */10 * * * * in UTC");
    assert_eq!(list(None)["jobs"], json!([]));
    let queued: f64 = redis::cmd("ZSCORE")
        .arg("rjobs")
        .arg(job["digest"].as_str().expect("a digest"))
        .query(&mut serve.redis())
        .expect("a score");
    assert_eq!(queued % 600.0, 0.0);
}

#[test]
fn a_file_of_settings_may_have_a_sweep_of_its_own() {
    let dir = TempDir::new().expect("a folder");
    let file = "files = \"file:buckets\"\n[[recurring]]\nname = \"runners.sweep_partial_file_uploads\"\n\
                zone = \"US/Pacific\"\nhours = [0]\nminutes = [0]\nseconds = [0]\n";
    fs::write(dir.path().join("keyrack.toml"), file).expect("the file is written");
    let serve = Serve::start(dir.path());
    assert!(serve.words().contains("  jobs   1 by the calendar\n"), "{}", serve.words());
}

#[test]
fn sweeps_that_make_no_sense_are_refused() {
    let refusal = |line: &str, sweep: &str| {
        let dir = TempDir::new().expect("a folder");
        let mut command = keyrack(dir.path());
        command.args(line.split_whitespace()).env("KEYRACK_FILES_SWEEP", sweep);
        let run = Run::of(command);
        (run.code, run.failure().0.to_owned())
    };
    let (code, error) = refusal("serve", "* * * * *");
    assert_eq!((code, &*error), (Some(2), "error: nothing says where the files are"));
    let (code, error) = refusal("serve --files file:buckets", "10m");
    assert_eq!(code, Some(2));
    assert!(error.starts_with("error: the times of the sweep: "), "{error}");
}

fn rm(dir: &Path, serve: &Serve, line: &str) {
    let run = Run::line_in(dir, &format!("{line} --store redis://{}", serve.resp()));
    assert_eq!(run.code, Some(0), "{run:?}");
}
