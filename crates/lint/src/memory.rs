//! What takes the memory of a store: keys by family, and by shape of name where nobody declares them.
//!
//! All names are met. Memory, TTL and idle time are asked for every key, or for a sample, and the error of what is
//! estimated from it is told with it. The sample has some keys of every family and shape: those with few keys often have
//! the largest.

mod first;
mod spread;

use std::collections::BTreeMap;
use std::num::NonZeroU64;
use std::pin::pin;

use futures_util::TryStreamExt;
use keyrack_keys::{Family, Registry};
use keyrack_store::{Error, Keyspace, Store};
use redis::{Pipeline, Value};
use serde::Serialize;

pub use spread::{Measure, Spread};

use self::first::FirstKeys;

use crate::finding::printable;
use crate::infer::group_names;
use crate::lint::{Progress, is_chosen};
use crate::recognise::Recogniser;
use crate::walk::{WalkRate, walk_keys};

/// What to measure, and how fast.
#[derive(Clone, Copy, Debug)]
pub struct MemoryOptions {
    /// Measure one key of so many, and the first of each family and shape.
    pub sample: NonZeroU64,
    /// How fast to walk.
    pub pace: WalkRate,
}

impl Default for MemoryOptions {
    fn default() -> Self {
        Self { sample: NonZeroU64::MIN, pace: WalkRate::default() }
    }
}

/// What the keys of a store take.
#[derive(Clone, Debug, Default, Serialize)]
pub struct MemoryReport {
    /// All keys together.
    pub total: Measure,
    /// The keys of each family and shape, the largest first.
    pub groups: Vec<MemoryGroup>,
}

/// Keys that belong together.
#[derive(Clone, Debug, Serialize)]
pub struct MemoryGroup {
    /// The id of the family, or the shape of names that nobody declares.
    pub name: String,
    /// Is it a declared family?
    pub declared: bool,
    /// What its keys take.
    #[serde(flatten)]
    pub measure: Measure,
}

/// Undeclared names that are kept to be grouped; more of them are one group.
const NAMES_MAX: usize = 100_000;

/// What stands for undeclared keys beyond those that are kept.
const OTHERS: &str = "other keys of no declared family";

/// Batches in the works at once.
const BATCHES: usize = 3;

/// Measures the keys of a store; tells how far it has come after each batch.
///
/// # Errors
/// When the store cannot be reached, or refuses to tell what a key takes.
pub async fn memory(
    store: &Store,
    registry: &Registry,
    options: &MemoryOptions,
    progress: impl Fn(Progress),
) -> Result<MemoryReport, Error> {
    let keyspaces = store.keyspaces().await?;
    let keys_total = keyspaces.iter().map(Keyspace::keys).sum();
    let recogniser = Recogniser::new(store, registry).await?;
    let (mut keys, mut groups) = (0, Groups::default());
    let first = FirstKeys::default();
    for keyspace in &keyspaces {
        let sample = options.sample;
        let walk = Walk { keyspace, registry, recogniser: &recogniser, sample, first: &first };
        let batches = walk_keys(keyspace, None, options.pace);
        let mut met = pin!(batches.map_ok(|keys| walk.measure(keys)).try_buffer_unordered(BATCHES));
        while let Some(batch) = met.try_next().await? {
            keys += batch.len() as u64;
            for met in batch {
                groups.add(met);
            }
            progress(Progress { keys, keys_total });
        }
    }
    Ok(groups.finish())
}

/// A key that was met.
struct MetKey {
    family: Option<&'static Family>,
    raw: Vec<u8>,
    seen: Option<KeyMeasure>,
}

/// What a key takes.
#[derive(Clone, Copy)]
struct KeyMeasure {
    bytes: u64,
    ttl_ms: Option<u64>,
    /// Not kept by every server.
    idle_s: Option<u64>,
}

#[derive(Clone, Copy)]
struct Walk<'a> {
    keyspace: &'a Keyspace,
    registry: &'a Registry,
    recogniser: &'a Recogniser,
    sample: NonZeroU64,
    first: &'a FirstKeys,
}

impl Walk<'_> {
    async fn measure(self, keys: Vec<Vec<u8>>) -> Result<Vec<MetKey>, Error> {
        let families = {
            let family = |raw: &[u8]| self.registry.family_of(raw).map(|(family, _)| family);
            let names: Vec<_> = keys.iter().map(|raw| (raw.as_slice(), family(raw))).collect();
            let ask = async |pipeline: &Pipeline| self.keyspace.pipeline(pipeline).await;
            self.recogniser.belong(self.registry, self.keyspace.db(), &names, ask).await?
        };
        let is_measured = |&i: &usize| {
            is_chosen(&keys[i], self.sample) || self.first.takes(&keys[i], families[i])
        };
        let chosen: Vec<usize> = (0..keys.len()).filter(is_measured).collect();
        let mut met: Vec<MetKey> = keys
            .into_iter()
            .zip(families)
            .map(|(raw, family)| MetKey { family, raw, seen: None })
            .collect();
        if chosen.is_empty() {
            return Ok(met);
        }
        let mut pipeline = Pipeline::with_capacity(chosen.len() * 3);
        for &i in &chosen {
            // Idle time first: what follows could touch the key.
            pipeline.cmd("OBJECT").arg("IDLETIME").arg(&met[i].raw);
            pipeline.cmd("MEMORY").arg("USAGE").arg(&met[i].raw);
            pipeline.cmd("PTTL").arg(&met[i].raw);
        }
        let mut replies = self.keyspace.pipeline(&pipeline).await?.into_iter();
        let mut next = || replies.next().unwrap_or(Value::Nil);
        let mut gone = Vec::new();
        for &i in &chosen {
            let (idle, bytes, ttl) = (next(), next(), next());
            met[i].seen = key_measure(idle, bytes, ttl)?;
            if met[i].seen.is_none() {
                gone.push(i);
            }
        }
        for i in gone.into_iter().rev() {
            met.swap_remove(i);
        }
        Ok(met)
    }
}

/// `None` for a key that has gone meanwhile.
fn key_measure(idle: Value, bytes: Value, ttl: Value) -> Result<Option<KeyMeasure>, Error> {
    let number = |value: Value| match value {
        Value::Int(number) => u64::try_from(number).ok(),
        _ => None,
    };
    let ttl = ttl.extract_error()?;
    let gone = matches!(ttl, Value::Int(-2));
    let Some(bytes) = number(bytes.extract_error()?).filter(|_| !gone) else { return Ok(None) };
    // A server that counts how often keys are used keeps no idle time, and says so by an error.
    Ok(Some(KeyMeasure { bytes, ttl_ms: number(ttl), idle_s: number(idle) }))
}

#[derive(Default)]
struct Groups {
    declared: BTreeMap<String, Measure>,
    undeclared: Vec<MetKey>,
    others: Measure,
    total: Measure,
}

impl Groups {
    fn add(&mut self, met: MetKey) {
        let is_secret = met.family.is_some_and(|family| family.secret);
        let name = if is_secret { "(secret)".to_owned() } else { printable(&met.raw) };
        self.total.add(&name, met.seen);
        match met.family {
            Some(family) => match self.declared.get_mut(&family.id()) {
                Some(measure) => measure.add(&name, met.seen),
                None => {
                    let mut measure = Measure::default();
                    measure.add(&name, met.seen);
                    self.declared.insert(family.id(), measure);
                }
            },
            None if self.undeclared.len() < NAMES_MAX => self.undeclared.push(met),
            None => self.others.add(&name, met.seen),
        }
    }

    fn finish(self) -> MemoryReport {
        let mut groups: Vec<MemoryGroup> = self
            .declared
            .into_iter()
            .map(|(name, measure)| MemoryGroup { name, declared: true, measure })
            .collect();
        let names: Vec<String> = self.undeclared.iter().map(|met| printable(&met.raw)).collect();
        let rows: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), "")).collect();
        for (name, members) in group_names(&rows) {
            let mut measure = Measure::default();
            for i in members {
                measure.add(&names[i], self.undeclared[i].seen);
            }
            groups.push(MemoryGroup { name, declared: false, measure });
        }
        if self.others.keys > 0 {
            groups.push(MemoryGroup {
                name: OTHERS.to_owned(),
                declared: false,
                measure: self.others,
            });
        }
        groups.sort_by(|a, b| {
            (b.measure.bytes().unwrap_or(0), &a.name)
                .cmp(&(a.measure.bytes().unwrap_or(0), &b.name))
        });
        let mut total = self.total;
        total.sum_up(groups.iter().map(|group| &group.measure));
        MemoryReport { total, groups }
    }
}
