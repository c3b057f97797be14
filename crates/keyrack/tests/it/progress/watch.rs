//! Traces that are watched while they run.

use std::process::Stdio;

use serde_json::Value as Json;

use crate::{program::Run, world::World};

/// Copies item by item, as a file for each allows.
const BY_FILES: &str = "echo step load; echo step copy 3; \
                        for i in 1 2 3; do until [ -e go$i ]; do sleep 0.02; done; echo tick; done; echo step tidy";

#[test]
fn watcher_sees_every_step_and_the_end() {
    let world = World::new();
    // A past run, so that there is something to estimate from.
    (1..=3).for_each(|i| std::fs::write(world.path(&format!("go{i}")), "").expect("written"));
    world.goes_well("import", BY_FILES);
    (1..=3).for_each(|i| std::fs::remove_file(world.path(&format!("go{i}"))).expect("removed"));

    let mut watch = world.keyrack("progress watch import r1 --json");
    let watch = watch.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
    let mut run = world.keyrack("progress run import --uid r1");
    let mut run = run.args(["--", "sh", "-c", BY_FILES]).spawn().expect("it starts");
    for i in 1..=3 {
        keyrack_testkit::wait_until("the trace to go on", || {
            let shown = world.run("progress show import r1 --json");
            let shown: Json = serde_json::from_str(&shown.stdout).unwrap_or_default();
            shown["steps"][1]["iteration"] == i - 1
        });
        std::fs::write(world.path(&format!("go{i}")), "").expect("written");
    }
    assert!(run.wait().expect("it ends").success());
    let watched = Run::from(watch.wait_with_output().expect("it ends"));
    assert_eq!((watched.code, watched.stderr.as_str()), (Some(0), ""), "{watched:?}");
    let lines = watched.stdout.lines().map(|line| serde_json::from_str(line).expect("JSON"));
    let lines: Vec<Json> = lines.collect();
    for i in 1..=2 {
        let at =
            lines.iter().find(|line| line["steps"][1]["iteration"] == i).expect("the iteration");
        assert!(at["remaining_seconds"]["p50"].as_f64().is_some_and(|left| left >= 0.0), "{at}");
        assert_eq!(at["done"], false);
    }
    let last = lines.last().expect("the end");
    assert_eq!((&last["done"], &last["remaining_seconds"]), (&Json::from(true), &Json::Null));
}

#[test]
fn watcher_who_comes_late_sees_the_end() {
    let world = World::new();
    world.goes_well("import --uid r1", "echo step load");
    let watched = world.run("progress watch import r1");
    assert_eq!(watched.code, Some(0), "{watched:?}");
    assert!(watched.stderr.starts_with("\"import\" completed after "), "{watched:?}");
}

#[test]
fn trace_that_never_begins_is_not_found() {
    let world = World::new();
    let watched = world.run("progress watch import nobody --wait 50ms");
    assert_eq!(watched.code, Some(3), "{watched:?}");
    assert_eq!(watched.failure().0, "error: \"import\" has no trace \"nobody\"");
}

#[test]
fn watcher_learns_that_a_run_failed_and_how() {
    let world = World::new();
    let mut watch = world.keyrack("progress watch import r1");
    let watch = watch.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
    let run = world.with_bar("import --uid r1", "echo step load; exit 3");
    assert_eq!(run.code, Some(3), "{run:?}");
    let watched = Run::from(watch.wait_with_output().expect("it ends"));
    assert_eq!(watched.code, Some(1), "{watched:?}");
    assert!(
        watched.failure().0.contains("\"import\" failed with exit code 3, after"),
        "{watched:?}"
    );
    let shown = world.json("progress show import r1");
    assert_eq!((&shown["state"], &shown["failure"]["exit_code"]), (&"failed".into(), &3.into()));
    assert_eq!((&shown["done"], &shown["remaining_seconds"]), (&false.into(), &Json::Null));
    let shown = world.run("progress show import r1").stdout;
    assert!(shown.contains("failed with exit code 3"), "{shown}");
}

#[test]
fn run_that_a_signal_ends_says_which() {
    let world = World::new();
    let run = world.with_bar("import --uid r1", "kill -9 $$");
    assert_eq!(run.code, Some(137), "{run:?}");
    let shown = world.json("progress show import r1");
    assert_eq!((&shown["state"], &shown["failure"]["signal"]), (&"failed".into(), &9.into()));
    let watched = world.run("progress watch import r1");
    assert!(watched.failure().0.contains("failed: ended by signal 9"), "{watched:?}");
}
