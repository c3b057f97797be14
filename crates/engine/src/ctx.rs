//! What a command handler works with: the keyspace as its client sees it, and the record of what it changed.

use crate::{
    blocking::Wait,
    fault,
    reply::Error,
    session::Session,
    state::State,
    types::{Hash, List, Set, Str, Value, ZSet},
};

/// A running command's view of the engine.
pub(crate) struct Ctx<'a> {
    pub(crate) state: &'a mut State,
    pub(crate) session: &'a mut Session,
    /// Inside MULTI or a script, where nothing may wait.
    pub(crate) atomic: bool,
    /// Inside a script.
    pub(crate) in_script: bool,
    /// What to log in place of the command itself.
    logged_instead: bool,
}

/// Typed access: the value if the key holds the right type, `None` if there is no key, WRONGTYPE otherwise.
macro_rules! typed {
    ($read:ident, $write:ident, $write_or_new:ident, $variant:ident, $type:ty, $new:expr) => {
        pub(crate) fn $read(&mut self, key: &[u8]) -> Result<Option<&$type>, Error> {
            match self.get(key) {
                None => Ok(None),
                Some(Value::$variant(value)) => Ok(Some(value)),
                Some(_) => Err(Error::WRONG_TYPE),
            }
        }

        pub(crate) fn $write(&mut self, key: &[u8]) -> Result<Option<&mut $type>, Error> {
            match self.get_mut(key) {
                None => Ok(None),
                Some(Value::$variant(value)) => Ok(Some(value)),
                Some(_) => Err(Error::WRONG_TYPE),
            }
        }

        /// Makes the key where there is none; check everything else first, so that no empty key is left behind.
        pub(crate) fn $write_or_new(&mut self, key: &[u8]) -> Result<&mut $type, Error> {
            let db = self.session.db;
            self.state.expire_if_due(db, key);
            self.state.save_for_rewrite(db, key);
            let epoch = self.state.rewrite.epoch();
            let waiting = &mut self.state.waiting;
            let value = self.state.dbs[db].get_or_insert_with(key, epoch, || {
                let new = Value::$variant($new);
                if can_be_waited_for(&new) {
                    waiting.signal(db, key);
                }
                new
            });
            match value {
                Value::$variant(value) => Ok(value),
                _ => Err(Error::WRONG_TYPE),
            }
        }
    };
}

impl<'a> Ctx<'a> {
    pub(crate) fn new(state: &'a mut State, session: &'a mut Session) -> Ctx<'a> {
        Ctx { state, session, atomic: false, in_script: false, logged_instead: false }
    }

    /// The value of a key that exists now.
    pub(crate) fn get(&mut self, key: &[u8]) -> Option<&Value> {
        if self.state.expire_if_due(self.session.db, key) {
            self.state.stats.keyspace_misses += 1;
            return None;
        }
        let value = self.state.dbs[self.session.db].get(key);
        match value {
            Some(_) => self.state.stats.keyspace_hits += 1,
            None => self.state.stats.keyspace_misses += 1,
        }
        value
    }

    /// The value of a key that exists now, to change it. Report the change with [`Ctx::changed`].
    pub(crate) fn get_mut(&mut self, key: &[u8]) -> Option<&mut Value> {
        if self.state.expire_if_due(self.session.db, key) {
            return None;
        }
        self.state.save_for_rewrite(self.session.db, key);
        self.state.dbs[self.session.db].get_mut(key)
    }

    pub(crate) fn exists(&mut self, key: &[u8]) -> bool {
        self.get(key).is_some()
    }

    /// Whether a key exists, asked by a writer: it counts neither as a hit nor as a miss.
    pub(crate) fn holds(&mut self, key: &[u8]) -> bool {
        let db = self.session.db;
        !self.state.expire_if_due(db, key) && self.state.dbs[db].contains(key)
    }

    typed!(string, string_mut, string_or_new, Str, Str, Str::Bytes(Box::default()));
    typed!(list, list_mut, list_or_new, List, List, Box::default());
    typed!(hash, hash_mut, hash_or_new, Hash, Hash, Hash::new());
    typed!(set, set_mut, set_or_new, Set, Set, Set::new());
    typed!(zset, zset_mut, zset_or_new, ZSet, ZSet, ZSet::new());

    /// Sets a key, whatever it held; its expiry goes.
    pub(crate) fn put(&mut self, key: &[u8], value: Value) {
        self.put_keeping_expiry(key, value);
        self.state.dbs[self.session.db].clear_expiry(key);
    }

    /// Sets a key, whatever it held; its expiry stays.
    pub(crate) fn put_keeping_expiry(&mut self, key: &[u8], value: Value) {
        let db = self.session.db;
        self.state.expire_if_due(db, key);
        self.state.save_for_rewrite(db, key);
        let epoch = self.state.rewrite.epoch();
        let can_be_waited_for = can_be_waited_for(&value);
        let old = self.state.dbs[db].insert(key, value, epoch);
        // As in Redis, only a key that was not there serves those who wait for it.
        if can_be_waited_for && old.is_none() {
            self.state.waiting.signal(db, key);
        }
    }

    /// Removes a key and its expiry.
    pub(crate) fn remove(&mut self, key: &[u8]) -> Option<Value> {
        if self.state.expire_if_due(self.session.db, key) {
            return None;
        }
        self.state.remove(self.session.db, key)
    }

    /// Removes a collection that has just lost its last item, as Redis keeps no empty ones.
    pub(crate) fn remove_if_empty(&mut self, key: &[u8]) {
        let db = self.session.db;
        if self.state.dbs[db].get(key).is_some_and(Value::is_empty_collection) {
            self.state.remove(db, key);
        }
    }

    /// Reports that `key` has changed: the command will be logged, and clients that watch the key are told.
    pub(crate) fn changed(&mut self, key: &[u8]) {
        fault::point();
        self.state.dirty += 1;
        self.state.touch(self.session.db, key);
    }

    /// When the key expires, in ms since the Unix epoch.
    pub(crate) fn expires_at(&self, key: &[u8]) -> Option<u64> {
        self.state.dbs[self.session.db].expires_at(key)
    }

    /// Makes an existing key expire.
    pub(crate) fn set_expires_at(&mut self, key: &[u8], at_ms: u64) {
        let db = self.session.db;
        self.state.save_for_rewrite(db, key);
        self.state.dbs[db].set_expires_at(key, at_ms);
    }

    /// Makes a key stay; says whether it would have expired.
    pub(crate) fn clear_expiry(&mut self, key: &[u8]) -> bool {
        let db = self.session.db;
        self.state.save_for_rewrite(db, key);
        self.state.dbs[db].clear_expiry(key)
    }

    pub(crate) fn now_ms(&self) -> u64 {
        self.state.now_ms()
    }

    pub(crate) fn random(&mut self) -> u64 {
        self.state.random()
    }

    /// For tables that grow inside a value.
    pub(crate) fn seed(&self) -> u64 {
        self.state.seed
    }

    /// Logs `args` in place of the command as it was sent; may be called several times.
    pub(crate) fn log_instead(&mut self, args: &[&[u8]]) {
        self.logged_instead = true;
        self.state.effects.push(self.session.db, args);
    }

    /// Makes the client wait; the handler then returns any reply, which is not sent.
    /// Call only when `atomic` is not set.
    pub(crate) fn block(&mut self, wait: Wait) {
        self.state.block(self.session, wait);
    }

    /// Whether the command chose what to log; resets for the next one.
    pub(crate) fn take_logged_instead(&mut self) -> bool {
        std::mem::take(&mut self.logged_instead)
    }
}

/// Whether there are commands that wait for values of this type.
fn can_be_waited_for(value: &Value) -> bool {
    matches!(value, Value::List(_) | Value::ZSet(_))
}
