//! Clients that write as fast as they can until the server dies, and know what it owes them.
//!
//! What a client's operation number n does depends on n alone, and every client has keys of its own. So the state
//! after a crash has to be that after some number of operations: at least those that were acknowledged, at most
//! those that were sent. Half a transaction, a lost write or one out of order fits no number.

use std::{
    collections::{BTreeMap, VecDeque},
    io,
    sync::mpsc::Sender,
    time::{Duration, Instant},
};

use crate::{
    keyspace::{Bytes, Entry, Keyspace, Value},
    wire::{Frame, Wire},
};

/// Operations a client sends before it waits for the first answer; the clients differ in this.
pub(crate) const PIPELINES: [usize; 6] = [1, 1, 1, 4, 8, 32];

/// Keys that single SETs take turns on.
const SLOTS: usize = 40;
/// A list that has so many elements is emptied.
const LIST_LEN_MAX: usize = 100;

/// Three keys of three types, all or none of them.
const SCRIPT: &str = "redis.call('SET', KEYS[1], ARGV[1]) \
    redis.call('ZADD', KEYS[2], ARGV[1], 'n') \
    return redis.call('HINCRBY', KEYS[3], 'runs', 1)";

/// One client over all its connections.
pub(crate) struct Client {
    number: usize,
    pipeline: usize,
    /// The state after all acknowledged operations.
    model: Model,
    /// When each operation that was sent since the last check was acknowledged.
    acknowledged_at: Vec<Instant>,
    n_sent: usize,
}

#[derive(Clone, Default, PartialEq, Eq, Debug)]
struct Model {
    n_operations: usize,
    values: BTreeMap<Bytes, Value>,
}

impl Client {
    pub(crate) fn new(number: usize) -> Client {
        Client {
            number,
            pipeline: PIPELINES[number],
            model: Model::default(),
            acknowledged_at: Vec::new(),
            n_sent: 0,
        }
    }

    /// Writes until the connection breaks, and sends a word for every answer.
    pub(crate) fn write(&mut self, mut wire: Wire, acknowledged: &Sender<()>) {
        let mut awaited = VecDeque::new();
        loop {
            while awaited.len() < self.pipeline {
                let n = self.model.n_operations + self.n_sent;
                // Some of it may have arrived, even if not all of it could be sent.
                self.n_sent += 1;
                match send(&mut wire, self.number, n) {
                    Ok(n_replies) => awaited.push_back(n_replies),
                    Err(_) => return,
                }
            }
            let n_replies = awaited.pop_front().expect("there are some");
            for _ in 0..n_replies {
                match wire.read() {
                    Ok(reply) => assert!(!reply.is_error(), "a write was refused: {reply}"),
                    Err(_) => return,
                }
            }
            self.acknowledged_at.push(Instant::now());
            // Nobody counts after the crash.
            let _ = acknowledged.send(());
        }
    }

    /// Finds how many operations the server has kept, and goes on from there. Panics if there is no such number.
    pub(crate) fn settle(&mut self, found: &Keyspace) -> Kept {
        let found: BTreeMap<Bytes, Value> = self.own(found);
        let n_acknowledged = self.acknowledged_at.len();
        let mut after = self.model.clone();
        let mut kept = (after.values == found).then(|| (0, after.clone()));
        for n in 1..=self.n_sent {
            after.apply(self.number);
            // The longest: operations can leave the state as it was.
            if after.values == found {
                kept = Some((n, after.clone()));
            }
        }
        let Some((n_kept, model)) = kept else {
            let mut expected = self.model.clone();
            (0..n_acknowledged).for_each(|_| expected.apply(self.number));
            panic!(
                "client {}: no number of operations leads to what was found after the crash\n\
                 found {found:?}\n\
                 after {n_acknowledged} acknowledged of {} sent operations {expected:?}",
                self.number, self.n_sent
            );
        };
        let lost = self.acknowledged_at.get(n_kept..).unwrap_or_default();
        let kept = Kept {
            n_lost: lost.len(),
            lost: lost.first().map_or(Duration::ZERO, |first| lost[lost.len() - 1] - *first),
        };
        self.model = model;
        self.acknowledged_at.clear();
        self.n_sent = 0;
        kept
    }

    fn own(&self, keyspace: &Keyspace) -> BTreeMap<Bytes, Value> {
        let prefix = format!("{}:", self.number).into_bytes();
        let own = keyspace.iter().filter(|((_, key), _)| key.starts_with(&prefix));
        own.map(|((_, key), Entry { value, .. })| (key.clone(), value.clone())).collect()
    }
}

/// What a crash left of a client's work.
pub(crate) struct Kept {
    /// Acknowledged operations that are gone.
    pub(crate) n_lost: usize,
    /// The time from the first to the last of them.
    pub(crate) lost: Duration,
}

/// Sends operation number `n`, and returns how many replies will come.
fn send(wire: &mut Wire, client: usize, n: usize) -> io::Result<usize> {
    let key = |name: &str| format!("{client}:{name}");
    let text = n.to_string();
    match n % 4 {
        0 => {
            wire.try_send(&["SET", &key(&slot(n)), &text])?;
            Ok(1)
        }
        1 => {
            wire.try_send(&["MULTI"])?;
            wire.try_send(&["SET", &key("left"), &text])?;
            wire.try_send(&["HSET", &key("right"), "n", &text])?;
            wire.try_send(&["EXEC"])?;
            Ok(4)
        }
        2 => {
            let keys = [key("last"), key("order"), key("count")];
            wire.try_send(&["EVAL", SCRIPT, "3", &keys[0], &keys[1], &keys[2], &text])?;
            Ok(1)
        }
        _ if n % (4 * LIST_LEN_MAX) == 3 => {
            wire.try_send(&["DEL", &key("list")])?;
            Ok(1)
        }
        _ => {
            wire.try_send(&["LPUSH", &key("list"), &text])?;
            Ok(1)
        }
    }
}

fn slot(n: usize) -> String {
    format!("slot{}", n / 4 % SLOTS)
}

impl Model {
    /// Does what [`send`] asks the server to do.
    fn apply(&mut self, client: usize) {
        let n = self.n_operations;
        self.n_operations += 1;
        let key = |name: &str| format!("{client}:{name}").into_bytes();
        let text = n.to_string().into_bytes();
        let values = &mut self.values;
        match n % 4 {
            0 => _ = values.insert(key(&slot(n)), Value::String(text)),
            1 => {
                values.insert(key("left"), Value::String(text.clone()));
                values.insert(key("right"), Value::Hash([(b"n".to_vec(), text)].into()));
            }
            2 => {
                let runs = (n / 4 + 1).to_string().into_bytes();
                values.insert(key("last"), Value::String(text.clone()));
                values.insert(key("order"), Value::SortedSet(vec![(b"n".to_vec(), text)]));
                values.insert(key("count"), Value::Hash([(b"runs".to_vec(), runs)].into()));
            }
            _ if n % (4 * LIST_LEN_MAX) == 3 => _ = values.remove(&key("list")),
            _ => {
                let list = values.entry(key("list")).or_insert(Value::List(Vec::new()));
                let Value::List(items) = list else { unreachable!("the model knows its types") };
                items.insert(0, text);
            }
        }
    }
}

/// Whether a rewrite of the log is under way.
pub(crate) fn is_rewriting(wire: &mut Wire) -> bool {
    let Frame::Bulk(info) = wire.call(&["INFO", "persistence"]) else {
        panic!("INFO has an answer");
    };
    String::from_utf8_lossy(&info).contains("aof_rewrite_in_progress:1")
}
