//! The bar itself, on a terminal.

use std::{
    fs::{File, OpenOptions},
    io::Read as _,
    os::fd::OwnedFd,
    process::Stdio,
};

use rustix::{
    pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt},
    termios::{Winsize, tcsetwinsize},
};

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

/// What stands on a terminal of so many columns in the end, line by line, and the longest that stood on one of them before it
/// was taken away. Understands what bars are drawn with: returns, ends of lines, and taking lines away.
fn on_screen(shown: &str, columns: usize) -> (Vec<String>, usize) {
    let (mut lines, mut row, mut column, mut longest) = (vec![String::new()], 0_usize, 0, 0);
    let mut rest = shown;
    while let Some(letter) = rest.chars().next() {
        rest = &rest[letter.len_utf8()..];
        match letter {
            '\r' => column = 0,
            '\n' => {
                row += 1;
                lines.resize(lines.len().max(row + 1), String::new());
            }
            '\u{1b}' => {
                let end = rest.find(|letter: char| letter.is_ascii_alphabetic()).expect("a letter");
                let number = rest[1..end].parse::<usize>();
                match rest.as_bytes()[end] {
                    b'K' => lines[row].clear(),
                    b'A' => row -= number.unwrap_or(1).min(row),
                    b'B' => row = (row + number.unwrap_or(1)).min(lines.len() - 1),
                    _ => {}
                }
                rest = &rest[end + 1..];
            }
            letter => {
                if column == columns {
                    row += 1;
                    column = 0;
                    lines.resize(lines.len().max(row + 1), String::new());
                }
                let mut letters: Vec<char> = lines[row].chars().collect();
                letters.resize(letters.len().max(column + 1), ' ');
                letters[column] = letter;
                lines[row] = letters.into_iter().collect();
                column += 1;
                longest = longest.max(column);
            }
        }
    }
    let lines = lines.iter().map(|line| line.trim_end().to_owned());
    (lines.filter(|line| !line.is_empty()).collect(), longest)
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

#[test]
fn last_line_without_an_end_on_either_stream_is_left_alone() {
    let world = World::new();
    let (mut master, end) = terminal();
    let mut command = world.keyrack("progress run import");
    let out = end.try_clone().expect("the same terminal");
    let line = format!("{SLOW}; printf 'the end'");
    command.args(["--", "sh", "-c", &line]).stdout(out).stderr(end);
    let mut child = command.spawn().expect("it starts");
    drop(command);
    let mut shown = Vec::new();
    let _ = master.read_to_end(&mut shown);
    assert!(child.wait().expect("it ends").success());
    let (lines, _) = on_screen(&String::from_utf8_lossy(&shown), 80);
    assert!(lines.len() == 2 && lines[0] == "the end", "{lines:?}");
    assert!(lines[1].starts_with("\"import\" took "), "{lines:?}");
}

#[test]
fn narrow_terminal_is_left_without_debris() {
    const COLUMNS: u16 = 24;
    let world = World::new();
    let narrow = |line: &str| {
        let (mut master, end) = terminal();
        let size = Winsize { ws_row: 10, ws_col: COLUMNS, ws_xpixel: 0, ws_ypixel: 0 };
        tcsetwinsize(&master, size).expect("a size");
        let mut command = world.keyrack("progress run import");
        command.args(["--", "sh", "-c", line]).stdout(Stdio::null()).stderr(end);
        let mut child = command.spawn().expect("it starts");
        drop(command);
        let mut shown = Vec::new();
        let _ = master.read_to_end(&mut shown);
        assert!(child.wait().expect("it ends").success());
        String::from_utf8_lossy(&shown).into_owned()
    };
    let line = SLOW.replace("copy", "a-name-that-is-far-too-long-for-so-few-columns");
    for run in 0..2 {
        let shown = narrow(&line);
        let bars = shown.split("\"import\" took ").next().expect("what came before the summary");
        assert!(bars.contains("a-name"), "{run}: {shown:?}");
        let (left, longest) = on_screen(bars, usize::MAX);
        assert_eq!(left, Vec::<String>::new(), "{run}: {shown:?}");
        assert!(longest <= usize::from(COLUMNS), "{run}: {longest} columns, {shown:?}");
    }
}

#[test]
fn interrupted_run_leaves_no_bar_behind() {
    let world = World::new();
    let (mut master, end) = terminal();
    let line = "echo step copy 50; echo tick; echo up > up; while true; do sleep 0.02; done";
    let mut command = world.keyrack("progress run import");
    command.args(["--", "sh", "-c", line]).stdout(Stdio::null()).stderr(end);
    let mut child = command.spawn().expect("it starts");
    drop(command);
    world.written("up");
    let (mut shown, mut chunk) = (String::new(), [0; 1024]);
    while !shown.contains(" of 50") {
        let n = master.read(&mut chunk).expect("the terminal shows something");
        shown.push_str(&String::from_utf8_lossy(&chunk[..n]));
    }
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).expect("sent");
    let mut rest = Vec::new();
    let _ = master.read_to_end(&mut rest);
    assert_eq!(child.wait().expect("it ends").code(), Some(130));
    shown.push_str(&String::from_utf8_lossy(&rest));
    let (lines, _) = on_screen(&shown, 80);
    assert!(lines.iter().all(|line| !line.contains(" of 50")), "{lines:?}");
}
