//! The bar itself, on a terminal.

use std::{
    fs::{File, OpenOptions},
    io::Read as _,
    os::fd::OwnedFd,
    process::Stdio,
};

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

use crate::world::World;

/// A terminal of our own: what it shows, and its end for a program.
pub(crate) fn terminal() -> (File, OwnedFd) {
    let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a terminal");
    grantpt(&master).expect("granted");
    unlockpt(&master).expect("unlocked");
    let name = ptsname(&master, Vec::new()).expect("its name").into_string().expect("text");
    let end = OpenOptions::new().read(true).write(true).open(name).expect("its end");
    (File::from(master), OwnedFd::from(end))
}

/// Runs a line with a bar on a terminal; returns what that showed.
fn shown(world: &World, options: &str, line: &str) -> String {
    let (mut master, end) = terminal();
    let mut command = world.keyrack(&format!("progress run {options}"));
    command.args(["--", "sh", "-c", line]).stdout(Stdio::null()).stderr(end);
    let mut child = command.spawn().expect("it starts");
    // Our copy of the end would keep the terminal open.
    drop(command);
    let mut shown = Vec::new();
    // Once nobody has the other end any more, reading fails.
    let _ = master.read_to_end(&mut shown);
    assert!(child.wait().expect("it ends").success());
    String::from_utf8_lossy(&shown).into_owned()
}

/// Long enough for some pictures of the bar.
const SLOW: &str = "echo step copy 50; for i in $(seq 50); do sleep 0.02; echo tick; done";

#[test]
fn bar_shows_the_step_and_what_is_left() {
    let world = World::new();
    let first = shown(&world, "import", SLOW);
    assert!(first.contains("copy ") && first.contains(" of 50"), "{first}");
    assert!(first.contains("\"import\" took "), "{first}");
    let second = shown(&world, "import", SLOW);
    assert!(second.contains(" left") && second.contains(" %"), "{second}");
    assert!(second.contains(", expected "), "{second}");
}

#[test]
fn quiet_draws_nothing() {
    let world = World::new();
    assert_eq!(shown(&world, "import --quiet", SLOW), "");
}

#[test]
fn question_without_a_line_end_is_shown_while_a_bar_is_drawn() {
    let world = World::new();
    let (mut master, end) = terminal();
    let line = "printf 'Name? ' >&2; until [ -e go ]; do sleep 0.02; done; echo Ada >&2; printf 'no end' >&2";
    let mut command = world.keyrack("progress run import");
    command.args(["--", "sh", "-c", line]).stdout(Stdio::null()).stderr(end);
    let mut child = command.spawn().expect("it starts");
    drop(command);
    let (mut shown, mut chunk) = (String::new(), [0; 1024]);
    while !shown.contains("Name? ") {
        let n = master.read(&mut chunk).expect("the terminal shows something");
        shown.push_str(&String::from_utf8_lossy(&chunk[..n]));
    }
    std::fs::write(world.path("go"), "").expect("written");
    let mut rest = Vec::new();
    let _ = master.read_to_end(&mut rest);
    assert!(child.wait().expect("it ends").success());
    let rest = String::from_utf8_lossy(&rest);
    assert!(rest.contains("Ada\r\n"), "{shown}{rest}");
    // The summary has a line of its own.
    assert!(rest.contains("no end\r\n\"import\" took "), "{shown}{rest}");
}
