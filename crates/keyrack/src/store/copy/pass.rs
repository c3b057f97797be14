//! One pass over the first store: every key that the second has not, or has otherwise, is written there.

use std::collections::BTreeMap;
use std::pin::pin;
use std::time::{Duration, Instant};

use futures_util::TryStreamExt as _;
use keyrack_keys::{Database, Layout};
use keyrack_lint::{Progress, WalkRate, walk_keys_from};
use keyrack_store::Keyspace;
use redis::{Pipeline, Value};

use super::position::{Place, PositionFile};
use crate::keys::Bar;
use crate::store::{
    reader::{Reader, ttl},
    side::{KnownKey, Met, ShardBy, Side, send, send_all},
    tally::Names,
    value::{Chunk, KeyType},
};

/// The least time between two writes of the cursor file.
const SAVE_EVERY: Duration = Duration::from_millis(200);
/// Times to live that differ by less are the same: both are read a moment apart.
const TTL_SPARE_MS: u64 = 2_000;

/// A copy between two stores.
pub(super) struct Copy<'a> {
    pub(super) from: &'a Side,
    pub(super) to: &'a Side,
    pub(super) pace: WalkRate,
    /// Copy keys of no family too.
    pub(super) undeclared: bool,
    /// Change nothing.
    pub(super) dry_run: bool,
    /// The second store has nothing yet, so there is nothing to compare with.
    pub(super) fresh: bool,
}

/// What a pass has done.
#[derive(Debug, Default)]
pub(super) struct Outcome {
    /// Keys that were looked at.
    pub(super) keys: u64,
    pub(super) copied: u64,
    pub(super) unchanged: u64,
    /// Keys and members that the first store has no longer.
    pub(super) removed: u64,
    pub(super) undeclared: Names,
    /// Keys in databases that are none of the store's.
    pub(super) elsewhere: u64,
    /// Keys that have no place in the second store, or a type that it does not have.
    pub(super) impossible: Names,
}

/// A key to copy, and where it goes.
struct Task {
    raw: Vec<u8>,
    goal: Goal,
}

enum Goal {
    /// It is this key of this database.
    Key { db: i64, name: Vec<u8> },
    /// Its members go into keys of their groups.
    Members(KnownKey),
}

/// A task whose first chunk was read.
struct Ready<'t> {
    task: &'t Task,
    kind: KeyType,
    ttl_ms: Option<u64>,
    chunk: Chunk,
}

impl Copy<'_> {
    /// Walks through the first store, from where the file says.
    pub(super) async fn walk(&self, file: &mut PositionFile, bar: &Bar) -> anyhow::Result<Outcome> {
        let mut outcome = Outcome::default();
        let keyspaces = self.from.keyspaces().await?;
        let keys_total = keyspaces.iter().map(Keyspace::keys).sum();
        let resumed = file.position.at.take();
        let mut done = resumed.as_ref().map(|place| place.done.clone()).unwrap_or_default();
        let mut saved_at = Instant::now();
        for keyspace in &keyspaces {
            let name = keyspace.name();
            if done.contains(&name) {
                continue;
            }
            let run_id = match self.from.keeps_cursors() {
                true => run_id(keyspace).await?,
                false => String::new(),
            };
            let is_here = |place: &&Place| {
                place.keyspace == name && place.run_id == run_id && !run_id.is_empty()
            };
            let cursor = resumed.as_ref().filter(is_here).map_or(0, |place| place.cursor);
            let mut batches = pin!(walk_keys_from(keyspace, None, self.pace, cursor));
            while let Some(batch) = batches.try_next().await? {
                outcome.keys += batch.keys.len() as u64;
                self.batch(keyspace, batch.keys, &mut outcome).await?;
                bar.show(Progress { keys: outcome.keys, keys_total });
                if !self.dry_run && saved_at.elapsed() >= SAVE_EVERY {
                    let (done, keyspace, run_id) = (done.clone(), name.clone(), run_id.clone());
                    file.position.at = Some(Place { done, keyspace, run_id, cursor: batch.next });
                    file.save()?;
                    saved_at = Instant::now();
                }
            }
            done.push(name);
        }
        Ok(outcome)
    }

    /// Copies some keys of a keyspace.
    async fn batch(
        &self,
        keyspace: &Keyspace,
        keys: Vec<Vec<u8>>,
        outcome: &mut Outcome,
    ) -> anyhow::Result<()> {
        let tasks = self.tasks(keyspace, keys, outcome).await?;
        if self.dry_run {
            outcome.copied += tasks.len() as u64;
            return Ok(());
        }
        let reader = Reader::Keyspace(keyspace);
        let raw: Vec<&[u8]> = tasks.iter().map(|task| task.raw.as_slice()).collect();
        let looks = reader.look(&raw).await?;
        let mut typed = Vec::with_capacity(tasks.len());
        for (task, look) in tasks.iter().zip(looks) {
            match look.kind {
                Some(Ok(kind)) => typed.push((task, kind, look.ttl_ms)),
                Some(Err(_)) => outcome.impossible.add(&task.raw),
                None => {}
            }
        }
        let wanted: Vec<_> =
            typed.iter().map(|(task, kind, _)| (*kind, task.raw.as_slice())).collect();
        let chunks = reader.first_chunks(&wanted).await?;
        let mut by_database: BTreeMap<i64, Vec<Ready<'_>>> = BTreeMap::new();
        for ((task, kind, ttl_ms), chunk) in typed.into_iter().zip(chunks) {
            // It has gone meanwhile, or it is another key by now: the next pass sees it.
            let Some(chunk) = chunk.filter(|chunk| !chunk.elements.is_empty()) else { continue };
            let ready = Ready { task, kind, ttl_ms, chunk };
            match &task.goal {
                Goal::Key { db, .. } => by_database.entry(*db).or_default().push(ready),
                Goal::Members(known) => self.members(&reader, known, ready, outcome).await?,
            }
        }
        for (db, ready) in by_database {
            self.write(&reader, db, ready, outcome).await?;
        }
        Ok(())
    }

    /// What is to be copied of these keys, and where to.
    async fn tasks(
        &self,
        keyspace: &Keyspace,
        keys: Vec<Vec<u8>>,
        outcome: &mut Outcome,
    ) -> anyhow::Result<Vec<Task>> {
        let met = self.from.recognise(keyspace, &keys).await?;
        let mut known = Vec::with_capacity(keys.len());
        let mut tasks = Vec::with_capacity(keys.len());
        for (raw, met) in keys.into_iter().zip(met) {
            match met {
                Met::Key(key) => known.push((raw, key)),
                Met::Undeclared => {
                    outcome.undeclared.add(&raw);
                    if self.undeclared {
                        let (db, name) = (self.to.store.db(), raw.clone());
                        tasks.push(Task { raw, goal: Goal::Key { db, name } });
                    }
                }
                Met::Elsewhere => outcome.elsewhere += 1,
                Met::Accounts | Met::OfThisStore => {}
            }
        }
        let shards = shards(self.from, self.to, known.iter().map(|(_, key)| key)).await?;
        for ((raw, key), shard) in known.into_iter().zip(shards) {
            let is_accounts = key.family.database == Database::Account;
            let goal = match shard {
                Shard::OfMembers => Some(Goal::Members(key)),
                Shard::Is(shard) => self
                    .to
                    .locate(&key, shard.as_deref())
                    .map(|(db, name)| Goal::Key { db, name: name.into_bytes() }),
                Shard::Unknown => None,
            };
            match goal {
                Some(goal) => tasks.push(Task { raw, goal }),
                // A dry run gives no account a place.
                None if self.dry_run && is_accounts => outcome.copied += 1,
                None => outcome.impossible.add(&raw),
            }
        }
        Ok(tasks)
    }

    /// Writes those keys that are not as they have to be.
    async fn write(
        &self,
        reader: &Reader<'_>,
        db: i64,
        ready: Vec<Ready<'_>>,
        outcome: &mut Outcome,
    ) -> anyhow::Result<()> {
        let connection = self.to.connection(db).await?;
        let there = match self.fresh {
            true => Vec::new(),
            false => self.there(db, &ready).await?,
        };
        let (mut set, mut long) = (Pipeline::new(), Vec::new());
        for (i, key) in ready.iter().enumerate() {
            let name = key.task.name();
            if let Some((chunk, ttl_ms)) = there.get(i)
                && is_same_ttl(key.ttl_ms, *ttl_ms)
                && let Some(chunk) = chunk
                && self.is_same(reader, db, key, chunk).await?
            {
                outcome.unchanged += 1;
                continue;
            }
            outcome.copied += 1;
            if key.kind == KeyType::Stream || key.chunk.next.is_some() {
                long.push(key);
                continue;
            }
            set.cmd("UNLINK").arg(name);
            key.kind.write(&mut set, name, &key.chunk.elements);
            key.expire(&mut set);
        }
        send_all(&connection, &set).await?;
        for key in long {
            self.write_long(reader, db, key, outcome).await?;
        }
        Ok(())
    }

    /// The first chunks of what the second store has under these names, with their times to live.
    async fn there(
        &self,
        db: i64,
        ready: &[Ready<'_>],
    ) -> anyhow::Result<Vec<(Option<Chunk>, Option<u64>)>> {
        let target = Reader::Database(self.to.connection(db).await?);
        let names: Vec<_> = ready.iter().map(|key| (key.kind, key.task.name())).collect();
        let chunks = target.first_chunks(&names).await?;
        let mut ask = Pipeline::with_capacity(names.len());
        for (_, name) in &names {
            ask.cmd("PTTL").arg(*name);
        }
        let ttls = target.ask(&ask).await?;
        Ok(chunks.into_iter().zip(ttls.iter().map(|reply| ttl(Some(reply)))).collect())
    }

    async fn is_same(
        &self,
        reader: &Reader<'_>,
        db: i64,
        key: &Ready<'_>,
        chunk: &Chunk,
    ) -> anyhow::Result<bool> {
        let target = Reader::Database(self.to.connection(db).await?);
        let there = target.digest(key.kind, key.task.name(), b"", chunk).await?;
        Ok(reader.digest(key.kind, &key.task.raw, b"", &key.chunk).await? == there)
    }

    /// Writes a key that is read in several chunks.
    async fn write_long(
        &self,
        reader: &Reader<'_>,
        db: i64,
        key: &Ready<'_>,
        outcome: &mut Outcome,
    ) -> anyhow::Result<()> {
        let connection = self.to.connection(db).await?;
        let name = key.task.name();
        if key.kind == KeyType::Stream {
            // Its groups and what they have not acknowledged come with it.
            let mut dump = Pipeline::new();
            dump.cmd("DUMP").arg(&key.task.raw);
            let Some(Value::BulkString(dump)) = reader.ask(&dump).await?.pop() else {
                return Ok(());
            };
            let mut restore = Pipeline::new();
            let ttl_ms = key.ttl_ms.unwrap_or(0);
            restore.cmd("RESTORE").arg(name).arg(ttl_ms).arg(dump).arg("REPLACE");
            if let Some(Value::ServerError(_)) = send(&connection, &restore).await?.pop() {
                outcome.copied -= 1;
                outcome.impossible.add(&key.task.raw);
            }
            return Ok(());
        }
        let mut set = Pipeline::new();
        set.cmd("UNLINK").arg(name);
        key.kind.write(&mut set, name, &key.chunk.elements);
        send_all(&connection, &set).await?;
        let mut next = key.chunk.next.clone();
        while let Some(from) = next {
            let chunk = reader.chunk(key.kind, &key.task.raw, &from).await?;
            let mut set = Pipeline::new();
            key.kind.write(&mut set, name, &chunk.elements);
            if !chunk.elements.is_empty() {
                send_all(&connection, &set).await?;
            }
            next = chunk.next;
        }
        let mut expire = Pipeline::new();
        key.expire(&mut expire);
        send_all(&connection, &expire).await?;
        Ok(())
    }

    /// Adds the members of a set to the set of their group, or of all groups.
    async fn members(
        &self,
        reader: &Reader<'_>,
        known: &KnownKey,
        ready: Ready<'_>,
        outcome: &mut Outcome,
    ) -> anyhow::Result<()> {
        let Ready { task, kind, mut chunk, .. } = ready;
        let connection = self.to.connection(self.to.store.db()).await?;
        let mut added = 0;
        loop {
            let places = places_of_members(self.from, self.to, known, &chunk).await?;
            let mut add = Pipeline::new();
            for (name, members) in places {
                add.cmd("SADD").arg(name).arg(members);
            }
            for reply in send_all(&connection, &add).await? {
                if let Value::Int(n) = reply {
                    added += n;
                }
            }
            let Some(from) = chunk.next else { break };
            chunk = reader.chunk(kind, &task.raw, &from).await?;
        }
        match added {
            0 => outcome.unchanged += 1,
            _ => outcome.copied += 1,
        }
        Ok(())
    }
}

impl Task {
    fn name(&self) -> &[u8] {
        match &self.goal {
            Goal::Key { name, .. } => name,
            Goal::Members(_) => &self.raw,
        }
    }
}

impl Ready<'_> {
    fn expire(&self, pipeline: &mut Pipeline) {
        if let Some(ms) = self.ttl_ms {
            pipeline.cmd("PEXPIRE").arg(self.task.name()).arg(ms.max(1));
        }
    }
}

/// The slot of a key.
pub(super) enum Shard {
    /// The name needs no tag, or this one.
    Is(Option<String>),
    /// That of each member.
    OfMembers,
    Unknown,
}

/// What decides where keys of `of` lie in `to`.
pub(super) async fn shards(
    of: &Side,
    to: &Side,
    keys: impl Iterator<Item = &KnownKey>,
) -> anyhow::Result<Vec<Shard>> {
    let changes = of.layout() != to.layout();
    let mut shards = Vec::new();
    let (mut jobs, mut at) = (Vec::new(), Vec::new());
    for key in keys {
        let by = key.shard_by();
        shards.push(match by {
            _ if changes && key.is_divided() => Shard::OfMembers,
            ShardBy::Unknown if changes => Shard::Unknown,
            _ if to.layout() == Layout::Documented => Shard::Is(None),
            ShardBy::Shard(shard) => Shard::Is(Some(shard)),
            ShardBy::Job(jid) => {
                at.push(shards.len());
                jobs.push(jid);
                Shard::Unknown
            }
            ShardBy::Name | ShardBy::Members | ShardBy::Unknown => Shard::Is(None),
        });
    }
    let jids: Vec<&str> = jobs.iter().map(String::as_str).collect();
    for (at, group) in at.into_iter().zip(of.groups_of_jobs(&jids).await?) {
        shards[at] = Shard::Is(Some(group));
    }
    Ok(shards)
}

/// In which keys of `to` the members of a divided set of `of` lie.
pub(super) async fn places_of_members(
    of: &Side,
    to: &Side,
    known: &KnownKey,
    chunk: &Chunk,
) -> anyhow::Result<BTreeMap<String, Vec<Vec<u8>>>> {
    let members: Vec<Vec<u8>> = chunk.elements.iter().map(|element| element[0].clone()).collect();
    let mut places: BTreeMap<String, Vec<Vec<u8>>> = BTreeMap::new();
    if to.layout() == Layout::Documented {
        if let Some((_, name)) = to.locate(known, None) {
            places.insert(name, members);
        }
    } else {
        let jids: Vec<String> =
            members.iter().map(|jid| String::from_utf8_lossy(jid).into_owned()).collect();
        let jids: Vec<&str> = jids.iter().map(String::as_str).collect();
        for (member, group) in members.into_iter().zip(of.groups_of_jobs(&jids).await?) {
            if let Some((_, name)) = to.locate(known, Some(&group)) {
                places.entry(name).or_default().push(member);
            }
        }
    }
    places.retain(|_, members| !members.is_empty());
    Ok(places)
}

fn is_same_ttl(a: Option<u64>, b: Option<u64>) -> bool {
    match (a, b) {
        (Some(a), Some(b)) => a.abs_diff(b) <= TTL_SPARE_MS,
        (a, b) => a == b,
    }
}

/// What tells this run of a server from others.
async fn run_id(keyspace: &Keyspace) -> anyhow::Result<String> {
    let mut info = Pipeline::with_capacity(1);
    info.cmd("INFO").arg("server");
    let reply = keyspace.pipeline(&info).await?.pop().unwrap_or(Value::Nil);
    let text: String = redis::from_redis_value(reply).unwrap_or_default();
    let id = text.lines().find_map(|line| line.strip_prefix("run_id:"));
    Ok(id.unwrap_or_default().trim().to_owned())
}
