//! Signals to a command that is run with a bar.

use std::process::{Command, Stdio};

use crate::{program::Run, world::World};

/// Starts a line, waits until it has written "up", sends a signal to the program, and waits for the end.
fn after(signal: &str, line: &str) -> Run {
    let world = World::new();
    let mut command = world.keyrack("progress run import");
    command.args(["--", "sh", "-c", line]).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn().expect("it starts");
    world.written("up");
    let sent = Command::new("kill").args([&format!("-{signal}"), &child.id().to_string()]).status();
    assert!(sent.expect("kill runs").success());
    let run = Run::from(child.wait_with_output().expect("it ends"));
    assert_eq!(world.json("progress list"), serde_json::json!([]), "nothing is kept of {run:?}");
    run
}

const WAIT: &str = "echo up > up; while true; do sleep 0.02; done";

#[test]
fn signals_are_passed_on_to_the_command() {
    for signal in ["INT", "TERM", "HUP", "QUIT", "USR1", "USR2"] {
        let line = format!("trap 'echo told; exit 9' {signal}; {WAIT}");
        let run = after(signal, &line);
        assert_eq!((run.code, run.stdout.as_str()), (Some(9), "told\n"), "{signal}: {run:?}");
    }
}

#[test]
fn command_that_a_signal_ends_gives_the_code_that_shells_know() {
    assert_eq!(after("TERM", WAIT).code, Some(143));
}
