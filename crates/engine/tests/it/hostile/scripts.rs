//! Scripts without an end, and scripts that want all memory.

use std::{
    net::TcpStream,
    time::{Duration, Instant},
};

use keyrack_testkit::wait_until;

use super::{MIB, Victim, assert_error};
use crate::{
    server::Server,
    wire::{Frame, Wire},
};

const BUSY: &str = "BUSY Redis is busy running a script.";

/// Has a client run a script that does not end by itself, and waits until others are told.
fn run_endless(victim: &mut Victim, body: &str) -> Wire {
    victim.set("busy-reply-threshold", "10");
    let mut runner = victim.connect();
    runner.send(&["EVAL", body, "0"]);
    wait_until("others to be told", || match victim.honest.call(&["PING"]) {
        Frame::Error(text) => text.starts_with(BUSY),
        _ => false,
    });
    runner
}

#[test]
fn scripts_without_an_end_can_be_killed_whatever_they_do() {
    const ENDLESS: [&str; 17] = [
        "while true do end",
        "repeat until false",
        "for i = 1, 1e18 do end",
        "local function f() return f() end return f()",
        "while true do pcall(error) end",
        "while true do pcall(function() while true do end end) end",
        "coroutine.wrap(function() while true do end end)()",
        "while true do coroutine.wrap(function() end)() end",
        "while true do pcall(coroutine.wrap(function() while true do end end)) end",
        "while true do redis.pcall('GET', 'k') end",
        "while true do redis.pcall('NOSUCH') end",
        "while true do local s = string.rep('x', 1000) end",
        "while true do cjson.encode(cjson.decode('[1, {\"a\": 2}]')) end",
        "table.sort({1, 2, 3}, function() while true do end end)",
        "string.gsub('x', 'x', function() while true do end end)",
        "xpcall(function() while true do end end, function() while true do end end)",
        "load(function() while true do end end)",
    ];
    let mut victim = Victim::start();
    for body in ENDLESS {
        let mut runner = run_endless(&mut victim, body);
        assert_eq!(victim.honest.call(&["SCRIPT", "KILL"]), Frame::Status("OK".into()), "{body}");
        assert_error(&runner.read().expect("an answer"), "Script killed by user with SCRIPT KILL");
        assert_eq!(runner.call(&["PING"]), Frame::Status("PONG".into()), "{body}");
    }
    assert_error(&victim.honest.call(&["SCRIPT", "KILL"]), "NOTBUSY");
    victim.assert_sound();
}

/// The longest that a hostile script may go on once others may kill it.
const KILL_TIMEOUT: Duration = Duration::from_secs(6);

/// Runs a script and kills it as soon as others are told that it takes long.
fn run_or_kill(victim: &mut Victim, runner: &mut Wire, body: &str) {
    let sent = Instant::now();
    runner.send(&["EVAL", body, "0"]);
    let mut killed = false;
    while !runner.is_ready() {
        let waited = sent.elapsed();
        assert!(waited < KILL_TIMEOUT, "no answer after {waited:?} (killed: {killed}): {body}");
        if let Frame::Error(text) = victim.honest.call(&["PING"]) {
            assert!(text.starts_with(BUSY), "{text}: {body}");
            let answer = victim.honest.call(&["SCRIPT", "KILL"]);
            killed |= answer == Frame::Status("OK".into());
        }
    }
    runner.read().unwrap_or_else(|error| panic!("{error}: {body}"));
    let sound = "redis.call('SET', 'sound', ARGV[1]) return redis.call('GET', 'sound')";
    assert_eq!(runner.call(&["EVAL", sound, "0", "yes"]).bytes(), b"yes", "after {body}");
}

#[test]
fn no_script_of_the_hostile_corpus_ends_freezes_or_disables_the_engine() {
    let scripts: Vec<&str> = include_str!("corpus.txt")
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .collect();
    assert!(scripts.len() >= 200, "the corpus has only {} scripts", scripts.len());
    let mut victim = Victim::start();
    victim.set("busy-reply-threshold", "50");
    let mut runner = victim.connect();
    runner.patience(Duration::from_secs(60));
    for body in scripts {
        run_or_kill(&mut victim, &mut runner, body);
    }
    victim.assert_sound();
    assert!(victim.info("used_memory_lua") < 300 * MIB);
}

#[test]
fn a_busy_engine_tells_everybody_and_keeps_their_connections() {
    let mut victim = Victim::start();
    let mut waiting: Vec<Wire> = (0..20).map(|_| victim.connect()).collect();
    let mut runner = run_endless(&mut victim, "while true do end");
    for wire in &mut waiting {
        assert_error(&wire.call(&["SET", "k", "v"]), BUSY);
    }
    assert_error(&victim.connect().call(&["PING"]), BUSY);
    assert_eq!(waiting[0].call(&["SCRIPT", "KILL"]), Frame::Status("OK".into()));
    assert_error(&runner.read().expect("an answer"), "Script killed");
    for wire in &mut waiting {
        assert_eq!(wire.call(&["GET", "k"]), Frame::Nil("$"));
    }
}

#[test]
fn a_script_that_has_written_ends_with_the_engine_and_leaves_nothing() {
    let dir = tempfile::tempdir().expect("a temporary folder");
    let mut victim = Victim::of(Server::start(dir.path(), "always"));
    assert_eq!(victim.honest.call(&["SET", "before", "1"]), Frame::Status("OK".into()));
    let body = "redis.call('SET', 'half', '1') while true do end";
    let _runner = run_endless(&mut victim, body);
    assert_error(&victim.honest.call(&["SCRIPT", "KILL"]), "UNKILLABLE");
    assert_error(&victim.honest.call(&["SHUTDOWN"]), BUSY);
    victim.honest.send(&["SHUTDOWN", "NOSAVE"]);
    let address = victim.server.address();
    wait_until("the engine to end", || TcpStream::connect(address).is_err());
    victim.server.stop();

    let again = Server::start(dir.path(), "always");
    assert_eq!(again.connect().call(&["MGET", "before", "half"]).to_string(), "*[\"1\" $nil]");
}

#[test]
fn scripts_that_want_all_memory_get_an_error() {
    const GREEDY: [&str; 7] = [
        "local s = 'x' while true do s = s .. s end",
        "return string.rep('x', 1e10)",
        "return string.rep('xy', 2^30)",
        "local s, t = string.rep('x', 1e5), {} while true do t[#t + 1] = s .. #t end",
        "local s = string.rep('x', 1e6) local t = {} for i = 1, 1e4 do t[i] = s end return table.concat(t)",
        "local s = string.rep('x', 1e6) return string.gsub(s, 'x', s)",
        "local s = string.rep('x', 1e8) return cjson.encode({s, s, s, s})",
    ];
    let mut victim = Victim::start();
    // Without optimisation, filling a quarter of a gigabyte takes Lua some seconds.
    victim.honest.patience(Duration::from_secs(60));
    for body in GREEDY {
        // For each by itself: the allocator keeps what one has used for the next, in other sizes.
        let growth = victim.growth(|victim| {
            let answer = victim.honest.call(&["EVAL", body, "0"]);
            assert_error(&answer, "not enough memory");
        });
        // A script may have 256 MiB, and the machine itself has some more.
        assert!(growth < 400 * MIB, "{growth} bytes: {body}");
        victim.assert_sound();
    }
    // Errors that name or quote what is too long to be copied.
    const LONG: [&str; 8] = [
        "return select('#', pcall(function() return _G[string.rep('\\255', 8e7)] end))",
        "error(string.rep('\\255', 8e7))",
        "error({err = string.rep('\\255', 8e7)})",
        "return {err = string.rep('\\255', 8e7)}",
        "return select('#', pcall(cjson.encode_keep_buffer, string.rep('\\255', 8e7)))",
        "return select('#', pcall(redis.error_reply, string.rep('\\255', 8e7)))",
        "return select('#', pcall(cjson.decode, string.rep(' ', 8e7)))",
        "local s = string.rep('\\255', 8e7) return select('#', pcall(struct.unpack, 'c80000000', s), pcall(cmsgpack.unpack, s))",
    ];
    for body in LONG {
        let growth = victim.growth(|victim| {
            victim.honest.call(&["EVAL", body, "0"]);
        });
        assert!(growth < 400 * MIB, "{growth} bytes: {body}");
        victim.assert_sound();
    }
    // Some garbage may wait for the collector.
    assert!(victim.info("used_memory_lua") < 100 * MIB);
}
