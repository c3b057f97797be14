//! What a command did, as commands for the log.
//!
//! The log holds effects, never scripts: a random pop is logged as a removal, a relative expiry as an absolute one.

use crate::{fault, resp::encode_command};

const MULTI: &[u8] = b"*1\r\n$5\r\nMULTI\r\n";
const EXEC: &[u8] = b"*1\r\n$4\r\nEXEC\r\n";

/// Collects the effects of one unit: a command, a transaction or a script.
#[derive(Debug)]
pub(crate) struct Effects {
    /// Without a log there is nothing to collect for.
    enabled: bool,
    /// Starts with MULTI, which is left out where a unit has one effect only.
    buffer: Vec<u8>,
    n: usize,
    /// Whether somebody's answer has to wait until the unit is safe.
    owed: bool,
    /// The database the log has selected; unknown at the start of a file.
    db: Option<usize>,
}

impl Effects {
    pub(crate) fn new(enabled: bool) -> Effects {
        Effects { enabled, buffer: MULTI.to_vec(), n: 0, owed: false, db: None }
    }

    pub(crate) fn enable(&mut self) {
        self.enabled = true;
    }

    /// Makes the next effect name its database, as the first one in a new file must.
    pub(crate) fn forget_db(&mut self) {
        self.db = None;
    }

    pub(crate) fn push(&mut self, db: usize, args: &[&[u8]]) {
        self.owed = true;
        self.add(db, args);
    }

    /// Adds the removal of a key that has expired. Nobody has to wait for it: without it, the key is past its time
    /// after a restart too.
    pub(crate) fn push_expired(&mut self, db: usize, key: &[u8]) {
        self.add(db, &[b"DEL", key]);
    }

    /// Adds commands that are encoded already, for the same database as the effect before.
    pub(crate) fn push_encoded(&mut self, commands: &[u8]) {
        if self.enabled && !commands.is_empty() {
            self.buffer.extend_from_slice(commands);
            self.n += 1;
        }
    }

    fn add(&mut self, db: usize, args: &[&[u8]]) {
        if !self.enabled {
            return;
        }
        fault::point();
        if self.db != Some(db) {
            let mut text = itoa::Buffer::new();
            encode_command(&mut self.buffer, &[b"SELECT", text.format(db).as_bytes()]);
            self.db = Some(db);
        }
        encode_command(&mut self.buffer, args);
        self.n += 1;
    }

    /// Gives the unit to `append`, if it had any effect, and starts the next. Returns the position to wait for.
    pub(crate) fn finish(&mut self, append: impl FnOnce(&[u8]) -> u64) -> Option<u64> {
        let owed = std::mem::take(&mut self.owed);
        if self.n == 0 {
            return None;
        }
        let position = if self.n == 1 {
            append(&self.buffer[MULTI.len()..])
        } else {
            self.buffer.extend_from_slice(EXEC);
            append(&self.buffer)
        };
        const KEPT_CAPACITY_MAX: usize = 1 << 20;
        self.buffer.truncate(MULTI.len());
        self.buffer.shrink_to(KEPT_CAPACITY_MAX);
        self.n = 0;
        owed.then_some(position)
    }
}
