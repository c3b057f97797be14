//! The values of keys of every type: reading them in chunks, writing them, and a digest of them.

use redis::{Pipeline, Value};
use sha2::{Digest as _, Sha256};

/// Elements that are read at once.
const CHUNK: usize = 1_000;

/// The type of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum KeyType {
    String,
    List,
    Set,
    SortedSet,
    Hash,
    Stream,
}

/// Where the next chunk begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum From {
    Start,
    /// What SCAN of a collection said.
    Cursor(u64),
    /// The index in a list.
    Index(usize),
    /// After this entry of a stream.
    After(Vec<u8>),
}

/// An element: an item, a member, a member with its score, a field with its value, or an entry's id, fields and values.
pub(super) type Element = Vec<Vec<u8>>;

/// Some elements of a key.
#[derive(Debug, Default)]
pub(super) struct Chunk {
    pub(super) elements: Vec<Element>,
    pub(super) next: Option<From>,
}

impl KeyType {
    /// The type as TYPE names it; `None` for those of modules.
    pub(super) fn of(reply: &Value) -> Option<KeyType> {
        let Value::SimpleString(word) = reply else { return None };
        Some(match word.as_str() {
            "string" => KeyType::String,
            "list" => KeyType::List,
            "set" => KeyType::Set,
            "zset" => KeyType::SortedSet,
            "hash" => KeyType::Hash,
            "stream" => KeyType::Stream,
            _ => return None,
        })
    }

    /// Adds the command that reads a chunk.
    pub(super) fn read(self, pipeline: &mut Pipeline, key: &[u8], from: &From) {
        let cursor = match from {
            From::Cursor(cursor) => *cursor,
            _ => 0,
        };
        let index = match from {
            From::Index(index) => *index,
            _ => 0,
        };
        let mut scan = |command| {
            pipeline.cmd(command).arg(key).arg(cursor).arg("COUNT").arg(CHUNK);
        };
        match self {
            KeyType::String => drop(pipeline.cmd("GET").arg(key)),
            KeyType::List => {
                pipeline.cmd("LRANGE").arg(key).arg(index).arg(index + CHUNK - 1);
            }
            KeyType::Set => scan("SSCAN"),
            KeyType::SortedSet => scan("ZSCAN"),
            KeyType::Hash => scan("HSCAN"),
            KeyType::Stream => {
                let start = match from {
                    From::After(id) => [b"(".as_slice(), id].concat(),
                    _ => b"-".to_vec(),
                };
                pipeline.cmd("XRANGE").arg(key).arg(start).arg("+").arg("COUNT").arg(CHUNK);
            }
        }
    }

    /// What a reply to [`KeyType::read`] holds; `None` if the key is of another type.
    pub(super) fn take(self, from: &From, reply: Value) -> Option<Chunk> {
        match (self, reply) {
            (_, Value::Nil) => Some(Chunk::default()),
            (KeyType::String, reply) => {
                Some(Chunk { elements: vec![vec![bytes(reply)?]], next: None })
            }
            (KeyType::List, Value::Array(items)) => {
                let index = if let From::Index(index) = from { *index } else { 0 };
                let next = (items.len() == CHUNK).then_some(From::Index(index + CHUNK));
                let items: Option<Vec<Element>> =
                    items.into_iter().map(|item| Some(vec![bytes(item)?])).collect();
                Some(Chunk { elements: items?, next })
            }
            (KeyType::Stream, Value::Array(entries)) => {
                let is_full = entries.len() == CHUNK;
                let entries: Option<Vec<Element>> = entries.into_iter().map(entry).collect();
                let entries = entries?;
                let last = entries.last().filter(|_| is_full).map(|last| last[0].clone());
                Some(Chunk { elements: entries, next: last.map(From::After) })
            }
            (KeyType::Set | KeyType::SortedSet | KeyType::Hash, Value::Array(halves)) => {
                let [next, values] = <[Value; 2]>::try_from(halves).ok()?;
                let next: u64 = String::from_utf8(bytes(next)?).ok()?.parse().ok()?;
                let Value::Array(values) = values else { return None };
                let values: Option<Vec<Vec<u8>>> = values.into_iter().map(bytes).collect();
                let n = if self == KeyType::Set { 1 } else { 2 };
                let elements = values?.chunks_exact(n).map(<[Vec<u8>]>::to_vec).collect();
                Some(Chunk { elements, next: (next != 0).then_some(From::Cursor(next)) })
            }
            _ => None,
        }
    }

    /// Adds the commands that write elements at the end of a key; streams are written otherwise.
    pub(super) fn write(self, pipeline: &mut Pipeline, key: &[u8], elements: &[Element]) {
        let command = match self {
            KeyType::String => "SET",
            KeyType::List => "RPUSH",
            KeyType::Set => "SADD",
            KeyType::SortedSet => "ZADD",
            KeyType::Hash => "HSET",
            KeyType::Stream => return,
        };
        for elements in elements.chunks(CHUNK) {
            let cmd = pipeline.cmd(command).arg(key);
            for element in elements {
                match (self, element.as_slice()) {
                    (KeyType::SortedSet, [member, score]) => drop(cmd.arg(score).arg(member)),
                    (_, parts) => drop(cmd.arg(parts)),
                }
            }
        }
    }

    /// A digest of one element. Those of a key are summed up, so that only a list has an order.
    pub(super) fn digest(self, identity: &[u8], index: usize, element: &Element) -> u128 {
        let place = match self {
            KeyType::List => index as u64,
            _ => 0,
        };
        let score = |score: &[u8]| {
            let number: f64 = str::from_utf8(score).ok()?.parse().ok()?;
            // Zero has two forms.
            Some((number + 0.0).to_bits().to_be_bytes())
        };
        let kind = [self as u8];
        let mut parts: Vec<&[u8]> = vec![identity, &kind];
        parts.extend(element.iter().map(Vec::as_slice));
        // Servers write one score in several ways.
        let bits = (self == KeyType::SortedSet).then(|| element.get(1).and_then(|at| score(at)));
        let bits = bits.flatten();
        if let (Some(bits), Some(last)) = (&bits, parts.last_mut()) {
            *last = bits;
        }
        digest(place, &parts)
    }
}

/// A digest of some texts, each with its length.
pub(super) fn digest(seed: u64, parts: &[&[u8]]) -> u128 {
    let mut hasher = Sha256::new();
    hasher.update(seed.to_be_bytes());
    for part in parts {
        hasher.update((part.len() as u64).to_be_bytes());
        hasher.update(part);
    }
    let bytes = hasher.finalize();
    bytes.iter().take(16).fold(0, |number, byte| number << 8 | u128::from(*byte))
}

/// An entry of a stream: its id, then its fields and values.
fn entry(reply: Value) -> Option<Element> {
    let Value::Array(halves) = reply else { return None };
    let [id, fields] = <[Value; 2]>::try_from(halves).ok()?;
    let fields = match fields {
        Value::Array(fields) => fields.into_iter().map(bytes).collect::<Option<Vec<_>>>()?,
        Value::Map(fields) => {
            let fields = fields.into_iter().flat_map(|(field, value)| [bytes(field), bytes(value)]);
            fields.collect::<Option<Vec<_>>>()?
        }
        _ => return None,
    };
    Some([vec![bytes(id)?], fields].concat())
}

fn bytes(value: Value) -> Option<Vec<u8>> {
    match value {
        Value::BulkString(bytes) => Some(bytes),
        Value::SimpleString(text) => Some(text.into_bytes()),
        Value::Int(number) => Some(number.to_string().into_bytes()),
        Value::Double(number) => Some(number.to_string().into_bytes()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_digest_follows_from_what_is_stored_and_not_from_how_a_server_writes_it() {
        let of = |kind: KeyType, index, parts: &[&str]| {
            let element: Element = parts.iter().map(|part| part.as_bytes().to_vec()).collect();
            kind.digest(b"key", index, &element)
        };
        let score = |score| of(KeyType::SortedSet, 0, &["a", score]);
        assert_eq!(score("1667950000.25"), score("1.66795000025e9"));
        assert_eq!(score("0"), score("-0"));
        assert_ne!(score("1"), score("1.0000000000000002"));
        assert_ne!(of(KeyType::Hash, 0, &["a", "bc"]), of(KeyType::Hash, 0, &["ab", "c"]));
        assert_ne!(of(KeyType::Hash, 0, &["a", "1"]), score("1"));
        assert_ne!(of(KeyType::List, 0, &["a"]), of(KeyType::List, 1, &["a"]));
        assert_eq!(of(KeyType::Set, 0, &["a"]), of(KeyType::Set, 1, &["a"]));
    }
}
