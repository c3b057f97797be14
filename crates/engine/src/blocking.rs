//! Clients that wait for data: kept per key in arrival order and served inside the unit that brings the data.

use std::{
    collections::{BTreeSet, HashMap, HashSet, VecDeque},
    panic::{AssertUnwindSafe, catch_unwind},
};

use foldhash::fast::FixedState;

use crate::{
    commands,
    ctx::Ctx,
    fault,
    reply::Reply,
    session::{ClientIndex, Delivery, Session},
    state::State,
    unwinding::PANICKED,
};

/// What a blocked client waits for.
#[derive(Debug, Clone)]
pub(crate) struct Wait {
    pub(crate) db: usize,
    pub(crate) keys: Vec<Box<[u8]>>,
    pub(crate) operation: Operation,
    /// In ms since the Unix epoch; forever without one.
    pub(crate) deadline_ms: Option<u64>,
}

/// What is done for a blocked client once a key has data.
#[derive(Debug, Clone)]
pub(crate) enum Operation {
    PopList {
        from: End,
    },
    /// Up to `count` items, answered as an array of their own.
    PopLists {
        from: End,
        count: usize,
    },
    MoveList {
        from: End,
        to: End,
        dest: Box<[u8]>,
    },
    PopZSet {
        max: bool,
    },
    /// Up to `count` members, answered as an array of their own.
    PopZSets {
        max: bool,
        count: usize,
    },
}

/// An end of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    Left,
    Right,
}

type KeyInDb = (usize, Box<[u8]>);

/// Who waits for what.
#[derive(Debug, Default)]
pub(crate) struct Waiting {
    by_key: HashMap<KeyInDb, VecDeque<ClientIndex>, FixedState>,
    /// Keys with waiters that have come to hold a list or a sorted set in this unit.
    ready: Vec<KeyInDb>,
    /// The same keys: a script may bring data for thousands of them before anybody is served.
    is_ready: HashSet<KeyInDb, FixedState>,
    deadlines: BTreeSet<(u64, ClientIndex)>,
}

impl Waiting {
    /// How many waits there are, a client that waits for two keys counting twice.
    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.by_key.values().map(VecDeque::len).sum()
    }

    /// The first moment at which somebody has waited long enough.
    pub(crate) fn next_deadline_ms(&self) -> Option<u64> {
        self.deadlines.first().map(|(at, _)| *at)
    }

    /// Notes that `key` has data now.
    pub(crate) fn signal(&mut self, db: usize, key: &[u8]) {
        if self.by_key.is_empty() {
            return;
        }
        let key = (db, key.into());
        if self.by_key.contains_key(&key) && self.is_ready.insert(key.clone()) {
            self.ready.push(key);
        }
    }

    /// Takes the keys that have come to hold data.
    fn take_ready(&mut self) -> Vec<KeyInDb> {
        self.is_ready.clear();
        std::mem::take(&mut self.ready)
    }

    /// Notes every key in `db` that somebody waits for and that `holds` accepts, as SWAPDB must.
    pub(crate) fn signal_all(&mut self, db: usize, holds: impl Fn(&[u8]) -> bool) {
        for key in self.by_key.keys().filter(|(in_db, key)| *in_db == db && holds(key)) {
            if self.is_ready.insert(key.clone()) {
                self.ready.push(key.clone());
            }
        }
    }

    /// Who stands at place `n` in the queue for a key.
    fn nth(&self, key: &KeyInDb, n: usize) -> Option<ClientIndex> {
        self.by_key.get(key)?.get(n).copied()
    }

    fn add(&mut self, client: ClientIndex, wait: &Wait) {
        for key in &wait.keys {
            let queue = self.by_key.entry((wait.db, key.clone())).or_default();
            // A key may be named twice in one command; the client still waits once.
            if queue.back() != Some(&client) {
                queue.push_back(client);
            }
        }
        if let Some(at) = wait.deadline_ms {
            self.deadlines.insert((at, client));
        }
    }

    fn remove(&mut self, client: ClientIndex, wait: &Wait) {
        for key in &wait.keys {
            let key = (wait.db, key.clone());
            if let Some(queue) = self.by_key.get_mut(&key) {
                // Who is served stands in front, so this seldom looks far.
                if let Some(at) = queue.iter().position(|other| *other == client) {
                    queue.remove(at);
                }
                if queue.is_empty() {
                    self.by_key.remove(&key);
                }
            }
        }
        if let Some(at) = wait.deadline_ms {
            self.deadlines.remove(&(at, client));
        }
    }
}

impl State {
    /// Makes a session wait; its command has no answer yet.
    pub(crate) fn block(&mut self, session: &mut Session, wait: Wait) {
        self.waiting.add(session.index, &wait);
        session.wait = Some(wait);
    }

    /// Ends a session's wait without an answer, as when its connection closes.
    pub(crate) fn unblock(&mut self, session: &mut Session) {
        if let Some(wait) = session.wait.take() {
            self.waiting.remove(session.index, &wait);
        }
    }

    /// Serves clients whose keys have come to hold data, oldest first, until nothing is left for them.
    pub(crate) fn serve_waiting(&mut self) {
        if self.waiting.ready.is_empty() {
            return;
        }
        // Who gave up meanwhile must get nothing, as it would be lost.
        self.deferred.clone().carry_out(self);
        // Serving may make other keys ready: a move pushes to its destination.
        while !self.waiting.ready.is_empty() {
            for key in self.waiting.take_ready() {
                self.serve_all(&key);
            }
        }
        // A key that had expired was removed for nobody, and its removal is still to be logged.
        self.finish_unit();
    }

    /// Serves the clients that wait for one key, for as long as it has something for them.
    fn serve_all(&mut self, key: &KeyInDb) {
        // Clients that wait on, because they want another type.
        let mut n_passed = 0;
        while let Some(client) = self.waiting.nth(key, n_passed) {
            if !self.serve(client, &key.1) {
                return;
            }
            n_passed += usize::from(self.waiting.nth(key, n_passed) == Some(client));
        }
    }

    /// Tries one client; false when the key holds nothing more for anybody.
    fn serve(&mut self, client: ClientIndex, key: &[u8]) -> bool {
        let Some(mut session) = self.clients.take(client) else { return true };
        // Not a copy: it may name thousands of keys, and each of them may come to hold data that it does not want.
        let Some(wait) = session.wait.take() else {
            self.clients.put(session);
            return true;
        };
        let db = std::mem::replace(&mut session.db, wait.db);
        // A panic must neither take the session along nor be for the one whose command brought the data.
        let served = catch_unwind(AssertUnwindSafe(|| {
            let mut ctx = Ctx::new(self, &mut session);
            let served = commands::serve(&mut ctx, &wait.operation, key);
            fault::point();
            served
        }));
        session.db = db;
        let has_more = match served {
            Ok(commands::ServeOutcome::Reply(reply)) => {
                self.waiting.remove(client, &wait);
                let position = self.finish_unit();
                session.mailbox.send(Delivery::Served { reply, position });
                true
            }
            Ok(commands::ServeOutcome::WrongKind) => {
                session.wait = Some(wait);
                true
            }
            Ok(commands::ServeOutcome::Empty) => {
                session.wait = Some(wait);
                false
            }
            Err(_) => {
                self.waiting.remove(client, &wait);
                let keys: Vec<&[u8]> = match &wait.operation {
                    Operation::MoveList { dest, .. } => vec![key, dest],
                    _ => vec![key],
                };
                self.log_as_they_are(wait.db, &keys);
                let position = self.finish_unit();
                let reply = Reply::Error(PANICKED);
                session.mailbox.send(Delivery::Served { reply, position });
                true
            }
        };
        self.clients.put(session);
        has_more
    }

    /// Answers everybody whose time is up.
    pub(crate) fn end_overdue_waits(&mut self) {
        let now_ms = self.now_ms();
        while let Some(&(at, client)) = self.waiting.deadlines.first() {
            if at > now_ms {
                return;
            }
            let Some(mut session) = self.clients.take(client) else {
                self.waiting.deadlines.remove(&(at, client));
                continue;
            };
            if session.wait.is_some() {
                self.unblock(&mut session);
                // A move is answered so too, though it would be a plain nil inside MULTI.
                session.mailbox.send(Delivery::Served { reply: Reply::NilArray, position: 0 });
            }
            self.clients.put(session);
        }
    }
}

#[cfg(test)]
mod tests;
