//! Rewriting the log without a second copy of the data.
//!
//! From the moment a rewrite begins, effects go to a new file and the base has to hold every key as it was at that
//! moment. A walk through the databases dumps keys in slices; a key that is about to change before the walk
//! reaches it is dumped first. Each key carries the number of the last rewrite that has it.

use crate::{aof, dump::dump, resp::encode_command, state::State};

/// The rewrite under way, if any.
#[derive(Default)]
pub(crate) struct RewriteState {
    epoch: u32,
    running: Option<Running>,
    /// The walk is over, and the base file is on its way to the disk.
    finishing: bool,
    /// BGREWRITEAOF was called, or a rewrite has to start over.
    pub(crate) wanted: bool,
    /// Why the last one failed, if it did.
    pub(crate) last_error: Option<String>,
}

struct Running {
    /// Where the walk stands.
    db: usize,
    cursor: u64,
    /// The database that the base file has selected.
    selected: Option<usize>,
    /// Dumped keys on their way to the base file.
    buffer: Vec<u8>,
}

/// How far a slice of the walk has come, and what it brings for the base file. Writing that is left to the caller,
/// because the disk may take its time and the state is locked.
pub(crate) enum Progress {
    /// The keys are gone; see [`State::restart_rewrite`].
    GivenUp,
    More(Vec<u8>),
    /// All keys are dumped.
    Last(Vec<u8>),
}

/// Dumped bytes that are handed over at once.
const BUFFER_LEN: usize = 256 << 10;

impl RewriteState {
    /// What new keys are marked with: they are in the new file whole, so the base must not have them.
    pub(crate) fn epoch(&self) -> u32 {
        self.epoch
    }

    /// Whether a rewrite is under way, up to the moment when it replaces the old files.
    pub(crate) fn is_running(&self) -> bool {
        self.running.is_some() || self.finishing
    }
}

impl State {
    /// Whether somebody asked for a rewrite, or the log has outgrown the data by as much as the settings allow.
    pub(crate) fn wants_rewrite(&self) -> bool {
        let Some(log) = &self.log else { return false };
        let (size, base_size, percentage) =
            (log.size(), log.base_size(), self.config.rewrite_percentage);
        let grown = size.saturating_sub(base_size) * 100 >= base_size.max(1) * percentage;
        // After a failure the next try waits for somebody to ask.
        let by_itself = percentage > 0 && self.rewrite.last_error.is_none();
        self.rewrite.wanted || (by_itself && grown && size >= self.config.rewrite_size_min)
    }

    /// Begins a rewrite at this very point of the log. Whoever gets the new base file walks on with
    /// [`State::rewrite_some`] and tells the outcome with [`State::end_rewrite`].
    pub(crate) fn begin_rewrite(&mut self) -> Option<aof::Rewrite> {
        self.rewrite.wanted = false;
        match self.log.as_ref()?.begin_rewrite() {
            Ok(base) => {
                self.effects.forget_db();
                self.rewrite.epoch = self.rewrite.epoch.wrapping_add(1);
                let buffer = Vec::new();
                self.rewrite.running = Some(Running { db: 0, cursor: 0, selected: None, buffer });
                Some(base)
            }
            // One that was given up a moment ago has not let go of the log yet.
            Err(aof::Error::RewriteInProgress) => {
                self.rewrite.wanted = true;
                None
            }
            Err(error) => {
                self.end_rewrite(Err(error));
                None
            }
        }
    }

    /// Notes how a rewrite came out.
    pub(crate) fn end_rewrite(&mut self, result: Result<(), aof::Error>) {
        self.rewrite.running = None;
        self.rewrite.finishing = false;
        self.rewrite.last_error = result.err().map(|error| error.to_string());
    }

    /// Gives up a rewrite, because the keys it walks are gone, and asks for another one. The log stays valid as it
    /// is, in more files.
    pub(crate) fn restart_rewrite(&mut self) {
        self.rewrite.wanted |= self.rewrite.running.take().is_some();
    }

    /// Dumps a key that is about to change, unless the base has it or need not have it.
    #[inline]
    pub(crate) fn save_for_rewrite(&mut self, db: usize, key: &[u8]) {
        if self.rewrite.running.is_some() {
            self.save_key(db, key);
        }
    }

    fn save_key(&mut self, db: usize, key: &[u8]) {
        let epoch = self.rewrite.epoch;
        let (Some(running), Some(saved)) = (&mut self.rewrite.running, self.dbs[db].epoch(key))
        else {
            return;
        };
        if saved == epoch {
            return;
        }
        if let Some(value) = self.dbs[db].get(key) {
            running.select(db);
            dump(&mut running.buffer, key, value, self.dbs[db].expires_at(key));
        }
        self.dbs[db].set_epoch(key, epoch);
    }

    /// Walks on through about `n_buckets` of the tables.
    pub(crate) fn rewrite_some(&mut self, n_buckets: usize) -> Progress {
        for _ in 0..n_buckets {
            let Some(running) = &mut self.rewrite.running else { return Progress::GivenUp };
            if running.buffer.len() >= BUFFER_LEN {
                return Progress::More(std::mem::take(&mut running.buffer));
            }
            let (db, cursor) = (running.db, running.cursor);
            if db >= self.dbs.len() {
                let dumped = std::mem::take(&mut running.buffer);
                self.rewrite.running = None;
                self.rewrite.finishing = true;
                return Progress::Last(dumped);
            }
            let mut keys: Vec<Box<[u8]>> = Vec::new();
            let cursor = self.dbs[db].scan(cursor, |key, _| keys.push(key.into()));
            for key in &keys {
                self.save_key(db, key);
            }
            if let Some(running) = &mut self.rewrite.running {
                (running.db, running.cursor) = if cursor == 0 { (db + 1, 0) } else { (db, cursor) };
            }
        }
        Progress::More(Vec::new())
    }
}

impl Running {
    fn select(&mut self, db: usize) {
        if self.selected != Some(db) {
            let mut text = itoa::Buffer::new();
            encode_command(&mut self.buffer, &[b"SELECT", text.format(db).as_bytes()]);
            self.selected = Some(db);
        }
    }
}

#[cfg(test)]
mod tests;
