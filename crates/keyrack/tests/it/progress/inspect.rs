//! Listing, showing and deleting bars.

use serde_json::json;

use crate::{program::Run, world::World};

#[test]
fn list_tells_how_long_a_bar_takes() {
    let world = World::new();
    assert_eq!(world.printed("progress list --quiet"), "");
    world.goes_well("import", "echo step load; echo step copy 4");
    world.goes_well("my-build", "seq 3");
    let printed = world.printed("progress list");
    let rows: Vec<Vec<&str>> =
        printed.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(rows[0], ["BAR", "STEPS", "RUNS", "LAST", "USUALLY", "RANGE"]);
    assert_eq!(rows[1][..3], ["import", "2", "1"]);
    assert_eq!(rows[2][..3], ["my-build", "1", "1"]);
}

#[test]
fn show_tells_about_a_bar_and_about_a_trace() {
    let world = World::new();
    world.goes_well("import --uid r1", "echo step load; echo step copy 4");
    let printed = world.printed("progress show import");
    assert!(printed.contains("     bar  import of local\n"), "{printed}");
    assert!(printed.contains("   steps  load, copy (iterated)\n"), "{printed}");
    let printed = world.printed("progress show import r1");
    assert!(printed.contains("   is at  through\n"), "{printed}");
    assert!(printed.lines().any(|line| line.starts_with("copy  4 of 4  ")), "{printed}");
    let shown = world.json("progress show import r1");
    assert_eq!((&shown["done"], &shown["uid"]), (&json!(true), &json!("r1")));
}

#[test]
fn stats_tell_how_long_each_step_took() {
    let world = World::new();
    world.goes_well("import", "echo step load; echo step copy 4");
    let printed = world.printed("progress stats import --runs");
    assert!(
        printed.lines().any(|line| line.starts_with("load  ") && line.contains("percentile 75"))
    );
    assert!(printed.lines().any(|line| line.starts_with("copy (each)")), "{printed}");
    assert!(printed.lines().any(|line| line.starts_with("ep_pbt_")), "{printed}");
    let stats = world.json("progress stats import");
    assert_eq!(stats["eta"]["steps"][1]["technique"], "best_fit.linear");
    assert!(
        stats["steps"][0]["median_seconds"].as_f64().is_some_and(|took| took >= 0.0),
        "{stats}"
    );
}

#[test]
fn rm_forgets_a_run_or_a_whole_bar() {
    let world = World::new();
    world.goes_well("import", "echo step load");
    world.goes_well("import", "echo step load");
    let stats = world.json("progress stats import");
    let uid = stats["runs"][0]["uid"].as_str().expect("an id");
    assert_eq!(world.run(&format!("progress rm import --run {uid}")).code, Some(0));
    assert_eq!(world.past_runs("import").len(), 1);
    let again = world.run(&format!("progress rm import --run {uid}"));
    assert_eq!(again.code, Some(3), "{again:?}");

    let unasked = world.run("progress rm import");
    assert_eq!(unasked.code, Some(2), "{unasked:?}");
    assert_eq!(unasked.failure().1, Some("hint: give --yes"));
    let removed = world.run("progress rm import --yes");
    assert_eq!(removed.stderr, "deleted \"import\" and its 1 past run\n");
    assert_eq!(world.json("progress list"), json!([]));
}

#[test]
fn unknown_bars_are_not_found() {
    let world = World::new();
    for line in ["show nothing", "stats nothing", "rm nothing --yes"] {
        let run = world.run(&format!("progress {line}"));
        assert_eq!(run.code, Some(3), "{run:?}");
        assert_eq!(run.failure().0, "error: there is no progress bar \"nothing\"");
    }
    let run = world.run("progress show nothing t1");
    assert_eq!(run.failure().0, "error: \"nothing\" has no trace \"t1\"");
}

#[test]
fn names_that_cannot_be_are_usage_errors() {
    let long = "x".repeat(300);
    for line in [format!("progress run {long} -- true"), "progress run b --uid a:b -- true".into()]
    {
        let run = Run::line(&line);
        assert_eq!((run.code, run.stdout.as_str()), (Some(2), ""), "{run:?}");
    }
    assert_eq!(Run::line("progress run b").code, Some(2));
}

#[test]
fn names_may_have_any_characters() {
    let world = World::new();
    let mut command = world.keyrack("progress run --user a:b");
    command.args(["grüße {all}: 100% 🚀", "--", "sh", "-c", "echo step größe: [x] 2; echo tick"]);
    assert_eq!(Run::of(command).code, Some(0));
    let listed = world.json("progress list --user a:b");
    assert_eq!(listed[0]["name"], "grüße {all}: 100% 🚀");
    let lint = world.run("keys lint");
    assert_eq!(lint.code, Some(0), "{lint:?}");
}
