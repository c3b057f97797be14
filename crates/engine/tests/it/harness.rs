//! What Redis' own test suite does before its first test, and the settings and figures that it reads, answered as a
//! redis-server answers them.
//!
//! `redis/tests/support/server.tcl` calls SELECT, FLUSHALL and FUNCTION FLUSH, reads each setting that a test changes,
//! sets it, and puts it back in the end.

use std::collections::{BTreeMap, BTreeSet};

use keyrack_testkit::RedisServer;

use crate::{
    server::Server,
    wire::{Frame, Wire},
};

/// Settings that Redis' tests change and put back, with a value that they set.
const CHANGED: &[(&str, &str)] = &[
    ("save", ""),
    ("lua-time-limit", "10"),
    ("busy-reply-threshold", "200"),
    ("client-output-buffer-limit", "pubsub 1000000 0 0"),
    ("zset-max-ziplist-value", "16"),
    ("zset-max-ziplist-entries", "0"),
    ("zset-max-listpack-entries", "10"),
    ("hash-max-ziplist-value", "10000000"),
    ("hash-max-ziplist-entries", "16"),
    ("hash-max-listpack-value", "8"),
    ("hash-max-listpack-entries", "21"),
    ("set-max-intset-entries", "3"),
    ("list-max-ziplist-size", "16"),
    ("list-max-listpack-size", "-1"),
    ("list-compress-depth", "2"),
    ("stream-node-max-entries", "5"),
    ("stream-node-max-bytes", "4kb"),
    ("slowlog-log-slower-than", "100000"),
    ("slowlog-max-len", "10"),
    ("latency-tracking", "no"),
    ("latency-monitor-threshold", "200"),
    ("proto-max-bulk-len", "2000000"),
    ("client-query-buffer-limit", "2mb"),
    ("replica-serve-stale-data", "no"),
    ("replica-read-only", "no"),
    ("loglevel", "debug"),
    ("lazyfree-lazy-user-flush", "yes"),
    ("activerehashing", "no"),
    ("maxclients", "100"),
    ("timeout", "3"),
    ("appendfsync", "everysec"),
];

/// Values that fit few settings, to see that each is checked.
const ODD: &[&str] = &["", "yes", "maybe", "-1", "-2", "0", "7", "3mb", "1x", "+1", "01", "notice"];

#[test]
fn the_opening_of_redis_tests_is_answered_as_redis_answers() {
    let (engine, redis) = (Server::in_memory(), RedisServer::start());
    let (mut ours, mut theirs) = (engine.connect(), Wire::connect(redis.addr()));
    for args in [
        &["SELECT", "9"][..],
        &["FLUSHALL"],
        &["FUNCTION", "FLUSH"],
        &["FUNCTION", "FLUSH", "SYNC"],
        &["FUNCTION", "FLUSH", "ASYNC"],
        &["FUNCTION", "FLUSH", "NOW"],
        &["FUNCTION", "FLUSH", "SYNC", "NOW"],
        &["FUNCTION", "LIST"],
        &["FUNCTION", "LIST", "LIBRARYNAME"],
        &["FUNCTION", "LIST", "WITHCODE", "LIBRARYNAME", "x"],
        &["FUNCTION", "LIST", "WITHCODE", "WITHCODE"],
        &["FUNCTION", "DELETE", "x"],
        &["FUNCTION", "STATS"],
        &["FUNCTION"],
        &["SCRIPT", "FLUSH"],
        &["CONFIG", "RESETSTAT"],
        &["CONFIG", "SET", "daemonize", "yes"],
        &["CONFIG", "SET", "databases", "7"],
        &["CONFIG", "SET", "cluster-enabled", "yes"],
        &["CONFIG", "SET", "no-such-setting", "1"],
        &["CONFIG", "GET", "no-such-setting"],
    ] {
        assert_eq!(ours.call(args), theirs.call(args), "{args:?}");
    }
    for (name, value) in CHANGED {
        let before = ours.call(&["CONFIG", "GET", name]).items();
        assert_eq!(before.len(), 2, "{name} is not there");
        for args in [&["CONFIG", "SET", name, value][..], &["CONFIG", "GET", name]] {
            let (ours, theirs) = (ours.call(args), theirs.call(args));
            let is_our_own = *name == "client-output-buffer-limit" && args[1] == "GET";
            assert!(ours == theirs || is_our_own, "{args:?}: {ours}, but redis {theirs}");
        }
        let back = ours.call(&[&b"CONFIG"[..], b"SET", name.as_bytes(), before[1].bytes()]);
        assert_eq!(back, Frame::Status("OK".into()), "{name}");
    }
}

/// Settings that Redis does not have.
const OWN_SETTINGS: &[&str] = &["auth-delay-max", "auth-timeout", "request-timeout"];

#[test]
fn every_setting_is_checked_in_redis_words_or_cannot_be_changed() {
    let (engine, redis) = (Server::in_memory(), RedisServer::start());
    let (mut ours, mut theirs) = (engine.connect(), Wire::connect(redis.addr()));
    let settings: BTreeMap<Frame, Frame> = pairs(ours.call(&["CONFIG", "GET", "*"]));
    let known = pairs(theirs.call(&["CONFIG", "GET", "*"]));
    for (name, default) in settings {
        let shown = String::from_utf8_lossy(name.bytes()).into_owned();
        if OWN_SETTINGS.contains(&&*shown) {
            assert!(DIFFERENCES.contains(&format!("`{shown}`")), "differences.md lists no {shown}");
            continue;
        }
        assert!(known.contains_key(&name), "redis has no {shown}");
        // Would lock this test out, or end with the limit that the machine has.
        if ["requirepass", "maxclients"].contains(&&*shown) {
            continue;
        }
        for value in ODD {
            let args = [&b"CONFIG"[..], b"SET", name.bytes(), value.as_bytes()];
            let (ours, theirs) = (ours.call(&args), theirs.call(&args));
            let refused = format!(
                "ERR CONFIG SET failed (possibly related to argument '{shown}') - can't set immutable config"
            );
            let is_as_it_is =
                ours == Frame::Status("OK".into()) && default.bytes() == value.as_bytes();
            assert!(
                ours == theirs || ours == Frame::Error(refused) || is_as_it_is,
                "{shown} {value:?}: {ours}, but redis {theirs}"
            );
        }
    }
}

fn pairs(reply: Frame) -> BTreeMap<Frame, Frame> {
    let items = reply.items();
    items.chunks_exact(2).map(|pair| (pair[0].clone(), pair[1].clone())).collect()
}

/// Fields of INFO that say what only Redis has: its build, its allocator, processes that it forks.
const ONLY_REDIS: &[&str] = &[
    "redis_git_",
    "redis_build_id",
    "monotonic_clock",
    "multiplexing_api",
    "atomicvar_api",
    "gcc_version",
    "process_supervised",
    "lru_clock",
    "executable",
    "io_thread",
    "used_memory_scripts",
    "used_memory_vm_functions",
    "used_memory_functions",
    "allocator_frag_",
    "allocator_rss_",
    "rss_overhead_",
    "mem_not_counted_for_evict",
    "mem_replication_backlog",
    "mem_total_replication_buffers",
    "mem_cluster_links",
    "current_",
    "rdb_last_cow_size",
    "rdb_last_load_",
    "aof_last_rewrite_time_sec",
    "aof_current_rewrite_time_sec",
    "aof_rewrites",
    "aof_last_cow_size",
    "module_fork_",
    "total_net_repl_",
    "instantaneous_input_repl_kbps",
    "instantaneous_output_repl_kbps",
    "expired_stale_perc",
    "expired_time_cap_reached_count",
    "expire_cycle_cpu_milliseconds",
    "total_eviction_exceeded_time",
    "slave_expires_tracked_keys",
    "active_defrag_key_",
    "total_active_defrag_time",
    "unexpected_error_replies",
    "total_error_replies",
    "dump_payload_sanitizations",
    "total_reads_processed",
    "total_writes_processed",
    "reply_buffer_",
    "used_cpu_sys_main_thread",
    "used_cpu_user_main_thread",
];

#[test]
fn info_has_the_fields_of_redis() {
    let (engine, redis) = (Server::in_memory(), RedisServer::start());
    let fields = |mut wire: Wire| -> Vec<String> {
        let info = wire.call(&["INFO"]);
        let text = String::from_utf8_lossy(info.bytes()).into_owned();
        text.lines().filter_map(|line| Some(line.split_once(':')?.0.to_owned())).collect()
    };
    let (ours, theirs) = (fields(engine.connect()), fields(Wire::connect(redis.addr())));
    let missing: Vec<&String> = theirs
        .iter()
        .filter(|field| !ours.contains(field))
        .filter(|field| !ONLY_REDIS.iter().any(|start| field.starts_with(start)))
        .collect();
    assert!(missing.is_empty(), "{missing:?}");
}

/// The page that lists what is different.
const DIFFERENCES: &str = include_str!("../../src/docs/differences.md");

#[test]
fn every_command_that_is_missing_is_listed_among_the_differences() {
    let (engine, redis) = (Server::in_memory(), RedisServer::start());
    let names = |mut wire: Wire| -> BTreeSet<String> {
        let list = wire.call(&["COMMAND", "LIST"]).items();
        list.iter().map(|name| String::from_utf8_lossy(name.bytes()).to_uppercase()).collect()
    };
    let (ours, theirs) = (names(engine.connect()), names(Wire::connect(redis.addr())));
    assert!(theirs.len() > 300 && ours.len() > 200, "{} of {}", ours.len(), theirs.len());
    let is_listed = |name: &str| match name.split_once('|') {
        None => is_in_row(|_| true, name),
        // All of a command that is missing are missing with it.
        Some((command, _)) if !ours.contains(command) => is_in_row(|_| true, command),
        Some((command, sub)) => is_in_row(|first| first == command, sub),
    };
    let unlisted: Vec<&String> = theirs.difference(&ours).filter(|name| !is_listed(name)).collect();
    assert!(unlisted.is_empty(), "differences.md does not list {unlisted:?}");
    let listed_wrongly: Vec<&String> = ours
        .iter()
        .filter(|name| !name.contains('|') && is_in_row(|first| LISTS.contains(&first), name))
        .collect();
    assert!(listed_wrongly.is_empty(), "{listed_wrongly:?} are there");
}

/// First cells of the rows that list missing commands.
const LISTS: &[&str] = &[
    "streams",
    "bitmaps",
    "places on earth",
    "HyperLogLog",
    "sorting and comparing",
    "values as bytes",
    "functions",
    "cluster",
    "replication",
    "the rest",
];

/// Whether a word stands in a row of a table whose first cell is the right one.
fn is_in_row(is_right: impl Fn(&str) -> bool, word: &str) -> bool {
    let rows = DIFFERENCES.lines().filter_map(|line| line.strip_prefix("| ")?.split_once(" | "));
    let is_part = |c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == '-');
    rows.filter(|(first, _)| is_right(first))
        .any(|(_, rest)| rest.split(is_part).any(|w| w == word))
}
