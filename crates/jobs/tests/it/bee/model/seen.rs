//! What stands in the store: every key, taken apart by its declaration.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::LazyLock,
};

use keyrack_jobs::bee::keys;
use keyrack_keys::{Content, Registry};
use keyrack_store::Store;

/// Every key of the Bee queue.
pub(super) static REGISTRY: LazyLock<Registry> = LazyLock::new(|| Registry::new(&[keys::FAMILIES]));

/// Scores are compared as numbers, but have to be equal to the last bit.
pub(super) type Scores = BTreeMap<String, f64>;

/// The whole keyspace, by family and by the parts of the key.
#[derive(Debug, Default)]
pub(super) struct Seen {
    pub(super) jobs: BTreeMap<String, SeenJob>,
    sorted_sets: BTreeMap<(&'static str, Vec<String>), Scores>,
    sets: BTreeMap<(&'static str, Vec<String>), BTreeSet<String>>,
    maps: BTreeMap<(&'static str, Vec<String>), BTreeMap<String, String>>,
    lists: BTreeMap<(&'static str, Vec<String>), Vec<String>>,
    strings: BTreeMap<(&'static str, Vec<String>), String>,
}

/// One job's hash.
#[derive(Debug)]
pub(super) struct SeenJob {
    fields: HashMap<String, String>,
    pub(super) history: Vec<Entry>,
    /// Milliseconds until it is gone.
    pub(super) pttl: Option<u64>,
}

impl SeenJob {
    pub(super) fn text(&self, field: &str) -> &str {
        self.fields.get(field).map_or("", String::as_str)
    }

    pub(super) fn number(&self, field: &str) -> u64 {
        self.fields.get(field).map_or(0, |text| text.parse().expect("a number"))
    }

    pub(super) fn list(&self, field: &str) -> Vec<String> {
        serde_json::from_str(self.text(field)).unwrap_or_default()
    }
}

/// What happened to a job, as far as it is looked at here.
#[derive(Debug, serde::Deserialize)]
pub(super) struct Entry {
    pub(super) event: String,
    pub(super) timestamp: u64,
}

impl Seen {
    /// Reads all keys. A key that no declaration knows is an error.
    pub(super) async fn read(store: &Store) -> Result<Seen, String> {
        let mut connection = store.connection();
        let names: Vec<String> = redis::cmd("KEYS")
            .arg("*")
            .query_async(&mut connection)
            .await
            .map_err(|error| error.to_string())?;
        let mut parsed = Vec::with_capacity(names.len());
        let mut pipeline = redis::pipe();
        for name in &names {
            let key = REGISTRY.parse(name.as_bytes());
            let key = key.ok_or_else(|| format!("nothing declares the key \"{name}\""))?;
            match key.family.content {
                Content::SortedSet { .. } => {
                    pipeline.cmd("ZRANGE").arg(name).arg(0).arg(-1).arg("WITHSCORES")
                }
                Content::Set(_) => pipeline.cmd("SMEMBERS").arg(name),
                Content::Hash(_) | Content::Map { .. } => pipeline.cmd("HGETALL").arg(name),
                Content::List(_) => pipeline.cmd("LRANGE").arg(name).arg(0).arg(-1),
                _ => pipeline.cmd("GET").arg(name),
            };
            pipeline.cmd("PTTL").arg(name);
            parsed.push(key);
        }
        let replies: Vec<redis::Value> =
            pipeline.query_async(&mut connection).await.map_err(|error| error.to_string())?;
        let mut seen = Seen::default();
        for (key, reply) in parsed.into_iter().zip(replies.chunks_exact(2)) {
            seen.add(key, reply[0].clone(), reply[1].clone()).map_err(|error| error.to_string())?;
        }
        Ok(seen)
    }

    fn add(
        &mut self,
        key: keyrack_keys::Parsed,
        value: redis::Value,
        pttl: redis::Value,
    ) -> redis::RedisResult<()> {
        use redis::from_redis_value as read;
        let id = (key.family.name, key.parts);
        match key.family.content {
            Content::Hash(_) => {
                let pttl = u64::try_from(read::<i64>(pttl)?).ok();
                let fields: HashMap<String, String> = read(value)?;
                let history = serde_json::from_str(&fields["history"]).expect("a history");
                let job = SeenJob { fields, history, pttl };
                self.jobs.insert(id.1.concat(), job);
            }
            Content::SortedSet { .. } => {
                let pairs: Vec<(String, f64)> = read(value)?;
                self.sorted_sets.insert(id, pairs.into_iter().collect());
            }
            Content::Set(_) => {
                self.sets.insert(id, read(value)?);
            }
            Content::Map { .. } => {
                self.maps.insert(id, read(value)?);
            }
            Content::List(_) => {
                self.lists.insert(id, read(value)?);
            }
            _ => {
                self.strings.insert(id, read(value)?);
            }
        }
        Ok(())
    }

    /// The sorted set of a queue.
    pub(super) fn scores(&self, family: &'static str, queue: &str) -> Scores {
        self.sorted_sets.get(&(family, vec![queue.into()])).cloned().unwrap_or_default()
    }

    /// Whether a job stands in the list of a limit.
    pub(super) fn is_held_by(&self, jid: &str, queue: &str, limit: &str) -> bool {
        let held = self.sorted_sets.get(&("limit_held", vec![queue.into(), limit.into()]));
        held.is_some_and(|jobs| jobs.contains_key(jid))
    }

    /// The members of a queue's sorted set, first to run first.
    pub(super) fn in_order(&self, family: &'static str, queue: &str) -> Vec<String> {
        let mut members: Vec<(String, f64)> = self.scores(family, queue).into_iter().collect();
        members.sort_by(|a, b| a.1.total_cmp(&b.1).then_with(|| a.0.cmp(&b.0)));
        members.into_iter().map(|(jid, _)| jid).collect()
    }

    /// The jobs that stand in a queue, first to run first: by score, then by rank, then by id.
    pub(super) fn standing(&self, queue: &str) -> Vec<String> {
        let ranks = self.ranks(queue);
        let rank = |jid: &str| ranks.get(jid).map_or(11.0, |(rank, _)| *rank);
        let mut jobs: Vec<(String, f64)> = self.scores("queue", queue).into_iter().collect();
        jobs.sort_by(|a, b| {
            let by_rank = || rank(&a.0).total_cmp(&rank(&b.0));
            a.1.total_cmp(&b.1).then_with(by_rank).then_with(|| a.0.cmp(&b.0))
        });
        jobs.into_iter().map(|(jid, _)| jid).collect()
    }

    /// The ranked jobs of a queue: the rank of each, and its score.
    pub(super) fn ranks(&self, queue: &str) -> BTreeMap<String, (f64, f64)> {
        let ranked = self.scores("ranked", queue).into_iter().map(|(member, score)| {
            let (rank, jid) = member.split_once(':').expect("a rank and a job");
            (jid.to_owned(), (rank.parse().expect("a number"), score))
        });
        ranked.collect()
    }

    /// The parked jobs of a queue, by tenant.
    pub(super) fn parked(&self, queue: &str) -> BTreeMap<String, BTreeSet<String>> {
        let parked = self.sorted_sets.iter().filter(|((family, parts), _)| {
            *family == "parked" && parts.first().is_some_and(|name| name == queue)
        });
        parked
            .map(|((_, parts), jobs)| (parts[1].clone(), jobs.keys().cloned().collect()))
            .collect()
    }

    /// All sets of a family, by the parts of their keys.
    pub(super) fn sets_of(&self, family: &'static str) -> BTreeMap<Vec<String>, BTreeSet<String>> {
        of(&self.sets, family)
    }

    pub(super) fn lists_of(&self, family: &'static str) -> BTreeMap<Vec<String>, Vec<String>> {
        of(&self.lists, family)
    }

    pub(super) fn strings_of(&self, family: &'static str) -> BTreeMap<Vec<String>, String> {
        of(&self.strings, family)
    }

    /// The hash of a queue.
    pub(super) fn map(&self, family: &'static str, queue: &str) -> BTreeMap<String, String> {
        self.maps.get(&(family, vec![queue.into()])).cloned().unwrap_or_default()
    }

    /// The families that have keys.
    pub(super) fn families(&self) -> BTreeSet<&'static str> {
        let mut families: BTreeSet<&'static str> = BTreeSet::new();
        families.extend(self.sorted_sets.keys().map(|key| key.0));
        families.extend(self.sets.keys().map(|key| key.0));
        families.extend(self.maps.keys().map(|key| key.0));
        families.extend(self.lists.keys().map(|key| key.0));
        families.extend(self.strings.keys().map(|key| key.0));
        families.extend(self.jobs.keys().map(|_| "job"));
        families
    }
}

fn of<T: Clone>(
    all: &BTreeMap<(&'static str, Vec<String>), T>,
    family: &'static str,
) -> BTreeMap<Vec<String>, T> {
    let mine = all.range((family, Vec::new())..).take_while(|((name, _), _)| *name == family);
    mine.map(|((_, parts), value)| (parts.clone(), value.clone())).collect()
}
