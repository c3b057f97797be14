//! One numbered database: keys, their values and when they expire.

use std::hint::black_box;

use crate::{dict::Dict, types::Value};

/// A numbered database.
#[derive(Debug)]
pub(crate) struct Db {
    keys: Dict<Slot>,
    /// When each key that expires does, in ms since the Unix epoch.
    expires: Dict<u64>,
    /// How far the active expiry has come in `expires`.
    expire_cursor: u64,
}

#[derive(Debug, Clone)]
struct Slot {
    value: Value,
    /// The log rewrite that has this key already; see `rewrite.rs`.
    epoch: u32,
}

impl Db {
    pub(crate) fn new(seed: u64) -> Db {
        Db { keys: Dict::new(seed), expires: Dict::new(seed), expire_cursor: 0 }
    }

    pub(crate) fn len(&self) -> usize {
        self.keys.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// How many keys expire.
    pub(crate) fn n_volatile(&self) -> usize {
        self.expires.len()
    }

    pub(crate) fn get(&self, key: &[u8]) -> Option<&Value> {
        self.keys.get(key).map(|slot| &slot.value)
    }

    /// Reads what commands for these keys will read. One after the other each would wait for memory; these wait together.
    pub(crate) fn fetch(&self, keys: &[&[u8]]) {
        let mut n_bytes = 0;
        self.keys.get_each(keys, |slot| n_bytes += slot.map_or(0, |slot| slot.value.glance()));
        black_box(n_bytes);
    }

    pub(crate) fn get_mut(&mut self, key: &[u8]) -> Option<&mut Value> {
        self.keys.get_mut(key).map(|slot| &mut slot.value)
    }

    pub(crate) fn contains(&self, key: &[u8]) -> bool {
        self.keys.contains(key)
    }

    /// Sets a key, leaving its expiry alone; returns the value it had.
    pub(crate) fn insert(&mut self, key: &[u8], value: Value, epoch: u32) -> Option<Value> {
        if let Some(slot) = self.keys.get_mut(key) {
            return Some(std::mem::replace(&mut slot.value, value));
        }
        self.keys.insert_new(key.into(), Slot { value, epoch });
        None
    }

    /// The value of a key, which gets the new one if it has none.
    pub(crate) fn get_or_insert_with(
        &mut self,
        key: &[u8],
        epoch: u32,
        new: impl FnOnce() -> Value,
    ) -> &mut Value {
        let slot = || (key.into(), Slot { value: new(), epoch });
        &mut self.keys.get_or_insert_with(key, slot).value
    }

    pub(crate) fn remove(&mut self, key: &[u8]) -> Option<Value> {
        if !self.expires.is_empty() {
            self.expires.remove(key);
        }
        self.keys.remove(key).map(|slot| slot.value)
    }

    pub(crate) fn expires_at(&self, key: &[u8]) -> Option<u64> {
        if self.expires.is_empty() { None } else { self.expires.get(key).copied() }
    }

    pub(crate) fn set_expires_at(&mut self, key: &[u8], at_ms: u64) {
        if let Some(old) = self.expires.get_mut(key) {
            *old = at_ms;
        } else {
            self.expires.insert_new(key.into(), at_ms);
        }
    }

    /// Makes a key stay; says whether it would have expired.
    pub(crate) fn clear_expiry(&mut self, key: &[u8]) -> bool {
        !self.expires.is_empty() && self.expires.remove(key).is_some()
    }

    pub(crate) fn keys(&self) -> impl Iterator<Item = &[u8]> {
        self.keys.keys().map(|key| &**key)
    }

    /// Visits keys at `cursor` and returns the next cursor, 0 at the end.
    pub(crate) fn scan<'a>(
        &'a self,
        cursor: u64,
        mut visit: impl FnMut(&'a [u8], &'a Value),
    ) -> u64 {
        self.keys.scan(cursor, |key, slot| visit(key, &slot.value))
    }

    pub(crate) fn random_key(&self, random: impl FnMut() -> u64) -> Option<&[u8]> {
        self.keys.random(random).map(|(key, _)| &**key)
    }

    /// The next few keys with an expiry that has passed; call again until `wrapped`.
    pub(crate) fn collect_due(&mut self, now_ms: u64) -> DueKeys {
        let mut keys = Vec::new();
        self.expire_cursor = self.expires.scan(self.expire_cursor, |key, at| {
            if *at <= now_ms {
                keys.push(key.clone());
            }
        });
        DueKeys { keys, wrapped: self.expire_cursor == 0 }
    }

    /// The last log rewrite that has this key, if the key exists.
    pub(crate) fn epoch(&self, key: &[u8]) -> Option<u32> {
        self.keys.get(key).map(|slot| slot.epoch)
    }

    pub(crate) fn set_epoch(&mut self, key: &[u8], epoch: u32) {
        if let Some(slot) = self.keys.get_mut(key) {
            slot.epoch = epoch;
        }
    }
}

/// Keys found due by [`Db::collect_due`].
pub(crate) struct DueKeys {
    pub(crate) keys: Vec<Box<[u8]>>,
    /// Whether the walk came round to the start.
    pub(crate) wrapped: bool,
}
