//! Proposing declarations for a database that keyrack did not write.
//!
//! A first walk takes down names, types and TTLs; [`shape`] groups the names; a second look reads some keys of each
//! group, and [`guess`] says how their values seem to be written; [`declare`] puts it all into a keys file.

mod declare;
mod guess;
mod shape;

use std::collections::{BTreeMap, HashSet};
use std::pin::pin;

use futures_util::TryStreamExt;
use keyrack_keys::{Family, Registry};
use keyrack_store::{Error, Keyspace, Store};
use redis::{Pipeline, Value};
use serde::Serialize;

pub use declare::{declarations, more_declarations};
pub use guess::{ContentShape, Guess};
pub use shape::{Kind, Piece, Shape};

use crate::finding::printable;
use crate::lint::Progress;
use crate::recognise::Recogniser;
use crate::walk::{WalkRate, walk_keys};

/// What to look at.
#[derive(Clone, Copy, Debug)]
pub struct InferOptions {
    /// Also keys that are declared already.
    pub all: bool,
    /// The most keys whose names are taken down; they are kept in memory.
    pub keys_max: usize,
    /// How many keys of each group are read.
    pub samples: usize,
    /// How fast to walk.
    pub pace: WalkRate,
}

impl Default for InferOptions {
    fn default() -> Self {
        Self { all: false, keys_max: 1_000_000, samples: 100, pace: WalkRate::default() }
    }
}

/// What a database seems to hold.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Inference {
    /// Keys met.
    pub keys: u64,
    /// Keys that are declared already and were left out.
    pub declared: u64,
    /// Whether the walk ended early because there were too many keys.
    pub truncated: bool,
    /// Keys whose names cannot stand in a declaration, and one of them.
    pub undeclarable: u64,
    /// One of those.
    pub undeclarable_example: Option<String>,
    /// What the others seem to be, by shape.
    pub proposals: Vec<Proposal>,
}

/// A family that the database seems to have.
#[derive(Clone, Debug, Serialize)]
pub struct Proposal {
    /// What the names look like.
    pub shape: Shape,
    /// Keys of this shape.
    pub keys: u64,
    /// How many of them have each type; the first is the most common.
    pub types: Vec<(String, u64)>,
    /// Keys that expire.
    pub expiring: u64,
    /// The longest time any of them has left, in seconds.
    pub ttl_s_max: Option<u64>,
    /// The databases they lie in.
    pub databases: Vec<i64>,
    /// What keys of the most common type hold.
    pub held: ContentShape,
    /// One of them.
    pub example: String,
}

/// What values may name of a shape: keys with one id.
fn target(shape: &Shape, members: &[usize], keys: &[SampledKey]) -> Option<guess::Target> {
    let word = shape.only_part(&keys[*members.first()?].name)?.0.to_owned();
    let ids = members.iter().filter_map(|&i| shape.only_part(&keys[i].name));
    let ids = ids.map(|(_, id)| id.to_owned()).collect();
    Some(guess::Target { template: shape.template(), word, ids })
}

/// Groups names, given with their types, by shape: its template, and the positions of its names.
pub(crate) fn group_names(names: &[(&str, &str)]) -> Vec<(String, Vec<usize>)> {
    let groups = shape::group(names);
    groups.into_iter().map(|(shape, members)| (shape.template(), members)).collect()
}

/// A key as the first walk saw it.
#[derive(Clone, Debug)]
struct SampledKey {
    name: String,
    kind: String,
    ttl_ms: Option<u64>,
    /// Which keyspace it was met in.
    keyspace: usize,
}

/// Walks a store and proposes declarations for what it holds.
///
/// # Errors
/// When the store cannot be reached.
pub async fn infer(
    store: &Store,
    registry: &Registry,
    options: &InferOptions,
    progress: impl Fn(Progress),
) -> Result<Inference, Error> {
    let keyspaces = store.keyspaces().await?;
    let mut inference = Inference::default();
    let recogniser = Recogniser::new(store, registry).await?;
    let mut known = DeclaredShapes { registry, recogniser, ids: BTreeMap::new(), n_ids: 0 };
    let keys = take_down(&keyspaces, &mut known, options, &mut inference, progress).await?;
    let names: Vec<(&str, &str)> =
        keys.iter().map(|met| (met.name.as_str(), met.kind.as_str())).collect();
    let groups = shape::group(&names);
    let found = groups.iter().filter_map(|(shape, members)| target(shape, members, &keys));
    let targets: Vec<guess::Target> = found.chain(known.targets()).collect();
    for (shape, members) in groups {
        let mut members: Vec<&SampledKey> = members.into_iter().map(|i| &keys[i]).collect();
        members.sort_by(|a, b| (&a.name, a.keyspace).cmp(&(&b.name, b.keyspace)));
        inference.proposals.push(propose(&keyspaces, options, shape, &members, &targets).await?);
    }
    Ok(inference)
}

/// What is declared already.
struct DeclaredShapes<'a> {
    registry: &'a Registry,
    recogniser: Recogniser,
    /// The ids of keys with one part, by template, and what the part is called: other keys may name them.
    ids: BTreeMap<&'static str, (&'static str, HashSet<String>)>,
    n_ids: usize,
}

impl DeclaredShapes<'_> {
    /// The declared families that these keys belong to.
    async fn families(
        &self,
        keyspace: &Keyspace,
        keys: &[Vec<u8>],
    ) -> Result<Vec<Option<&'static Family>>, Error> {
        let names: Vec<_> = keys
            .iter()
            .map(|raw| (raw.as_slice(), self.registry.family_of(raw).map(|(family, _)| family)))
            .collect();
        let ask = async |pipeline: &Pipeline| keyspace.pipeline(pipeline).await;
        self.recogniser.belong(self.registry, keyspace.db(), &names, ask).await
    }
}

/// The first walk: names, types and TTLs.
async fn take_down(
    keyspaces: &[Keyspace],
    known: &mut DeclaredShapes<'_>,
    options: &InferOptions,
    inference: &mut Inference,
    progress: impl Fn(Progress),
) -> Result<Vec<SampledKey>, Error> {
    let keys_total = keyspaces.iter().map(Keyspace::keys).sum();
    let mut keys = Vec::new();
    for (at, keyspace) in keyspaces.iter().enumerate() {
        let mut batches = pin!(walk_keys(keyspace, None, options.pace));
        while let Some(batch) = batches.try_next().await? {
            if keys.len() >= options.keys_max {
                inference.truncated = true;
                return Ok(keys);
            }
            inference.keys += batch.len() as u64;
            let families = known.families(keyspace, &batch).await?;
            known.note(&batch, &families, options.keys_max);
            let batch: Vec<String> = batch
                .into_iter()
                .zip(families)
                .filter_map(|(raw, family)| inference.sort_out(options, raw, family))
                .collect();
            keys.extend(meet(keyspace, at, batch).await?);
            progress(Progress { keys: inference.keys, keys_total });
        }
    }
    Ok(keys)
}

impl DeclaredShapes<'_> {
    /// Takes down the ids of declared keys, at most so many. What is secret is not looked at.
    fn note(&mut self, keys: &[Vec<u8>], families: &[Option<&'static Family>], max: usize) {
        for (raw, family) in keys.iter().zip(families) {
            let Some(family) = family.filter(|family| !family.has_secrets()) else { continue };
            let ([slot], true) = (family.parts, self.n_ids < max) else { continue };
            let Some(id) =
                self.registry.parse(raw).and_then(|parsed| parsed.parts.into_iter().next())
            else {
                continue;
            };
            let (_, ids) = self.ids.entry(family.template).or_insert((slot.name, HashSet::new()));
            self.n_ids += usize::from(ids.insert(id));
        }
    }

    fn targets(&self) -> impl Iterator<Item = guess::Target> + '_ {
        self.ids.iter().map(|(template, (word, ids))| guess::Target {
            template: (*template).to_owned(),
            word: (*word).to_owned(),
            ids: ids.clone(),
        })
    }
}

impl Inference {
    /// The name, unless it is declared already or could not be. What is secret is never an example.
    fn sort_out(
        &mut self,
        options: &InferOptions,
        raw: Vec<u8>,
        declared: Option<&Family>,
    ) -> Option<String> {
        if declared.is_some_and(|family| !options.all || family.has_secrets()) {
            self.declared += 1;
            return None;
        }
        let can_stand = !raw.is_empty() && raw.iter().all(|&byte| shape::can_stand(byte));
        let name = match String::from_utf8(raw) {
            Ok(name) if can_stand => return Some(name),
            Ok(name) => printable(name.as_bytes()),
            Err(error) => printable(error.as_bytes()),
        };
        if self.undeclarable_example.as_ref().is_none_or(|example| name < *example) {
            self.undeclarable_example = Some(name);
        }
        self.undeclarable += 1;
        None
    }
}

async fn meet(
    keyspace: &Keyspace,
    at: usize,
    names: Vec<String>,
) -> Result<Vec<SampledKey>, Error> {
    let mut pipeline = Pipeline::with_capacity(names.len() * 2);
    for name in &names {
        pipeline.cmd("TYPE").arg(name).cmd("PTTL").arg(name);
    }
    let mut replies = keyspace.pipeline(&pipeline).await?.into_iter();
    let mut met = Vec::with_capacity(names.len());
    for name in names {
        let kind = replies.next().unwrap_or(Value::Nil).extract_error()?;
        let ttl = replies.next().unwrap_or(Value::Nil).extract_error()?;
        let (Value::SimpleString(kind), Value::Int(ttl)) = (kind, ttl) else { continue };
        if kind != "none" && ttl != -2 {
            met.push(SampledKey { name, kind, ttl_ms: u64::try_from(ttl).ok(), keyspace: at });
        }
    }
    Ok(met)
}

async fn propose(
    keyspaces: &[Keyspace],
    options: &InferOptions,
    shape: Shape,
    members: &[&SampledKey],
    targets: &[guess::Target],
) -> Result<Proposal, Error> {
    let mut types: BTreeMap<&str, u64> = BTreeMap::new();
    for met in members {
        *types.entry(&met.kind).or_default() += 1;
    }
    let mut types: Vec<(String, u64)> =
        types.into_iter().map(|(kind, n)| (kind.to_owned(), n)).collect();
    types.sort_by_key(|(_, n)| std::cmp::Reverse(*n));
    let mut databases: Vec<i64> = members.iter().map(|met| keyspaces[met.keyspace].db()).collect();
    databases.sort_unstable();
    databases.dedup();
    let ttls = members.iter().filter_map(|met| met.ttl_ms);
    let common: Vec<&SampledKey> =
        members.iter().copied().filter(|met| met.kind == types[0].0).collect();
    Ok(Proposal {
        held: hold(keyspaces, options, &types[0].0, shape.last_word(), &common, targets).await?,
        example: common[0].name.clone(),
        keys: members.len() as u64,
        expiring: ttls.clone().count() as u64,
        ttl_s_max: ttls.max().map(|ms| ms.div_ceil(1_000)),
        shape,
        types,
        databases,
    })
}

/// The second look: reads keys evenly spread over the group.
async fn hold(
    keyspaces: &[Keyspace],
    options: &InferOptions,
    kind: &str,
    name: &str,
    members: &[&SampledKey],
    targets: &[guess::Target],
) -> Result<ContentShape, Error> {
    let step = members.len().div_ceil(options.samples.max(1)).max(1);
    let mut held = guess::Evidence::new(kind);
    for (at, keyspace) in keyspaces.iter().enumerate() {
        let mut pipeline = Pipeline::new();
        for met in members.iter().step_by(step).filter(|met| met.keyspace == at) {
            guess::read(&mut pipeline, kind, &met.name);
        }
        if !pipeline.is_empty() {
            for reply in keyspace.pipeline(&pipeline).await? {
                held.add(reply);
            }
        }
    }
    Ok(held.finish(name, targets))
}
