//! A disk without space: writes are refused, reads go on, and nothing that was acknowledged is lost.
//!
//! A limit on the length of files stands in for the full disk. It needs no rights, holds for one process, and can be
//! lifted while it runs.

use std::{fs, path::Path, process::Command};

use keyrack_testkit::{Process, wait_until};

use crate::{
    keyspace,
    server::{Server, log_dir},
    wire::{Frame, Wire},
};

/// How much still fits once the disk is nearly full.
const SPACE: u64 = 20_000;

/// The engine, which would otherwise be ended by a signal when a file gets too long.
fn start(dir: &Path) -> Server {
    let engine = Server::command(dir, "always");
    let mut command: Command = Process::command("sh");
    command.args(["-c", "trap '' XFSZ && exec \"$@\"", "sh"]);
    command.arg(engine.get_program()).args(engine.get_args());
    Server::start_with(command)
}

/// Lets the log grow a little more, but not much.
fn fill_disk(server: &Server, dir: &Path) {
    let longest = fs::read_dir(log_dir(dir))
        .expect("a log")
        .map(|file| file.and_then(|file| file.metadata()).map_or(0, |found| found.len()));
    server.limit_files(Some(longest.max().unwrap_or(0) + SPACE));
}

/// Writes until it is refused; returns the next number and the refusal.
fn write_until_refused(server: &Server, mut n: usize) -> (usize, String) {
    let mut wire = server.connect();
    loop {
        match wire.call(&["SET", &format!("key{n}"), &"x".repeat(900)]) {
            Frame::Status(_) => n += 1,
            Frame::Error(error) => return (n, error),
            other => panic!("SET is answered with {other}"),
        }
    }
}

fn is_there(wire: &mut Wire, n: usize) -> bool {
    wire.call(&["EXISTS", &format!("key{n}")]) == Frame::Int(1)
}

#[test]
fn a_full_disk_refuses_writes_serves_reads_and_loses_nothing() {
    let dir = tempfile::tempdir().expect("a temporary folder");
    let mut server = start(dir.path());
    fill_disk(&server, dir.path());
    let (n, refusal) = write_until_refused(&server, 0);
    assert!(n >= 10, "{n} writes fit");
    assert!(refusal.starts_with("MISCONF Errors writing to the AOF file: "), "{refusal}");

    // Whoever comes now is refused before anything has changed, and can read.
    let mut wire = server.connect();
    assert!(wire.call(&["SET", "late", "1"]).to_string().starts_with("-MISCONF"));
    assert!(wire.call(&["EVAL", "return redis.call('SET', 'late', 1)", "0"]).is_error());
    wire.call(&["MULTI"]);
    assert!(wire.call(&["INCR", "late"]).to_string().starts_with("-MISCONF"));
    assert!(wire.call(&["EXEC"]).to_string().starts_with("-EXECABORT"));
    assert_eq!(wire.call(&["EXISTS", "late"]), Frame::Int(0));
    assert!((0..n).all(|n| is_there(&mut wire, n)));
    assert_eq!(wire.call(&["PING"]), Frame::Status("PONG".into()));

    // A crash now: all that was acknowledged is there, with space or without.
    server.kill();
    let mut server = start(dir.path());
    assert!((0..n).all(|n| is_there(&mut server.connect(), n)));

    // Full again, and then there is space: the same process goes on by itself.
    fill_disk(&server, dir.path());
    let (n, _) = write_until_refused(&server, n);
    server.limit_files(None);
    let mut wire = server.connect();
    wait_until("writes to be taken again", || {
        wire.call(&["SET", "space", "again"]) == Frame::Status("OK".into())
    });
    let held = keyspace::read(&mut wire);
    server.kill();
    let server = start(dir.path());
    let mut wire = server.connect();
    assert!((0..n).all(|n| is_there(&mut wire, n)));
    keyspace::assert_same(("the engine", &held), ("its log", &keyspace::read(&mut wire)));
}

#[test]
fn a_rewrite_that_finds_no_space_leaves_the_log_as_it_was() {
    let dir = tempfile::tempdir().expect("a temporary folder");
    let mut server = start(dir.path());
    let mut wire = server.connect();
    for n in 0..200 {
        let reply = wire.call(&["SET", &format!("key{n}"), &"x".repeat(900)]);
        assert_eq!(reply, Frame::Status("OK".into()));
    }
    server.limit_files(Some(SPACE));
    assert!(!wire.call(&["BGREWRITEAOF"]).is_error());
    wait_until("the rewrite to fail", || {
        let Frame::Bulk(info) = wire.call(&["INFO", "persistence"]) else { return false };
        String::from_utf8_lossy(&info).contains("aof_last_bgrewrite_status:err")
    });
    // Its log goes on in a new file, in which there is space.
    assert_eq!(wire.call(&["SET", "after", "it"]), Frame::Status("OK".into()));
    let held = keyspace::read(&mut wire);
    server.kill();
    let server = start(dir.path());
    keyspace::assert_same(
        ("the engine", &held),
        ("its log", &keyspace::read(&mut server.connect())),
    );
    let leftovers = fs::read_dir(log_dir(dir.path())).expect("a log").filter(|file| {
        let name = file.as_ref().expect("a file").file_name();
        name.to_string_lossy().starts_with("temp-")
    });
    assert_eq!(leftovers.count(), 0);
}
