//! What the first store has no longer is removed from the second.

use std::collections::BTreeMap;
use std::pin::pin;

use futures_util::TryStreamExt as _;
use keyrack_lint::walk_keys;
use keyrack_store::Keyspace;
use redis::{Pipeline, Value};

use super::pass::{Copy, Outcome, Shard, places_of_members, shards};
use crate::store::{
    reader::Reader,
    side::{KnownKey, Met, send_all},
    value::{From, KeyType},
};

impl Copy<'_> {
    /// Walks through the second store. Only for one that was empty at first: its keys were all copied.
    pub(super) async fn remove(&self, outcome: &mut Outcome) -> anyhow::Result<()> {
        for keyspace in &self.to.keyspaces().await? {
            let mut batches = pin!(walk_keys(keyspace, None, self.pace));
            while let Some(keys) = batches.try_next().await? {
                self.remove_of(keyspace, keys, outcome).await?;
            }
        }
        Ok(())
    }

    async fn remove_of(
        &self,
        keyspace: &Keyspace,
        keys: Vec<Vec<u8>>,
        outcome: &mut Outcome,
    ) -> anyhow::Result<()> {
        let from = self.from;
        let met = self.to.recognise(keyspace, &keys).await?;
        let (mut known, mut looked_for) = (Vec::new(), BTreeMap::<i64, Vec<_>>::new());
        for (raw, met) in keys.into_iter().zip(met) {
            match met {
                Met::Key(key) => known.push((raw, key)),
                Met::Undeclared if self.undeclared => {
                    looked_for.entry(from.store.db()).or_default().push((raw.clone(), raw));
                }
                _ => {}
            }
        }
        let shards = shards(self.to, from, known.iter().map(|(_, key)| key)).await?;
        for ((raw, key), shard) in known.into_iter().zip(shards) {
            match shard {
                Shard::OfMembers => self.remove_members(keyspace, &raw, &key, outcome).await?,
                Shard::Is(shard) => {
                    if let Some((db, name)) = from.locate(&key, shard.as_deref()) {
                        looked_for.entry(db).or_default().push((raw, name.into_bytes()));
                    }
                }
                Shard::Unknown => {}
            }
        }
        let mut gone = Vec::new();
        for (db, names) in looked_for {
            let mut ask = Pipeline::with_capacity(names.len());
            for (_, there) in &names {
                ask.cmd("EXISTS").arg(there);
            }
            let replies = send_all(&from.connection(db).await?, &ask).await?;
            let names = names.into_iter().zip(replies);
            gone.extend(
                names.filter(|(_, reply)| *reply == Value::Int(0)).map(|((raw, _), _)| raw),
            );
        }
        let mut remove = Pipeline::with_capacity(gone.len());
        for raw in &gone {
            remove.cmd("UNLINK").arg(raw);
        }
        for reply in keyspace.pipeline(&remove).await? {
            if reply.extract_error().map_err(keyrack_store::Error::from)? == Value::Int(1) {
                outcome.removed += 1;
            }
        }
        Ok(())
    }

    /// Removes from a set of the second store the members that no set of the first has.
    async fn remove_members(
        &self,
        keyspace: &Keyspace,
        raw: &[u8],
        known: &KnownKey,
        outcome: &mut Outcome,
    ) -> anyhow::Result<()> {
        let (from, reader) = (self.from, Reader::Keyspace(keyspace));
        let connection = from.connection(from.store.db()).await?;
        let mut next = Some(From::Start);
        while let Some(place) = next {
            let chunk = reader.chunk(KeyType::Set, raw, &place).await?;
            let mut remove = Pipeline::new();
            for (name, members) in places_of_members(self.to, from, known, &chunk).await? {
                let mut ask = Pipeline::with_capacity(1);
                ask.cmd("SMISMEMBER").arg(name).arg(&members);
                let reply = send_all(&connection, &ask).await?.pop().unwrap_or(Value::Nil);
                let is_member: Vec<bool> =
                    redis::from_redis_value(reply).map_err(redis::RedisError::from)?;
                let gone = members.iter().zip(is_member).filter(|(_, is_member)| !is_member);
                for (member, _) in gone {
                    remove.cmd("SREM").arg(raw).arg(member);
                    outcome.removed += 1;
                }
            }
            keyspace.pipeline(&remove).await?;
            next = chunk.next;
        }
        Ok(())
    }
}
