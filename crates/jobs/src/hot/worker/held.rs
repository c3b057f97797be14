//! What a worker in reliable mode knows that it has taken.
//!
//! When the connection is lost, an entry may have been moved to the worker's list without the worker ever hearing of it.
//! Nobody else looks into the list of a worker that lives, so the worker compares it with what it knows and puts the rest back.

use std::{collections::HashMap, sync::Mutex};

use keyrack_store::Error;

use super::Settings;
use crate::hot::keys;

/// Entries by how often they are held: two jobs may have the same text.
#[derive(Debug, Default)]
pub(super) struct Held(Mutex<HashMap<Vec<u8>, usize>>);

impl Held {
    pub(super) fn add(&self, entry: &[u8]) {
        *self.lock().entry(entry.to_vec()).or_default() += 1;
    }

    pub(super) fn remove(&self, entry: &[u8]) {
        let mut held = self.lock();
        if let Some(times) = held.get_mut(entry) {
            *times -= 1;
            if *times == 0 {
                held.remove(entry);
            }
        }
    }

    /// Those of `entries` that are not held.
    fn strangers(&self, entries: Vec<Vec<u8>>) -> Vec<Vec<u8>> {
        let mut held = self.lock().clone();
        let is_stranger = |entry: &Vec<u8>| match held.get_mut(entry) {
            Some(times) if *times > 0 => {
                *times -= 1;
                false
            }
            _ => true,
        };
        entries.into_iter().filter(is_stranger).collect()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<Vec<u8>, usize>> {
        // A count is never half changed, whatever panicked.
        self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

impl Settings {
    /// Puts entries back that stand in the worker's list though it does not hold them. Nothing may be being taken meanwhile.
    pub(super) async fn put_strangers_back(&self) -> Result<(), Error> {
        let mut cmd = redis::cmd("LRANGE");
        cmd.arg(&*self.store.place(&keys::taken(&self.id))).arg(0).arg(-1);
        let entries: Vec<Vec<u8>> = cmd.query_async(&mut self.store.connection()).await?;
        // The newest first, so that the oldest ends at the head.
        for entry in self.held.strangers(entries).iter().rev() {
            tracing::warn!(
                worker = self.id.as_str(),
                "a job was taken while the connection was lost; put back"
            );
            self.put_stranger_back(entry).await;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strangers_are_what_is_there_more_often_than_held() {
        let held = Held::default();
        for entry in ["a", "a", "b", "c"] {
            held.add(entry.as_bytes());
        }
        held.remove(b"c");
        held.remove(b"never held");
        let entries = ["a", "c", "a", "b", "a"].map(|entry| entry.as_bytes().to_vec());
        assert_eq!(held.strangers(entries.into()), [b"c".to_vec(), b"a".to_vec()]);
    }
}
