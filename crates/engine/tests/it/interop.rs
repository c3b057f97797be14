//! One folder, two servers: what the engine wrote loads in redis-server, and the other way round.

use std::path::Path;

use keyrack_engine::log;
use keyrack_testkit::{RedisServer, wait_until};

use crate::{
    crash::is_rewriting,
    keyspace::{self, Keyspace, assert_same},
    server::{Server, copy_folder, log_dir, redis_on_copy},
    wire::{Frame, Wire},
};

/// All types in several databases, with expiry, scripts, transactions, and every command that is logged as something
/// else than it was sent.
const COMMANDS: &[&[&str]] = &[
    &["SET", "text", "a\r\nb\0c"],
    &["SET", "number", "41"],
    &["INCR", "number"],
    &["INCRBYFLOAT", "float", "1.1"],
    &["INCRBYFLOAT", "float", "2.2"],
    &["APPEND", "text", "\u{7f}ü"],
    &["SET", "volatile", "1", "EX", "1000"],
    &["SETEX", "volatile2", "1000", "2"],
    &["GETEX", "volatile2", "PX", "900000"],
    &["SET", "gone", "1", "PX", "1"],
    &["SET", "past", "1"],
    &["EXPIREAT", "past", "1"],
    &["GETSET", "text2", "x"],
    &["GETDEL", "text2"],
    &["MSET", "m1", "1", "m2", "2"],
    &["RPUSH", "list", "a", "b", "c", "d", "e"],
    &["LMOVE", "list", "list2", "LEFT", "RIGHT"],
    &["BLMOVE", "list", "list2", "LEFT", "LEFT", "1"],
    &["BRPOP", "list", "1"],
    &["LINSERT", "list2", "BEFORE", "a", "z"],
    &["EXPIRE", "list2", "1000"],
    &["HSET", "hash", "f", "1", "g", "2", "", "empty field"],
    &["HINCRBYFLOAT", "hash", "f", "0.1"],
    &["HDEL", "hash", "g"],
    &["SADD", "set", "a", "b", "c", "d"],
    &["SPOP", "set"],
    &["SPOP", "set", "2"],
    &["SADD", "ints", "1", "2", "3"],
    &["SUNIONSTORE", "union", "set", "ints"],
    &["ZADD", "zset", "1.5", "a", "-inf", "b", "3.0000000000000004", "c", "2", "d"],
    &["ZINCRBY", "zset", "0.1", "a"],
    &["ZPOPMAX", "zset"],
    &["BZPOPMIN", "zset", "1"],
    &["ZADD", "zset", "0", "e"],
    &["ZUNIONSTORE", "zset2", "2", "zset", "ints", "WEIGHTS", "2", "3"],
    &["PEXPIRE", "zset2", "1000000"],
    &["RENAME", "m1", "renamed"],
    &["COPY", "hash", "hash2"],
    &["MULTI"],
    &["SET", "in transaction", "1"],
    &["SELECT", "3"],
    &["SET", "in transaction", "2"],
    &["LPUSH", "list", "x"],
    &["EXEC"],
    &["SET", "here", "db3"],
    &["SELECT", "15"],
    &[
        "EVAL",
        "redis.call('SET', 'script', ARGV[1]) redis.call('SELECT', 4) \
        redis.call('SADD', 'script', 'x', 'y') redis.call('SPOP', 'script') \
        redis.call('SET', 'timed', 1, 'EX', 500) return redis.status_reply('OK')",
        "0",
        "text",
    ],
    &["EVAL", "redis.call('SET', 'half', 1) redis.call('LPUSH', 'half', 1)", "0"],
    &["MOVE", "script", "2"],
    &["SET", "here", "db15"],
    &["SELECT", "7"],
    &["SET", "flushed", "1"],
    &["FLUSHDB"],
    &["SELECT", "0"],
];

/// Commands that fail where Redis does not have them in this form either, and one that is meant to.
fn run(wire: &mut Wire, commands: &[&[&str]]) {
    for command in commands {
        let reply = wire.call(command);
        let may_fail = command.get(1).is_some_and(|script| script.contains("half"))
            || ["COPY", "MOVE"].contains(&command[0]);
        assert!(may_fail || !reply.is_error(), "{command:?}: {reply}");
    }
}

/// Asks for a rewrite and waits until it is done.
fn rewrite(wire: &mut Wire) {
    wait_until("a rewrite to begin", || !wire.call(&["BGREWRITEAOF"]).is_error());
    wait_until("a rewrite to end", || {
        let Frame::Bulk(info) = wire.call(&["INFO", "persistence"]) else { return false };
        let info = String::from_utf8_lossy(&info).into_owned();
        ["aof_rewrite_in_progress:0", "aof_rewrite_scheduled:0"].iter().all(|l| info.contains(l))
    });
}

/// Checks that redis-server finds in the engine's folder what the engine has.
#[track_caller]
fn assert_redis_loads(dir: &Path, expected: &Keyspace) {
    let redis = redis_on_copy(dir);
    let loaded = keyspace::read(&mut Wire::connect(redis.addr()));
    assert_same(("the engine", expected), ("redis", &loaded));
}

#[test]
fn redis_loads_what_the_engine_wrote_before_and_after_a_rewrite() {
    let dir = tempfile::tempdir().expect("a temporary folder");
    let mut server = Server::start(dir.path(), "always");
    let mut wire = server.connect();
    run(&mut wire, COMMANDS);
    let written = keyspace::read(&mut wire);
    assert!(written.len() > 20, "{written:?}");
    assert_redis_loads(dir.path(), &written);

    rewrite(&mut wire);
    assert_redis_loads(dir.path(), &written);
    run(&mut wire, &[&["SELECT", "9"], &["RPUSH", "after", "the", "rewrite"], &["SELECT", "0"]]);
    let more = keyspace::read(&mut wire);
    assert_ne!(more, written);
    assert_redis_loads(dir.path(), &more);

    assert!(server.stop().success());
    let server = Server::start(dir.path(), "always");
    let again = keyspace::read(&mut server.connect());
    assert_same(("the engine", &more), ("the engine after a restart", &again));
}

#[test]
fn redis_loads_a_folder_copied_in_the_middle_of_a_rewrite() {
    const FILL: &str = "for key = 1, 50 do for field = 1, 1000 do \
        redis.call('HSET', 'big' .. key, field, string.rep('x', 50)) end end";
    let dir = tempfile::tempdir().expect("a temporary folder");
    let mut server = Server::start(dir.path(), "always");
    let mut wire = server.connect();
    run(&mut wire, &[&["EVAL", FILL, "0"]]);
    run(&mut wire, COMMANDS);
    let mut n = 0;
    let copy = loop {
        wire.call(&["BGREWRITEAOF"]);
        n += 1;
        run(&mut wire, &[&["SET", "big1:of", "rewrites"], &["LPUSH", "rewrites", &n.to_string()]]);
        if !is_rewriting(&mut wire) {
            continue;
        }
        // These are in the new file already, and not in the base file.
        run(&mut wire, &[&["HSET", "big50", "1", "changed"], &["LPUSH", "rewrites", "during"]]);
        server.pause();
        let copy = copy_folder(dir.path());
        server.resume();
        let is_half_way = std::fs::read_dir(log_dir(copy.path()))
            .expect("a log")
            .any(|file| file.expect("a file").file_name().to_string_lossy().starts_with("temp-"));
        if is_half_way {
            break copy;
        }
    };
    let written = keyspace::read(&mut wire);
    assert_redis_loads(copy.path(), &written);
    let server = Server::start(copy.path(), "always");
    let again = keyspace::read(&mut server.connect());
    assert_same(("the engine", &written), ("an engine on the copy", &again));
}

#[test]
fn the_engine_loads_what_redis_wrote() {
    let mut redis =
        RedisServer::builder().append_only().config("aof-use-rdb-preamble", "no").start();
    let mut wire = Wire::connect(redis.addr());
    run(&mut wire, COMMANDS);
    rewrite(&mut wire);
    run(&mut wire, COMMANDS);
    let written = keyspace::read(&mut wire);
    redis.kill();

    let report = log::check(redis.dir()).expect("a folder that can be read");
    assert!(report.is_sound() && report.files.len() == 2, "{report:?}");
    assert!(
        report.files.iter().all(|file| file.batches == 0 && file.bytes_unchecked == file.bytes)
    );
    let mut server = Server::start(redis.dir(), "always");
    let loaded = keyspace::read(&mut server.connect());
    assert_same(("redis", &written), ("the engine", &loaded));

    // And back again, with what the engine has added.
    let mut wire = server.connect();
    run(&mut wire, &[&["SET", "added by", "the engine"], &["DEL", "list"]]);
    let added = keyspace::read(&mut wire);
    assert!(server.stop().success());
    redis.restart();
    let returned = keyspace::read(&mut Wire::connect(redis.addr()));
    assert_same(("the engine", &added), ("redis", &returned));
}

#[test]
fn a_folder_with_an_rdb_snapshot_is_refused_with_the_setting_that_helps() {
    let mut redis =
        RedisServer::builder().append_only().config("aof-use-rdb-preamble", "yes").start();
    run(&mut Wire::connect(redis.addr()), COMMANDS);
    redis.kill();
    let refusal = Server::refusal(redis.dir());
    assert!(refusal.contains("CONFIG SET aof-use-rdb-preamble no"), "{refusal}");
    assert!(refusal.contains("appendonly.aof.1.base.rdb"), "{refusal}");

    // What the message says is what helps.
    redis.restart();
    let mut wire = Wire::connect(redis.addr());
    let written = keyspace::read(&mut wire);
    run(&mut wire, &[&["CONFIG", "SET", "aof-use-rdb-preamble", "no"]]);
    rewrite(&mut wire);
    redis.stop();
    let server = Server::start(redis.dir(), "always");
    let loaded = keyspace::read(&mut server.connect());
    assert_same(("redis", &written), ("the engine", &loaded));
}
