//! Commands that are run with a bar.

use super::step;
use crate::{program::Run, world::World};

#[test]
fn steps_and_ticks_are_recorded_and_the_rest_is_passed_on() {
    let world = World::new();
    let line = "echo hello; echo step load; echo step copy 3; echo tick; printf 'tick 2\\n' >&2; \
                echo step tidy; printf 'no end'";
    let run = world.with_bar("import", line);
    assert_eq!(
        (run.code, run.stdout.as_str(), run.stderr.as_str()),
        (Some(0), "hello\nno end", "")
    );
    let expected = [step("load", None), step("copy", Some(3)), step("tidy", None)];
    assert_eq!(world.past_runs("import"), [expected]);
}

#[test]
fn every_run_is_kept_from_the_first_on() {
    let world = World::new();
    for n in 1..=4 {
        world.goes_well("import", "echo step load; echo step copy 2; echo tick 2");
        assert_eq!(world.past_runs("import").len(), n);
    }
    let shown = world.json("progress show import");
    assert_eq!(shown["version"], 1, "the steps have not changed since the first run");
    assert!(shown["next_run_seconds"]["p50"].as_f64().is_some_and(|left| left < 10.0), "{shown}");
}

#[test]
fn lines_are_counted_when_no_steps_are_named() {
    let world = World::new();
    let run = world.with_bar("build", "seq 1 20; echo x >&2");
    assert_eq!((run.stdout, run.stderr.as_str()), (seq(20), "x\n"));
    world.goes_well("build", "seq 1 25");
    let runs = [[step("run", Some(21))], [step("run", Some(25))]];
    assert_eq!(world.past_runs("build"), runs);
}

fn seq(n: u32) -> String {
    (1..=n).map(|i| format!("{i}\n")).collect()
}

#[test]
fn bar_of_a_silent_command_stays_one_without_iterations() {
    let world = World::new();
    world.goes_well("quiet", "true");
    world.goes_well("quiet", "echo something after all");
    assert_eq!(world.past_runs("quiet"), [[step("run", None)], [step("run", None)]]);
}

#[test]
fn command_that_once_prints_nothing_keeps_its_bar() {
    let world = World::new();
    world.goes_well("build", "seq 1 5");
    world.goes_well("build", "true");
    assert_eq!(world.past_runs("build"), [[step("run", Some(5))], [step("run", Some(1))]]);
}

#[test]
fn more_ticks_than_were_said_are_no_mistake() {
    let world = World::new();
    world.goes_well("import", "echo step copy 2; echo tick 5; echo step tidy");
    assert_eq!(world.past_runs("import"), [[step("copy", Some(5)), step("tidy", None)]]);
}

#[test]
fn step_named_twice_or_like_the_default_one_gets_a_number() {
    let world = World::new();
    world.goes_well("odd", "echo step a; echo step default; echo step a; echo step run");
    let expected = ["a", "default 2", "a 2", "run"].map(|name| step(name, None));
    assert_eq!(world.past_runs("odd"), [expected]);
}

#[test]
fn exit_code_is_that_of_the_command_and_a_failure_is_not_kept() {
    let world = World::new();
    let run = world.with_bar("import", "echo step load; exit 42");
    assert_eq!((run.code, run.stdout.as_str(), run.stderr.as_str()), (Some(42), "", ""));
    assert_eq!(world.json("progress list"), serde_json::json!([]));
    assert_eq!(world.with_bar("import", "kill -9 $$").code, Some(137));
}

#[test]
fn program_that_is_missing_or_cannot_run_gives_the_code_that_shells_know() {
    let world = World::new();
    let mut command = world.keyrack("progress run import");
    command.args(["--", "no-such-program"]);
    let run = Run::of(command);
    assert_eq!(run.code, Some(127), "{run:?}");
    assert_eq!(run.failure().0, "error: there is no program \"no-such-program\"");
    std::fs::write(world.path("no-program"), "").expect("written");
    let mut command = world.keyrack("progress run import");
    command.args(["--", "./no-program"]);
    let run = Run::of(command);
    assert_eq!(run.code, Some(126), "{run:?}");
}

#[test]
fn data_folder_that_is_named_is_made() {
    let world = World::new();
    let folder = world.path("new").display().to_string();
    let run = Run::line(&format!("progress run import --data {folder} -- true"));
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""), "{run:?}");
    let listed = Run::line(&format!("progress list --data {folder} --json"));
    assert!(listed.stdout.contains("\"import\""), "{listed:?}");
}

#[test]
fn command_runs_even_if_the_store_cannot_be_reached() {
    let run = Run::line("progress run import --store redis://127.0.0.1:1 -- echo hello");
    assert_eq!((run.code, run.stdout.as_str()), (Some(0), "hello\n"), "{run:?}");
    assert!(run.stderr.starts_with("keyrack: this run is not recorded: "), "{run:?}");
}

#[test]
fn command_goes_on_when_the_store_is_lost_on_the_way() {
    let mut world = World::new();
    let line = "echo step load; until [ -e go ]; do sleep 0.02; done; echo done; exit 7";
    let mut command = world.keyrack("progress run import --uid r1");
    command.args(["--", "sh", "-c", line]);
    let child = command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
    let child = child.spawn().expect("it starts");
    keyrack_testkit::wait_until("the trace to begin", || {
        world.run("progress show import r1").code == Some(0)
    });
    world.server.stop();
    std::fs::write(world.path("go"), "").expect("written");
    let run = Run::from(child.wait_with_output().expect("it ends"));
    assert_eq!((run.code, run.stdout.as_str()), (Some(7), "done\n"), "{run:?}");
}

#[test]
fn environment_tells_the_bar_and_the_run() {
    let world = World::new();
    let line = "echo $KEYRACK_PROGRESS_BAR $KEYRACK_PROGRESS_UID";
    assert_eq!(world.goes_well("import --uid abc", line), "import abc\n");
}

#[test]
fn bytes_that_are_no_text_are_passed_on() {
    let world = World::new();
    let mut command = world.keyrack("progress run import");
    command.args(["--", "sh", "-c", "printf 'a\\377\\000b\\n'; head -c 300000 /dev/zero"]);
    let output = command.output().expect("it runs");
    assert_eq!(&output.stdout[..5], b"a\xff\x00b\n");
    assert_eq!(output.stdout.len(), 300_005);
}

#[test]
fn closed_pipe_ends_the_command_as_if_it_stood_alone() {
    let world = World::new();
    let mut command = world.keyrack("progress run endless");
    command.args(["--", "yes"]).stdout(std::process::Stdio::piped());
    let mut child = command.spawn().expect("it starts");
    drop(child.stdout.take());
    let status = child.wait().expect("it ends");
    // "yes" tells of the broken pipe, or is ended by SIGPIPE.
    assert!(matches!(status.code(), Some(1 | 141)), "{status}");
}

#[test]
fn bars_of_two_users_are_apart() {
    let world = World::new();
    world.goes_well("import --user ada", "true");
    assert_eq!(world.json("progress list"), serde_json::json!([]));
    assert_eq!(world.json("progress list --user ada")[0]["user_sub"], "ada");
}
