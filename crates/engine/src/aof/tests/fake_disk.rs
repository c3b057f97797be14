//! A disk in memory that does what a test wants of it.

use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering::SeqCst},
    },
};

use parking_lot::{Condvar, Mutex};

use crate::aof::{
    disk::Disk,
    folder::Folder,
    log::Sizes,
    manifest::{Entry, Manifest},
    scan::{End, scan},
};

use super::*;

/// A file in memory that fails on demand and remembers what was done to it.
#[derive(Clone, Default)]
pub(super) struct FakeDisk(pub(super) Arc<Fake>);

#[derive(Default)]
pub(super) struct Fake {
    pub(super) ops: Mutex<Vec<Op>>,
    /// How many bytes fit.
    space: Mutex<Option<u64>>,
    pub(super) sync_fails: AtomicBool,
    pub(super) sync_panics: AtomicBool,
    pub(super) write_panics: AtomicBool,
    /// Held by a test while syncs are to take their time.
    pub(super) sync_gate: Mutex<()>,
    pub(super) syncs_begun: AtomicU64,
    refused: Mutex<u64>,
    was_refused: Condvar,
}

#[derive(Clone)]
pub(super) enum Op {
    Write { offset: u64, bytes: Vec<u8> },
    Truncate(u64),
    Sync,
}

impl Disk for FakeDisk {
    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        assert!(!self.0.write_panics.load(SeqCst), "the disk is on fire");
        let space = self.0.space.lock().unwrap_or(u64::MAX);
        let n = bytes.len().min(space.saturating_sub(offset) as usize);
        self.0.ops.lock().push(Op::Write { offset, bytes: bytes[..n].to_vec() });
        if n == bytes.len() {
            return Ok(());
        }
        *self.0.refused.lock() += 1;
        self.0.was_refused.notify_all();
        Err(io::ErrorKind::StorageFull.into())
    }

    fn truncate(&self, len: u64) -> io::Result<()> {
        self.0.ops.lock().push(Op::Truncate(len));
        Ok(())
    }

    fn sync(&self) -> io::Result<()> {
        self.0.syncs_begun.fetch_add(1, SeqCst);
        drop(self.0.sync_gate.lock());
        assert!(!self.0.sync_panics.load(SeqCst), "the disk is on fire");
        if self.0.sync_fails.load(SeqCst) {
            return Err(io::Error::other("the cable is out"));
        }
        self.0.ops.lock().push(Op::Sync);
        Ok(())
    }
}

impl FakeDisk {
    pub(super) fn start(&self, world: &World, options: Options) -> Log {
        let folder = Folder::create_locked(world.path()).unwrap();
        let manifest = Manifest { incrs: vec![Entry::incr(1)], ..Manifest::default() };
        let sizes = Sizes { base: 0, last: 0, all: 0 };
        Log::start(folder, manifest, Arc::new(self.clone()), sizes, options).unwrap()
    }

    pub(super) fn set_space(&self, space: Option<u64>) {
        *self.0.space.lock() = space;
    }

    pub(super) fn wait_until_refused(&self, times: u64) {
        let mut refused = self.0.refused.lock();
        let goal = *refused + times;
        while *refused < goal {
            self.0.was_refused.wait(&mut refused);
        }
    }

    pub(super) fn contents(&self) -> Vec<u8> {
        replay(&self.0.ops.lock())
    }
}

pub(super) fn replay(ops: &[Op]) -> Vec<u8> {
    let mut file = Vec::new();
    for op in ops {
        match op {
            Op::Write { offset, bytes } => {
                let end = *offset as usize + bytes.len();
                file.resize(end.max(file.len()), 0);
                file[*offset as usize..end].copy_from_slice(bytes);
            }
            Op::Truncate(len) => file.truncate(*len as usize),
            Op::Sync => {}
        }
    }
    file
}

/// The keys that a file sets, and how it ends.
pub(super) fn keys_of(bytes: &[u8]) -> (Vec<String>, End) {
    let mut commands = Commands::new();
    let found = scan(bytes, bytes.len() as u64, &mut |unit| {
        collect(unit, &mut commands);
        Ok(())
    });
    (keys(&commands), found.unwrap().end)
}
