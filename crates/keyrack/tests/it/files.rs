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
    assert_eq!(
        (run.code, &*run.stderr),
        (Some(0), "2 files marked; the next sweep deletes them\n")
    );
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
    assert_eq!((run.code, &*run.stderr), (Some(0), "1 file deleted, 1 already gone\n"));
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
    assert_eq!((kept.code, &*kept.stderr), (Some(0), "kept; removed from purgatory (2 times)\n"));
    let again = world.run("files keep b k");
    assert_eq!(again.code, Some(3));
    assert_eq!(again.failure().0, "error: the file \"k\" in \"b\" is not in purgatory");
    assert_eq!(Run::of(sweep(&world, "")).stderr, "0 files deleted\n");
    assert!(world.path("buckets/b/k").exists());
}

#[test]
fn an_upload_is_kept_once_its_command_has_recorded_it() {
    let world = world();
    fs::write(world.path("cat.png"), "cat").expect("a file");
    // The command sees the file in its bucket, and its entry in purgatory.
    let record = "cp buckets/b/k recorded";
    let run = Run::of(upload(&world, "b k cat.png", &["sh", "-c", record]));
    assert_eq!((run.code, &*run.stderr), (Some(0), "uploaded \"k\" in \"b\"\n"));
    assert_eq!(fs::read(world.path("recorded")).expect("a copy"), b"cat");
    assert_eq!(world.run("files list").stderr, "no files\n");
    let plain = Run::of(upload(&world, "b other cat.png", &[]));
    assert_eq!(plain.code, Some(0), "{plain:?}");
    assert_eq!(world.run("files list").stderr, "no files\n");
    assert!(world.path("buckets/b/other").exists());
}

#[test]
fn an_upload_that_is_not_recorded_stays_in_purgatory() {
    let world = world();
    fs::write(world.path("cat.png"), "cat").expect("a file");
    let run = Run::of(upload(&world, "b k cat.png --hint tests", &["sh", "-c", "exit 7"]));
    let error = "error: \"k\" in \"b\" was not recorded; the next sweep deletes it: \"sh\" failed: exit code 7";
    assert_eq!((run.code, run.failure().0), (Some(1), error));
    let listed = world.json("files list");
    assert_eq!((&listed[0]["key"], &listed[0]["hint"]), (&json!("k"), &json!("tests")));
    assert_eq!(listed[0]["expected"], json!(false), "nobody asked for its deletion");
    // No file, or no bucket: nothing is stored.
    let missing = Run::of(upload(&world, "b k2 nowhere.png", &[]));
    assert_eq!(missing.code, Some(3), "{missing:?}");
    let unset = world.run("files upload b k2 cat.png");
    let error = "error: the setting \"files\" is missing: where the files are";
    assert_eq!((unset.code, unset.failure().0), (Some(2), error));
}

fn upload(world: &World, line: &str, record: &[&str]) -> Command {
    let mut command = world.keyrack(&format!("files upload {line}"));
    if !record.is_empty() {
        command.arg("--").args(record);
    }
    command.env("KEYRACK_FILES", "file:buckets");
    command
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
    assert_eq!(
        (run.code, run.failure().0),
        (Some(2), "error: the setting \"files\" is missing: where the files are")
    );
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
    assert!(words.contains("  jobs   1 recurring\n"), "{words}");
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
    assert!(serve.words().contains("  jobs   1 recurring\n"), "{}", serve.words());
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
    assert_eq!(
        (code, &*error),
        (Some(2), "error: the setting \"files\" is missing: where the files are")
    );
    let (code, error) = refusal("serve --files file:buckets", "10m");
    assert_eq!(code, Some(2));
    assert!(error.starts_with("error: \"files-sweep\": "), "{error}");
}

fn rm(dir: &Path, serve: &Serve, line: &str) {
    let run = Run::line_in(dir, &format!("{line} --store redis://{}", serve.resp()));
    assert_eq!(run.code, Some(0), "{run:?}");
}
