//! Memory that data has left goes back to the system, and INFO tells what is in use.

use keyrack_testkit::wait_until;

use crate::{
    server::Server,
    wire::{Frame, Wire},
};

const MIB: usize = 1 << 20;
/// What is left of 200 MiB after a FLUSHALL; an empty redis-server has 18.
const EMPTY_MAX: usize = 30 * MIB;

/// Makes 2 MiB of strings, hashes, sets and sorted sets, from a number on.
const FILL: &str = "for i = ARGV[1], ARGV[1] + 999 do \
    redis.call('SET', 'string:' .. i, string.rep('x', 1400)) \
    redis.call('HSET', 'hash:' .. i % 100, i, string.rep('y', 400)) \
    redis.call('SADD', 'set:' .. i % 10, 'member of a set ' .. i) \
    redis.call('ZADD', 'zset', i, 'member of a sorted set ' .. i) end";

fn fill(wire: &mut Wire) {
    for i in 0..100 {
        let from = (i * 1000).to_string();
        assert_eq!(wire.call(&["EVAL", FILL, "0", &from]), Frame::Nil("$"));
    }
}

#[test]
fn a_flush_gives_memory_back_and_info_tells_what_is_in_use() {
    let server = Server::in_memory();
    let mut wire = server.connect();
    let empty = Memory::of(&mut wire);
    fill(&mut wire);
    let full = Memory::of(&mut wire);
    assert!(full.resident > 180 * MIB, "{full:?}");
    assert!((150 * MIB..full.resident).contains(&full.used), "{full:?}");
    assert_eq!(wire.call(&["FLUSHALL"]), Frame::Status("OK".into()));
    let flushed = Memory::of(&mut wire);
    assert!(flushed.used < empty.used + 10 * MIB, "{flushed:?} after {empty:?}");
    assert!(flushed.peak >= full.used, "{flushed:?}");
    wait_until("pages to go back", || Memory::of(&mut wire).resident < EMPTY_MAX);
}

#[test]
fn deleted_keys_give_memory_back() {
    let server = Server::in_memory();
    let mut wire = server.connect();
    fill(&mut wire);
    let delete = "for _, key in ipairs(redis.call('KEYS', '*')) do redis.call('UNLINK', key) end";
    assert_eq!(wire.call(&["EVAL", delete, "0"]), Frame::Nil("$"));
    wait_until("pages to go back", || Memory::of(&mut wire).resident < EMPTY_MAX);
}

#[derive(Debug)]
struct Memory {
    used: usize,
    peak: usize,
    resident: usize,
}

impl Memory {
    fn of(wire: &mut Wire) -> Memory {
        let info = wire.call(&["INFO", "memory"]);
        let text = String::from_utf8_lossy(info.bytes()).into_owned();
        let field = |name: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
            line.and_then(|n| n.parse().ok()).unwrap_or_else(|| panic!("no {name} in {text}"))
        };
        Memory {
            used: field("used_memory"),
            peak: field("used_memory_peak"),
            resident: field("used_memory_rss"),
        }
    }
}
