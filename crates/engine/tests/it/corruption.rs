//! Damage to the log, seen from the engine: refused with its place, or cut and reported, and never wrong data.
//!
//! Each byte and each length is tried on the log's own reader, next to it; here a sample of both goes through a whole
//! start and is compared with the history that led to the log.

use std::{
    collections::BTreeSet,
    fs::{self, OpenOptions},
    ops::Range,
    os::unix::fs::FileExt,
    path::{Path, PathBuf},
    thread,
};

use keyrack_engine::{Connection, Engine, log};
use redis::aio::ConnectionLike;
use tokio::runtime::Runtime;

use crate::{
    keyspace::{self, Door, Keyspace},
    random::Random,
    server::{DATABASES, copy_folder, log_dir},
    wire::Frame,
};

/// The length of the log that is damaged.
const LOG_LEN: u64 = 64 * 1024;
/// Every so many bytes one is flipped.
const FLIP_STEP: usize = 61;
/// Every so many lengths the log is cut.
const CUT_STEP: usize = 97;
/// Samples are shared among so many threads.
const THREADS: usize = 2;

/// A connection in the process, with a thread that waits for it.
struct Inside {
    connection: Connection,
    runtime: Runtime,
}

impl Inside {
    fn new(engine: &Engine) -> Inside {
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        Inside { connection: engine.connection(0).expect("database 0"), runtime }
    }
}

impl Door for Inside {
    fn call(&mut self, args: &[&[u8]]) -> Frame {
        let mut command = redis::cmd(std::str::from_utf8(args[0]).expect("a name"));
        command.arg(&args[1..]);
        let reply = self.runtime.block_on(self.connection.req_packed_command(&command));
        reply.map_or_else(|error| Frame::Error(error.to_string()), frame)
    }
}

fn frame(value: redis::Value) -> Frame {
    match value {
        redis::Value::Nil => Frame::Nil("$"),
        redis::Value::Int(n) => Frame::Int(n),
        redis::Value::BulkString(bytes) => Frame::Bulk(bytes),
        redis::Value::Okay => Frame::Status("OK".into()),
        redis::Value::SimpleString(text) => Frame::Status(text),
        redis::Value::Array(items) => Frame::Array(items.into_iter().map(frame).collect()),
        other => panic!("a RESP2 reply is not {other:?}"),
    }
}

fn open(dir: &Path) -> Result<Engine, keyrack_engine::OpenError> {
    Engine::builder().databases(DATABASES).open(dir)
}

/// A data folder, and every state that its log has led through.
struct History {
    dir: tempfile::TempDir,
    states: BTreeSet<String>,
    last: Keyspace,
}

impl History {
    /// Runs commands until the log is long enough.
    fn write() -> History {
        let dir = tempfile::tempdir().expect("a temporary folder");
        let engine = open(dir.path()).expect("an empty folder");
        let mut inside = Inside::new(&engine);
        let mut states = BTreeSet::from([digest(&Keyspace::new())]);
        let mut random = Random::new(1);
        while file_len(&incr(dir.path())) < LOG_LEN {
            step(&mut inside, &mut random);
            states.insert(digest(&keyspace::read(&mut inside)));
        }
        let last = keyspace::read(&mut inside);
        engine.close().expect("the log is written");
        History { dir, states, last }
    }

    /// Opens a copy of the folder after `harm` was done to it, and checks what comes of it.
    fn check(&self, harm: &str, path: fn(&Path) -> PathBuf, harmed: impl Fn(&Path)) {
        let copy = copy_folder(self.dir.path());
        harmed(&path(copy.path()));
        let file = path(copy.path()).file_name().expect("a file").to_string_lossy().into_owned();
        let report = log::check(copy.path()).expect("a folder that can be read");
        match open(copy.path()) {
            Ok(engine) => {
                let found = keyspace::read(&mut Inside::new(&engine));
                assert!(self.states.contains(&digest(&found)), "{harm}: found {found:?}");
                let recovery = engine.recovery().expect("it was read from a folder");
                match &recovery.cut {
                    Some(cut) => {
                        assert!(cut.path.ends_with(&file), "{harm}: {cut:?}");
                        assert_eq!(report.damage[0].offset, cut.offset, "{harm}");
                    }
                    // A log that ends between two batches looks like one that never was longer.
                    None => assert!(
                        found == self.last || recovery.bytes < file_len(&incr(self.dir.path())),
                        "{harm}: lost data without a word"
                    ),
                }
                assert!(report.is_sound(), "{harm}: {report:?}");
            }
            Err(error) => {
                let reason = error.reason();
                let log::Error::Damaged { path, offset, .. } = reason else {
                    panic!("{harm}: {reason:?}");
                };
                assert!(path.ends_with(&file), "{harm}: {reason}");
                assert!(*offset <= file_len(path), "{harm}: {reason}");
                assert!(!report.is_sound(), "{harm}: {report:?}");
                assert_eq!(report.damage[0].offset, *offset, "{harm}");
            }
        }
    }
}

fn digest(keyspace: &Keyspace) -> String {
    format!("{keyspace:?}")
}

/// One random change, of any type, now and then a transaction or a script.
fn step(inside: &mut Inside, random: &mut Random) {
    let (key, text) = (random.below(6).to_string(), random.next().to_string());
    let value = text.repeat(1 + random.below(6));
    let script = "redis.call('SET', 's' .. KEYS[1], ARGV[1]) redis.call('SADD', 'm', KEYS[1]) \
        return redis.call('LPUSH', 'sl', ARGV[1])";
    let db = random.below(3).to_string();
    let commands: &[&[&str]] = match random.below(9) {
        0 => &[&["SELECT", &db]],
        1 => &[&["SET", &key, &value]],
        2 => &[&["HSET", "hash", &key, &value]],
        3 => &[&["ZADD", "zset", &text, &key]],
        4 => &[&["RPUSH", "list", &value]],
        5 => &[&["LTRIM", "list", "-5", "-1"]],
        6 => &[&["DEL", &key, "sl"]],
        7 => &[&["EVAL", script, "1", &key, &value]],
        _ => &[&["MULTI"], &["SET", "t1", &value], &["HSET", "t2", "f", &value], &["EXEC"]],
    };
    for command in commands {
        let args: Vec<&[u8]> = command.iter().map(|arg| arg.as_bytes()).collect();
        let reply = inside.call(&args);
        assert!(!reply.is_error(), "{command:?}: {reply}");
    }
}

fn incr(dir: &Path) -> PathBuf {
    log_dir(dir).join("appendonly.aof.1.incr.aof")
}

fn manifest(dir: &Path) -> PathBuf {
    log_dir(dir).join("appendonly.aof.manifest")
}

fn file_len(path: &Path) -> u64 {
    fs::metadata(path).map_or(0, |found| found.len())
}

fn flip(path: &Path, at: u64, bits: u8) {
    let file = OpenOptions::new().read(true).write(true).open(path).expect("the file");
    let mut byte = [0];
    file.read_exact_at(&mut byte, at).expect("a byte");
    file.write_all_at(&[byte[0] ^ bits], at).expect("the byte");
}

fn cut(path: &Path, len: u64) {
    let file = OpenOptions::new().write(true).open(path).expect("the file");
    file.set_len(len).expect("a shorter file");
}

/// Runs `check` for every so many numbers of a range, on several threads.
fn sample(range: Range<usize>, step: usize, check: impl Fn(u64) + Sync) {
    thread::scope(|scope| {
        for thread in 0..THREADS {
            let (range, check) = (range.clone(), &check);
            scope.spawn(move || {
                range.skip(thread * step).step_by(step * THREADS).for_each(|at| check(at as u64));
            });
        }
    });
}

#[test]
fn a_damaged_log_is_refused_or_leads_to_a_state_that_was() {
    let history = History::write();
    let len = file_len(&incr(history.dir.path())) as usize;
    sample(0..len, FLIP_STEP, |at| {
        let bits = if at % 2 == 0 { 1 << (at % 8) } else { 0xff };
        history.check(&format!("byte {at} ^ {bits}"), incr, |path| flip(path, at, bits));
    });
    sample(0..len + 1, CUT_STEP, |at| {
        history.check(&format!("cut at {at}"), incr, |path| cut(path, at));
    });
    let len = file_len(&manifest(history.dir.path())) as usize;
    sample(0..len, 1, |at| {
        history.check(&format!("manifest byte {at}"), manifest, |path| flip(path, at, 1));
    });
}

#[test]
fn repair_keeps_everything_before_the_damage_and_throws_nothing_away() {
    let history = History::write();
    let dir = copy_folder(history.dir.path());
    let len = file_len(&incr(dir.path()));
    flip(&incr(dir.path()), len / 2, 4);
    let error = open(dir.path()).expect_err("a flipped bit in the middle");
    let message = error.reason().to_string();
    assert!(message.contains("appendonly.aof.1.incr.aof\" is damaged at byte "), "{message}");
    assert!(message.contains("keyrack store repair"), "{message}");

    let repair = log::repair(dir.path()).expect("a log that can be repaired");
    let [damage] = &repair.found.damage[..] else { panic!("{repair:?}") };
    let [saved] = &repair.saved[..] else { panic!("{repair:?}") };
    assert!(damage.offset <= len / 2 && damage.offset + damage.bytes == len, "{damage:?}");
    assert_eq!((saved.offset, saved.bytes), (damage.offset, damage.bytes));
    assert_eq!(file_len(&incr(dir.path())), damage.offset);
    assert_eq!(file_len(&log_dir(dir.path()).join(&saved.saved_as)), saved.bytes);

    let engine = open(dir.path()).expect("a repaired folder");
    assert_eq!(engine.recovery().and_then(|recovery| recovery.cut.as_ref()), None);
    let mut inside = Inside::new(&engine);
    let found = keyspace::read(&mut inside);
    assert!(found != history.last && history.states.contains(&digest(&found)));
    assert_eq!(inside.call(&[b"SET", b"after", b"the repair"]), Frame::Status("OK".into()));
    drop(inside);
    engine.close().expect("the log is written");
    drop(engine);
    let again = open(dir.path()).expect("a folder in good order");
    assert_eq!(Inside::new(&again).call(&[b"GET", b"after"]).bytes(), b"the repair");
    assert!(log::repair(dir.path()).is_err(), "the folder is in use");
}

#[test]
fn a_lost_manifest_is_made_anew_by_repair() {
    let history = History::write();
    let dir = copy_folder(history.dir.path());
    fs::remove_file(manifest(dir.path())).expect("there is a manifest");
    let error = open(dir.path()).expect_err("a folder without manifest");
    assert!(error.reason().to_string().contains("appendonly.aof.manifest\" is missing"));
    log::repair(dir.path()).expect("a folder that can be repaired");
    let engine = open(dir.path()).expect("a repaired folder");
    assert_eq!(keyspace::read(&mut Inside::new(&engine)), history.last);
}
