//! What the log promises, tested on bytes in memory, on folders on disk, on disks that fail, and
//! against a real redis-server.

use std::path::{Path, PathBuf};

use tempfile::TempDir;

use super::{Error, Fsync, Log, Options, Recovery, Unit, frame, open};

mod commits;
mod damage;
mod disk_failure;
mod everysec;
mod fake_disk;
mod folders;
mod redis;
mod repairs;
mod rewrites;

/// Commands as they come back from a log, without the `SELECT 0` each file begins with.
type Commands = Vec<Vec<Vec<u8>>>;

/// RESP for one command.
fn encode(args: &[&[u8]]) -> Vec<u8> {
    let mut out = format!("*{}\r\n", args.len()).into_bytes();
    for arg in args {
        out.extend_from_slice(format!("${}\r\n", arg.len()).as_bytes());
        out.extend_from_slice(arg);
        out.extend_from_slice(b"\r\n");
    }
    out
}

/// RESP for a transaction.
fn encode_multi(commands: &[&[&[u8]]]) -> Vec<u8> {
    let body = commands.iter().flat_map(|args| encode(args));
    encode(&[b"MULTI"]).into_iter().chain(body).chain(encode(&[b"EXEC"])).collect()
}

fn set(key: impl AsRef<str>, value: impl AsRef<[u8]>) -> Vec<u8> {
    encode(&[b"SET", key.as_ref().as_bytes(), value.as_ref()])
}

/// A batch as the writer would put it at `offset`.
fn batch(offset: usize, units: &[Vec<u8>]) -> Vec<u8> {
    let mut batch = vec![0; frame::HEADER_LEN];
    units.iter().for_each(|unit| batch.extend_from_slice(unit));
    frame::seal(&mut batch, offset as u64);
    batch
}

fn collect(unit: &Unit<'_>, into: &mut Commands) {
    let owned = |args: &[&[u8]]| args.iter().map(|arg| arg.to_vec()).collect::<Vec<_>>();
    into.extend(unit.commands().map(owned).filter(|command| command[0] != b"SELECT"));
}

/// A data folder that is deleted at the end of the test.
struct World {
    dir: TempDir,
}

impl World {
    fn new() -> World {
        World { dir: tempfile::tempdir().unwrap() }
    }

    fn path(&self) -> &Path {
        self.dir.path()
    }

    fn file(&self, name: &str) -> PathBuf {
        self.path().join("appendonlydir").join(name)
    }

    fn first_incr(&self) -> PathBuf {
        self.file("appendonly.aof.1.incr.aof")
    }

    /// The names in the log folder, sorted.
    fn names(&self) -> Vec<String> {
        let listing = std::fs::read_dir(self.path().join("appendonlydir")).unwrap();
        let mut names: Vec<_> =
            listing.map(|item| item.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    fn open(&self) -> Result<(Log, Recovery, Commands), Error> {
        let mut commands = Commands::new();
        let (log, recovery) = open(self.path(), Options::default(), &mut |unit| {
            collect(unit, &mut commands);
            Ok(())
        })?;
        Ok((log, recovery, commands))
    }

    /// The names of all keys that a start finds set, in order.
    fn keys(&self) -> Vec<String> {
        keys(&self.open().unwrap().2)
    }

    /// Writes `keys` with one commit each.
    fn write(&self, keys: &[&str]) {
        let log = self.open().unwrap().0;
        write(&log, keys);
        log.close().unwrap();
    }
}

fn write(log: &Log, keys: &[&str]) {
    for key in keys {
        log.wait_committed(log.append(&set(key, "value"))).unwrap();
    }
}

fn keys(commands: &Commands) -> Vec<String> {
    commands.iter().map(|command| String::from_utf8(command[1].clone()).unwrap()).collect()
}

fn options(fsync: Fsync) -> Options {
    Options { fsync, ..Options::default() }
}
