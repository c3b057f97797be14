//! `keyrack top` on a terminal.

use std::{
    fs::File,
    io::{Read as _, Write as _},
    process::Stdio,
    sync::{Arc, Mutex},
};

use keyrack_testkit::wait_until;

use crate::{program::Run, progress::terminal::terminal, world::World};

#[test]
fn it_draws_queues_and_leaves_the_terminal_as_it_was() {
    let world = World::new();
    world.submit("1");
    let (master, end) = terminal();
    let size = rustix::termios::Winsize { ws_row: 30, ws_col: 120, ws_xpixel: 0, ws_ypixel: 0 };
    rustix::termios::tcsetwinsize(&end, size).expect("a size");
    let before = rustix::termios::tcgetattr(&end).expect("how it is set");
    let mut command = world.keyrack("top --every 100ms");
    let input = end.try_clone().expect("a second end");
    let output = end.try_clone().expect("a third end");
    command.stdin(Stdio::from(input)).stdout(Stdio::from(output)).stderr(Stdio::null());
    let mut child = command.spawn().expect("it starts");
    drop(command);

    let mut screen = Screen::of(master);
    screen.wait_for("nothing needs attention");
    screen.wait_for("1 queue by name");
    screen.type_key(b"s");
    screen.wait_for("queued");
    screen.type_key(b"q");
    assert!(child.wait().expect("it ends").success());
    let after = rustix::termios::tcgetattr(&end).expect("how it is set");
    assert_eq!(before.local_modes, after.local_modes);
    screen.wait_for("back to the screen as it was");
}

#[test]
fn without_a_terminal_it_says_what_to_use() {
    let run = Run::line("top");
    assert_eq!(run.code, Some(2), "{run:?}");
    assert!(run.failure().1.is_some_and(|hint| hint.contains("jobs stats --json")), "{run:?}");
}

/// What a terminal shows.
struct Screen {
    master: File,
    shown: Arc<Mutex<Vec<u8>>>,
    /// What has been waited for already.
    seen: usize,
}

impl Screen {
    fn of(master: File) -> Screen {
        let shown = Arc::new(Mutex::new(Vec::new()));
        let (mut reader, all) = (master.try_clone().expect("a second master"), shown.clone());
        std::thread::spawn(move || {
            let mut some = [0; 4096];
            // Once nobody has the other end any more, reading fails.
            while let Ok(n @ 1..) = reader.read(&mut some) {
                all.lock().expect("no panic").extend(&some[..n]);
            }
        });
        Screen { master, shown, seen: 0 }
    }

    /// Waits until some words are drawn that were not there at the last key.
    fn wait_for(&self, words: &str) {
        wait_until(&format!("\"{words}\" on the screen"), || {
            let shown = self.shown.lock().expect("no panic");
            plain(&String::from_utf8_lossy(&shown[self.seen..])).contains(words)
        });
    }

    fn type_key(&mut self, key: &[u8]) {
        self.seen = self.shown.lock().expect("no panic").len();
        self.master.write_all(key).expect("typed");
    }
}

/// The words among the orders to a terminal. Blanks are drawn by moving the cursor; the return to the former screen has words of its own.
fn plain(drawn: &str) -> String {
    let mut orders = drawn.split("\u{1b}[");
    let mut text = orders.next().unwrap_or_default().to_owned();
    for order in orders {
        let end = order.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(order.len());
        let (order, rest) = order.split_at(end);
        match (order, rest.chars().next()) {
            ("?1049", Some('l')) => text.push_str("back to the screen as it was"),
            (_, Some('H')) => text.push(' '),
            _ => {}
        }
        text.push_str(rest.get(1..).unwrap_or_default());
    }
    text
}
