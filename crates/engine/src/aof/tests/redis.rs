//! A real redis-server opens our folders, and we open its, with the same keys in them.

use std::{
    collections::BTreeMap,
    fs,
    io::{BufRead, BufReader, Read, Write},
    net::{TcpListener, TcpStream},
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use super::*;

/// String keys by database and name; enough of a keyspace to compare.
#[derive(Debug, Default, PartialEq, Eq)]
struct Keyspace {
    db: usize,
    keys: BTreeMap<(usize, Vec<u8>), Vec<u8>>,
}

impl Keyspace {
    fn apply(&mut self, args: &[&[u8]]) -> Result<(), String> {
        match (args[0].to_ascii_uppercase().as_slice(), &args[1..]) {
            (b"SELECT", [db]) => {
                let db = str::from_utf8(db).ok().and_then(|db| db.parse().ok());
                self.db = db.ok_or("not a database")?;
            }
            (b"SET", [key, value]) => {
                self.keys.insert((self.db, key.to_vec()), value.to_vec());
            }
            (b"DEL", [key]) => {
                self.keys.remove(&(self.db, key.to_vec()));
            }
            (name, _) => return Err(format!("unknown {}", String::from_utf8_lossy(name))),
        }
        Ok(())
    }

    /// Opens the folder and replays it.
    fn open(world: &World) -> (Log, Recovery, Keyspace) {
        let mut keyspace = Keyspace::default();
        let (log, recovery) = open(world.path(), Options::default(), &mut |unit| {
            unit.commands().try_for_each(|args| keyspace.apply(args))
        })
        .unwrap();
        (log, recovery, Keyspace { db: 0, ..keyspace })
    }
}

/// A redis-server on a data folder, killed at the end of the test.
struct Redis {
    process: Child,
    client: BufReader<TcpStream>,
}

impl Redis {
    fn start(world: &World) -> Redis {
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let mut process = Command::new("redis-server")
            .args(["--port", &port.to_string(), "--appendonly", "yes", "--save", ""])
            .args(["--aof-use-rdb-preamble", "no", "--aof-timestamp-enabled", "yes"])
            .args(["--appendfsync", "always", "--bind", "127.0.0.1"])
            .arg("--dir")
            .arg(world.path())
            .stdout(Stdio::null())
            .spawn()
            .expect("redis-server is installed");
        let deadline = Instant::now() + Duration::from_secs(20);
        let client = loop {
            if let Ok(client) = TcpStream::connect(("127.0.0.1", port)) {
                break client;
            }
            assert!(process.try_wait().unwrap().is_none(), "redis-server refused the folder");
            if Instant::now() > deadline {
                let _ = process.kill();
                panic!("redis-server did not start");
            }
            std::thread::yield_now();
        };
        let mut redis = Redis { process, client: BufReader::new(client) };
        while redis.call(&[b"PING"]) != [b"PONG"] {
            assert!(Instant::now() < deadline, "redis-server did not finish loading");
        }
        redis
    }

    /// Sends a command; the reply comes as its flat list of strings.
    fn call(&mut self, args: &[&[u8]]) -> Vec<Vec<u8>> {
        self.client.get_mut().write_all(&encode(args)).unwrap();
        self.reply()
    }

    fn reply(&mut self) -> Vec<Vec<u8>> {
        let mut line = String::new();
        self.client.read_line(&mut line).unwrap();
        let (kind, rest) = line.trim_end().split_at(1);
        match kind {
            "*" => (0..rest.parse().unwrap()).flat_map(|_| self.reply()).collect(),
            "$" => {
                let mut text = vec![0; rest.parse::<usize>().unwrap() + 2];
                self.client.read_exact(&mut text).unwrap();
                text.truncate(text.len() - 2);
                vec![text]
            }
            _ => vec![rest.as_bytes().to_vec()],
        }
    }

    fn keyspace(&mut self) -> Keyspace {
        let mut keyspace = Keyspace::default();
        for db in 0..16 {
            self.call(&[b"SELECT", db.to_string().as_bytes()]);
            for key in self.call(&[b"KEYS", b"*"]) {
                let value = self.call(&[b"GET", &key]).remove(0);
                keyspace.keys.insert((db, key), value);
            }
        }
        keyspace
    }

    fn rewrite(&mut self) {
        self.call(&[b"BGREWRITEAOF"]);
        loop {
            let info = self.call(&[b"INFO", b"persistence"]).remove(0);
            let info = String::from_utf8(info).unwrap();
            if info.contains("aof_rewrite_in_progress:0") && info.contains("scheduled:0") {
                assert!(info.contains("aof_last_bgrewrite_status:ok"));
                return;
            }
        }
    }
}

impl Drop for Redis {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn select(db: &str) -> Vec<u8> {
    encode(&[b"SELECT", db.as_bytes()])
}

/// A folder with a base, a closed and an open incr file, several databases and binary values.
fn written_by_us() -> World {
    let world = World::new();
    let log = Keyspace::open(&world).0;
    log.append(&set("replaced", "1"));
    let mut rewrite = log.begin_rewrite().unwrap();
    rewrite.write(&select("5")).unwrap();
    for n in 0..5000 {
        rewrite.write(&set(format!("base:{n}"), vec![n as u8; n % 300])).unwrap();
    }
    log.append(&set("zero", "0"));
    rewrite.finish().unwrap();
    log.append(&[select("3"), set("three", b"\r\n\0#KRB ")].concat());
    log.append(&encode_multi(&[&[b"SET", b"x", b"1"], &[b"SELECT", b"4"], &[b"SET", b"y", b"2"]]));
    drop(log.begin_rewrite().unwrap());
    log.append(&[select("5"), encode(&[b"DEL", b"base:17"])].concat());
    for n in 0..200 {
        log.wait_committed(log.append(&set(format!("incr:{n}"), "v"))).unwrap();
    }
    log.close().unwrap();
    world
}

#[test]
fn redis_loads_our_folder_and_we_load_it_back() {
    let world = written_by_us();
    let (log, _, ours) = Keyspace::open(&world);
    log.close().unwrap();
    assert_eq!(ours.keys.len(), 1 + 3 + 4999 + 200);
    let mut redis = Redis::start(&world);
    assert!(redis.keyspace() == ours, "redis-server sees other keys");
    redis.call(&[b"SELECT", b"7"]);
    redis.call(&[b"SET", b"by redis", b"1"]);
    redis.call(&[b"MULTI"]);
    redis.call(&[b"SET", b"both", b"1"]);
    redis.call(&[b"SET", b"or none", b"1"]);
    redis.call(&[b"EXEC"]);
    let theirs = redis.keyspace();
    drop(redis);
    let (log, recovery, back) = Keyspace::open(&world);
    assert!(back == theirs, "we see other keys than redis-server");
    assert_eq!(recovery.cut, None);
    log.append(&[select("7"), set("by us again", "1")].concat());
    log.close().unwrap();
    let report = crate::aof::check(world.path()).unwrap();
    assert!(report.damage.is_empty());
    assert!(report.files.iter().any(|file| file.bytes_unchecked > 0));
    assert!(Redis::start(&world).keyspace() == Keyspace::open(&world).2);
}

#[test]
fn we_load_a_folder_that_redis_made_and_rewrote() {
    let world = World::new();
    let mut redis = Redis::start(&world);
    for n in 0..300 {
        redis.call(&[b"SELECT", (n % 4).to_string().as_bytes()]);
        redis.call(&[b"SET", format!("key {n}").as_bytes(), &vec![n as u8; n]]);
        if n % 100 == 50 {
            redis.rewrite();
        }
    }
    let theirs = redis.keyspace();
    drop(redis);
    let (log, _, ours) = Keyspace::open(&world);
    assert!(ours == theirs);
    let mut rewrite = log.begin_rewrite().unwrap();
    rewrite.write(&set("all there is", "1")).unwrap();
    rewrite.finish().unwrap();
    log.close().unwrap();
    let mut redis = Redis::start(&world);
    assert_eq!(redis.keyspace().keys.len(), 1);
    redis.rewrite();
    drop(redis);
    assert_eq!(Keyspace::open(&world).2.keys.len(), 1);
}

#[test]
fn redis_and_we_agree_on_a_folder_after_any_crash() {
    let world = written_by_us();
    let last = world.file("appendonly.aof.3.incr.aof");
    let bytes = fs::read(&last).unwrap();
    for len in [bytes.len() - 1, bytes.len() / 2, 60, 20, 0] {
        fs::write(&last, &bytes[..len]).unwrap();
        let (log, recovery, ours) = Keyspace::open(&world);
        log.close().unwrap();
        assert_eq!(recovery.cut.is_some(), len > 0, "cut to {len}");
        assert!(Redis::start(&world).keyspace() == ours, "cut to {len}");
    }
}

#[test]
fn an_rdb_preamble_of_redis_is_refused_until_it_is_rewritten() {
    let world = World::new();
    let mut redis = Redis::start(&world);
    redis.call(&[b"SET", b"key", b"value"]);
    redis.call(&[b"CONFIG", b"SET", b"aof-use-rdb-preamble", b"yes"]);
    redis.rewrite();
    drop(redis);
    let Err(error) = open(world.path(), Options::default(), &mut |_| Ok(())) else {
        panic!("opened an RDB snapshot")
    };
    assert!(matches!(error, Error::RdbBase { .. }), "{error}");
    // What the message says.
    let mut redis = Redis::start(&world);
    redis.call(&[b"CONFIG", b"SET", b"aof-use-rdb-preamble", b"no"]);
    redis.rewrite();
    drop(redis);
    assert_eq!(Keyspace::open(&world).2.keys.len(), 1);
}
