//! Everything a server holds, in a form that can be compared.

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    server::DATABASES,
    wire::{Frame, Wire},
};

pub(crate) type Bytes = Vec<u8>;

/// All keys of all databases.
pub(crate) type Keyspace = BTreeMap<(usize, Bytes), Entry>;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) value: Value,
    /// In milliseconds since 1970; `None` for a key that stays.
    pub(crate) expires_at: Option<i64>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Value {
    String(Bytes),
    List(Vec<Bytes>),
    Hash(BTreeMap<Bytes, Bytes>),
    Set(BTreeSet<Bytes>),
    /// Members and scores in order.
    SortedSet(Vec<(Bytes, Bytes)>),
}

/// What answers commands with RESP2 replies.
pub(crate) trait Door {
    fn call(&mut self, args: &[&[u8]]) -> Frame;
}

impl Door for Wire {
    fn call(&mut self, args: &[&[u8]]) -> Frame {
        Wire::call(self, args)
    }
}

/// Reads everything, and leaves the connection on database 0.
pub(crate) fn read(door: &mut impl Door) -> Keyspace {
    let mut keyspace = Keyspace::new();
    for db in 0..DATABASES {
        select(door, db);
        for key in list(door.call(&[b"KEYS", b"*"])) {
            if let Some(entry) = read_key(door, &key) {
                keyspace.insert((db, key), entry);
            }
        }
    }
    select(door, 0);
    keyspace
}

/// Says where two keyspaces differ, and how: whole ones are too long to look at.
#[track_caller]
pub(crate) fn assert_same(left: (&str, &Keyspace), right: (&str, &Keyspace)) {
    let keys: BTreeSet<_> = left.1.keys().chain(right.1.keys()).collect();
    for at in keys {
        let (a, b) = (left.1.get(at), right.1.get(at));
        assert!(
            a == b,
            "database {}, key \"{}\": {} has {a:?}, {} has {b:?}",
            at.0,
            at.1.escape_ascii(),
            left.0,
            right.0
        );
    }
}

fn select(door: &mut impl Door, db: usize) {
    assert_eq!(door.call(&[b"SELECT", db.to_string().as_bytes()]), Frame::Status("OK".into()));
}

/// A key's value and expiry; `None` if it has just expired.
fn read_key(door: &mut impl Door, key: &[u8]) -> Option<Entry> {
    let value = match door.call(&[b"TYPE", key]).bytes() {
        b"string" => Value::String(door.call(&[b"GET", key]).bytes().to_vec()),
        b"list" => Value::List(list(door.call(&[b"LRANGE", key, b"0", b"-1"]))),
        b"hash" => Value::Hash(pairs(door.call(&[b"HGETALL", key])).into_iter().collect()),
        b"set" => Value::Set(list(door.call(&[b"SMEMBERS", key])).into_iter().collect()),
        b"zset" => {
            Value::SortedSet(pairs(door.call(&[b"ZRANGE", key, b"0", b"-1", b"WITHSCORES"])))
        }
        _ => return None,
    };
    match door.call(&[b"PEXPIRETIME", key]) {
        Frame::Int(-1) => Some(Entry { value, expires_at: None }),
        Frame::Int(at @ 0..) => Some(Entry { value, expires_at: Some(at) }),
        _ => None,
    }
}

fn list(reply: Frame) -> Vec<Bytes> {
    assert!(matches!(reply, Frame::Array(_)), "{reply} is no list");
    reply.items().iter().map(|item| item.bytes().to_vec()).collect()
}

fn pairs(reply: Frame) -> Vec<(Bytes, Bytes)> {
    let items = list(reply);
    items.chunks_exact(2).map(|pair| (pair[0].clone(), pair[1].clone())).collect()
}
