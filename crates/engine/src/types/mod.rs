//! The values a key can hold.

mod hash;
mod set;
mod string;
mod zset;

use std::collections::VecDeque;

pub(crate) use self::{
    hash::Hash,
    set::Set,
    string::Str,
    zset::{Edge, ScoreRange, ZSet},
};

/// A list: items end to end, cheap at both ends.
pub(crate) type List = VecDeque<Box<[u8]>>;

/// What a key holds.
#[derive(Debug, Clone)]
pub(crate) enum Value {
    Str(Str),
    List(Box<List>),
    Hash(Hash),
    Set(Set),
    ZSet(ZSet),
}

impl Value {
    /// Reads where the value begins, if it is kept in one piece: that brings it into the cache.
    pub(crate) fn glance(&self) -> usize {
        match self {
            Value::Hash(hash) => hash.glance(),
            _ => 0,
        }
    }

    /// The name that TYPE answers.
    pub(crate) fn type_name(&self) -> &'static str {
        match self {
            Value::Str(_) => "string",
            Value::List(_) => "list",
            Value::Hash(_) => "hash",
            Value::Set(_) => "set",
            Value::ZSet(_) => "zset",
        }
    }

    /// The name that OBJECT ENCODING answers.
    pub(crate) fn encoding(&self) -> &'static str {
        match self {
            Value::Str(string) => string.encoding(),
            Value::List(_) => "quicklist",
            Value::Hash(hash) => hash.encoding(),
            Value::Set(set) => set.encoding(),
            Value::ZSet(zset) => zset.encoding(),
        }
    }

    /// How many items it holds: what an emptied collection is recognised by.
    pub(crate) fn is_empty_collection(&self) -> bool {
        match self {
            Value::Str(_) => false,
            Value::List(list) => list.is_empty(),
            Value::Hash(hash) => hash.is_empty(),
            Value::Set(set) => set.is_empty(),
            Value::ZSet(zset) => zset.is_empty(),
        }
    }

    /// An estimate of the bytes it takes on the heap, allocator overhead included.
    pub(crate) fn memory(&self) -> usize {
        match self {
            Value::Str(string) => string.memory(),
            Value::List(list) => {
                allocation(size_of::<List>())
                    + allocation(list.capacity() * size_of::<Box<[u8]>>())
                    + list.iter().map(|item| allocation(item.len())).sum::<usize>()
            }
            Value::Hash(hash) => hash.memory(),
            Value::Set(set) => set.memory(),
            Value::ZSet(zset) => zset.memory(),
        }
    }
}

/// What the allocator takes for `n` bytes: 8 of its own, in steps of 16.
pub(crate) fn allocation(n: usize) -> usize {
    if n == 0 { 0 } else { (n + 8).next_multiple_of(16).max(32) }
}
