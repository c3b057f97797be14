//! Reading whole keys, a batch at a time; a long one in chunks.

use std::collections::HashSet;

use keyrack_store::Keyspace;
use redis::{Pipeline, Value};

use super::{
    side::{Target, send},
    value::{Chunk, From, KeyType},
};

/// Where keys are read.
pub(super) enum Reader<'a> {
    Keyspace(&'a Keyspace),
    Database(Target),
}

/// What a key is, before its value is read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Look {
    /// `None` if it has gone.
    pub(super) kind: Option<Result<KeyType, String>>,
    pub(super) ttl_ms: Option<u64>,
}

/// The elements of a key, summed up.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct KeyDigest {
    pub(super) elements: u64,
    pub(super) sum: u128,
}

impl Reader<'_> {
    pub(super) async fn ask(&self, pipeline: &Pipeline) -> anyhow::Result<Vec<Value>> {
        match self {
            Reader::Keyspace(keyspace) => Ok(keyspace.pipeline(pipeline).await?),
            Reader::Database(target) => send(target, pipeline).await,
        }
    }

    /// Type and time to live of each key.
    pub(super) async fn look(&self, keys: &[&[u8]]) -> anyhow::Result<Vec<Look>> {
        let mut ask = Pipeline::with_capacity(keys.len() * 2);
        for key in keys {
            ask.cmd("TYPE").arg(*key);
            ask.cmd("PTTL").arg(*key);
        }
        let replies = self.ask(&ask).await?;
        let looks = replies.chunks(2).map(|pair| {
            let kind = KeyType::of(&pair[0]).map(Ok);
            let other = || match &pair[0] {
                Value::SimpleString(word) if word != "none" => Some(Err(word.clone())),
                _ => None,
            };
            Look { kind: kind.or_else(other), ttl_ms: ttl(pair.get(1)) }
        });
        Ok(looks.collect())
    }

    /// The first chunk of each key; `None` for one that is of another type by now.
    pub(super) async fn first_chunks(
        &self,
        keys: &[(KeyType, &[u8])],
    ) -> anyhow::Result<Vec<Option<Chunk>>> {
        let mut ask = Pipeline::with_capacity(keys.len());
        for (kind, key) in keys {
            kind.read(&mut ask, key, &From::Start);
        }
        let replies = self.ask(&ask).await?;
        let chunks = keys.iter().zip(replies);
        Ok(chunks.map(|((kind, _), reply)| kind.take(&From::Start, reply)).collect())
    }

    /// The chunk of a key that begins there; an empty one if the key is of another type by now.
    pub(super) async fn chunk(
        &self,
        kind: KeyType,
        key: &[u8],
        from: &From,
    ) -> anyhow::Result<Chunk> {
        let mut ask = Pipeline::with_capacity(1);
        kind.read(&mut ask, key, from);
        let reply = self.ask(&ask).await?.pop().unwrap_or(Value::Nil);
        Ok(kind.take(from, reply).unwrap_or_default())
    }

    /// The digest of a key of which the first chunk was read.
    pub(super) async fn digest(
        &self,
        kind: KeyType,
        key: &[u8],
        identity: &[u8],
        first: &Chunk,
    ) -> anyhow::Result<KeyDigest> {
        let mut digest = KeyDigest::default();
        // A table that grows while it is walked through gives some elements twice.
        let mut seen = HashSet::new();
        let mut is_new = |element: u128, of_many: bool| {
            kind == KeyType::List || !of_many || seen.insert(element)
        };
        let mut add = |chunk: &Chunk, of_many: bool| {
            for element in &chunk.elements {
                let element = kind.digest(identity, digest.elements as usize, element);
                if is_new(element, of_many) {
                    digest.elements += 1;
                    digest.sum = digest.sum.wrapping_add(element);
                }
            }
        };
        add(first, first.next.is_some());
        let mut next = first.next.clone();
        while let Some(from) = next {
            let chunk = self.chunk(kind, key, &from).await?;
            add(&chunk, true);
            next = chunk.next;
        }
        Ok(digest)
    }
}

/// What PTTL has said.
pub(super) fn ttl(reply: Option<&Value>) -> Option<u64> {
    match reply {
        Some(Value::Int(ms)) => u64::try_from(*ms).ok(),
        _ => None,
    }
}
