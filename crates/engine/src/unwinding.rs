//! What becomes of the data when a command panics.
//!
//! No input is known to make a command panic, so this is about mistakes nobody has found. The session, the scripts and
//! the flags are put back by whoever took them ([`State::execute`], the guard in `commands/scripting.rs`). What is left
//! is the keyspace: the command may have changed some of it, and the log knows nothing of that. Going on so would
//! make a restart bring back other data than clients have seen since. Undoing the change would need a copy of every value
//! before every command. So:
//!
//! - What a script or a transaction had done before, whole commands, stays and is logged, as when a script ends with an
//!   error.
//! - The keys of the one command that panicked are logged as they are now, in the same unit. A key that cannot be read
//!   any more ends the process: the log holds whole commands only, and reading it again is the way back.
//! - A command that can have changed anything, as FLUSHALL or SWAPDB, ends the process too.
//!
//! An engine without a log has nothing to fall back on, and nothing that could differ from its data; it goes on.

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::{
    dump::dump,
    reply::Error,
    state::State,
    table::{Command, Flags},
};

/// The answer to a command that panicked.
pub(crate) const PANICKED: Error = Error::fixed(
    "ERR the engine failed while it ran this command, which may have done a part of its work",
);

/// Commands whose keys may be in another database than their client's.
const ACROSS_DATABASES: [&str; 2] = ["copy", "move"];

impl State {
    /// Makes the log tell the truth after a command panicked that a client of database `db` had sent.
    #[cold]
    pub(crate) fn log_panicked(&mut self, command: &Command, db: usize, args: &[&[u8]]) {
        if !command.has(Flags::WRITE) {
            return;
        }
        let keys = command.keys.of(args);
        if keys.is_empty() || ACROSS_DATABASES.contains(&command.name) {
            self.end_process(&format!("the command \"{}\" failed half-way", command.name));
            return;
        }
        self.log_as_they_are(db, &keys);
    }

    /// Logs what these keys hold, whatever led to it.
    #[cold]
    pub(crate) fn log_as_they_are(&mut self, db: usize, keys: &[&[u8]]) {
        let logged = catch_unwind(AssertUnwindSafe(|| {
            for key in keys {
                self.dirty += 1;
                self.touch(db, key);
                self.effects.push(db, &[b"DEL", key]);
                if let Some(value) = self.dbs[db].get(key) {
                    let mut commands = Vec::new();
                    dump(&mut commands, key, value, self.dbs[db].expires_at(key));
                    self.effects.push_encoded(&commands);
                }
            }
        }));
        if logged.is_err() {
            self.end_process("a command failed half-way and left a key that cannot be read");
        }
    }

    fn end_process(&self, reason: &str) {
        if let Some(log) = &self.log {
            log.end_process(reason);
        }
    }
}

#[cfg(test)]
mod tests;
