//! Clients that write the same at the same time: only one of them changes anything, and all are told that it is so.
//!
//! "It is a member already" is a promise too, though the write that it relies on was another client's.

use std::sync::{
    Mutex,
    atomic::{AtomicUsize, Ordering::Relaxed},
};

use crate::{
    keyspace::{Keyspace, Value},
    wire::Wire,
};

/// How many of them there are.
pub(crate) const RIVALS: usize = 4;

const KEY: &str = "rivals";

/// What all rivals know.
#[derive(Default)]
pub(crate) struct Rivals {
    /// The member that everybody adds next.
    next: AtomicUsize,
    /// Members that somebody was told are there.
    promised: Mutex<Vec<usize>>,
}

impl Rivals {
    /// Adds members until the connection breaks.
    pub(crate) fn add(&self, mut wire: Wire) {
        loop {
            let n = self.next.load(Relaxed);
            if wire.try_send(&["SADD", KEY, &n.to_string()]).is_err() {
                return;
            }
            match wire.read() {
                Ok(reply) => assert!(!reply.is_error(), "a write was refused: {reply}"),
                Err(_) => return,
            }
            self.promised.lock().expect("no rival has panicked").push(n);
            self.next.fetch_max(n + 1, Relaxed);
        }
    }

    /// How many members that were promised are not there.
    pub(crate) fn n_missing(&self, found: &Keyspace) -> usize {
        let promised = self.promised.lock().expect("no rival has panicked");
        let entry = found.get(&(0, KEY.as_bytes().to_vec()));
        let is_there = |n: &usize| match entry.map(|entry| &entry.value) {
            Some(Value::Set(members)) => members.contains(n.to_string().as_bytes()),
            _ => false,
        };
        promised.iter().filter(|n| !is_there(n)).count()
    }
}
