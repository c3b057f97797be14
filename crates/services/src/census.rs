//! How many keys of each family there are, found by looking at some or all of them.
//!
//! Redis cannot tell, so the keys have to be walked. That must not be a burden: at most one walk at a time, in small
//! steps with pauses, over a bounded number of keys, and its result is kept for some seconds. SCAN visits keys in the
//! order of their hashes, so the keys it has seen so far are a fair sample of the rest.

use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use keyrack_format as format;
use keyrack_keys::{Database, Family};
use keyrack_lint::Recogniser;
use keyrack_store::{Error, Keyspace, Kind, Store};
use redis::aio::ConnectionLike as _;
use tokio::sync::watch;

/// How old a result may be.
const AGE_MAX: Duration = Duration::from_secs(10);
/// How long a page waits for a first result before it is shown without.
const PATIENCE: Duration = Duration::from_millis(400);
/// How many keys a walk looks at; the rest is estimated.
const KEYS_MAX: u64 = 200_000;
/// On a server each database takes a connection of its own; with more than this, only the main one is walked.
const DATABASES_MAX: usize = 8;
/// Keys per step; a step takes well under a millisecond of the store's time.
const STEP_KEYS: u64 = 500;
/// Keys of each family whose memory is asked for.
const MEASURED_MAX: u64 = 20;
/// Pause between steps, so that others come first.
const STEP_PAUSE: Duration = Duration::from_millis(1);

/// Counts the keys of each family, now and then.
#[derive(Debug)]
pub struct Census {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    store: Store,
    latest: watch::Sender<Option<Arc<Counts>>>,
    walking: AtomicBool,
}

/// What a walk found.
#[derive(Debug)]
pub struct Counts {
    /// Whether every key was looked at; otherwise the numbers are estimates.
    pub exact: bool,
    /// Whether there are databases that were not walked.
    partial: bool,
    /// By the address of the family, which is where the registry keeps it for good.
    families: HashMap<usize, u64>,
    /// The same: keys whose memory was asked for, and how much it was.
    measured: HashMap<usize, (u64, u64)>,
    /// Keys that no family declares.
    pub undeclared: u64,
    at: Instant,
}

impl Census {
    /// A census of a store, which has counted nothing yet.
    pub fn new(store: Store) -> Census {
        let shared = Shared { store, latest: watch::Sender::new(None), walking: false.into() };
        Census { shared: Arc::new(shared) }
    }

    /// The latest result, however old.
    pub fn known(&self) -> Option<Arc<Counts>> {
        self.shared.latest.borrow().clone()
    }

    /// The latest result, made anew if it is old and that does not take long; `None` if there is none yet.
    pub async fn latest(&self) -> Option<Arc<Counts>> {
        self.latest_within(PATIENCE).await
    }

    /// The same, with another time to wait for a new result.
    pub async fn latest_within(&self, patience: Duration) -> Option<Arc<Counts>> {
        let mut results = self.shared.latest.subscribe();
        let latest = results.borrow_and_update().clone();
        if latest.as_ref().is_some_and(|counts| counts.at.elapsed() < AGE_MAX) {
            return latest;
        }
        if !self.shared.walking.swap(true, Ordering::AcqRel) {
            let shared = self.shared.clone();
            tokio::spawn(async move { shared.walk().await });
        }
        // Too long, or failed: what was known before is better than nothing.
        let _ = tokio::time::timeout(patience, results.changed()).await;
        results.borrow().clone()
    }
}

impl Shared {
    async fn walk(&self) {
        // Also when the walk ends in a panic, or there would never be another one.
        let _walking = Walking(&self.walking);
        match walk(&self.store, KEYS_MAX).await {
            Ok(counts) => drop(self.latest.send_replace(Some(Arc::new(counts)))),
            Err(error) => tracing::warn!(%error, "could not count the keys of each family"),
        }
    }
}

struct Walking<'a>(&'a AtomicBool);

impl Drop for Walking<'_> {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Release);
    }
}

/// A part of the store to walk.
enum Part {
    /// The database that the store looks at.
    Main(Store),
    Keyspace(Keyspace),
}

impl Part {
    async fn scan(&self, cursor: u64) -> Result<(u64, Vec<Vec<u8>>), Error> {
        match self {
            Part::Keyspace(keyspace) => keyspace.scan(cursor, None, STEP_KEYS as usize).await,
            Part::Main(store) => {
                let mut scan = redis::cmd("SCAN");
                scan.arg(cursor).arg("COUNT").arg(STEP_KEYS);
                Ok(scan.query_async(&mut store.connection()).await?)
            }
        }
    }

    /// The memory of each key, unless it is gone.
    async fn memory(&self, keys: &[&Vec<u8>]) -> Result<Vec<Option<u64>>, Error> {
        let mut usages = redis::pipe();
        for key in keys {
            usages.cmd("MEMORY").arg("USAGE").arg(key.as_slice());
        }
        match self {
            Part::Main(store) => Ok(usages.query_async(&mut store.connection()).await?),
            Part::Keyspace(keyspace) => {
                let replies = keyspace.pipeline(&usages).await?;
                Ok(replies.into_iter().map(|reply| redis::from_redis_value(reply).ok()).collect())
            }
        }
    }

    fn db(&self) -> i64 {
        match self {
            Part::Main(store) => store.db(),
            Part::Keyspace(keyspace) => keyspace.db(),
        }
    }

    async fn ask(&self, pipeline: &redis::Pipeline) -> Result<Vec<redis::Value>, Error> {
        match self {
            Part::Keyspace(keyspace) => keyspace.pipeline(pipeline).await,
            Part::Main(store) => {
                let mut connection = store.connection();
                Ok(connection.req_packed_commands(pipeline, 0, pipeline.len()).await?)
            }
        }
    }

    async fn size(&self) -> Result<u64, Error> {
        match self {
            Part::Keyspace(keyspace) => Ok(keyspace.keys()),
            Part::Main(store) => {
                Ok(redis::cmd("DBSIZE").query_async(&mut store.connection()).await?)
            }
        }
    }
}

/// What to walk, and whether that is all there is.
async fn parts(store: &Store) -> Result<(Vec<Part>, bool), Error> {
    let every_database = match store.kind() {
        Kind::Embedded | Kind::Cluster => true,
        Kind::Server | Kind::Sentinel => store.info().await?.databases.len() <= DATABASES_MAX,
    };
    if !every_database {
        return Ok((vec![Part::Main(store.clone())], false));
    }
    let keyspaces = store.keyspaces().await?;
    Ok((keyspaces.into_iter().map(Part::Keyspace).collect(), true))
}

async fn walk(store: &Store, keys_max: u64) -> Result<Counts, Error> {
    let (parts, whole) = parts(store).await?;
    let mut sizes = Vec::new();
    for part in &parts {
        sizes.push(part.size().await?);
    }
    let total: u64 = sizes.iter().sum();
    let recogniser = Recogniser::new(store, keyrack_contract::registry()).await?;
    let mut counts = Counts::new(!whole);
    for (part, size) in parts.iter().zip(sizes) {
        // Each part has its share of the keys that may be looked at.
        let share =
            if total <= keys_max { u64::MAX } else { keys_max.saturating_mul(size) / total };
        counts.walk(part, &recogniser, size, share).await?;
    }
    Ok(counts)
}

fn address(family: &'static Family) -> usize {
    std::ptr::from_ref(family).addr()
}

impl Counts {
    fn new(partial: bool) -> Counts {
        Counts {
            exact: true,
            partial,
            families: HashMap::new(),
            measured: HashMap::new(),
            undeclared: 0,
            at: Instant::now(),
        }
    }

    /// Keys of a family; `None` when they may lie in databases that were not walked.
    pub fn of(&self, family: &'static Family) -> Option<u64> {
        let is_known = !self.partial || family.database == Database::Main;
        is_known.then(|| self.families.get(&address(family)).copied().unwrap_or(0))
    }

    /// The memory that the keys of a family take, as far as those that were measured are like the others.
    pub fn bytes(&self, family: &'static Family) -> Option<u64> {
        let keys = self.of(family)?;
        let (measured, bytes) = self.measured.get(&address(family)).copied()?;
        Some((bytes as f64 / measured.max(1) as f64 * keys as f64) as u64)
    }

    /// Keys of a family, for people.
    pub fn shown(&self, family: &'static Family) -> Option<String> {
        self.of(family).map(|n| self.in_words(n))
    }

    /// A number of keys, for people: it says so when it is an estimate. None in the sample is told as none.
    pub fn in_words(&self, n: u64) -> String {
        if self.exact || n == 0 { format::count(n) } else { format::estimate(n) }
    }

    /// Adds the families of a part with `size` keys, of which at least `share` are looked at.
    async fn walk(
        &mut self,
        part: &Part,
        recogniser: &Recogniser,
        size: u64,
        share: u64,
    ) -> Result<(), Error> {
        let registry = keyrack_contract::registry();
        let (mut families, mut undeclared) = (HashMap::new(), 0);
        let (mut cursor, mut seen) = (0, 0);
        loop {
            let (next, keys) = part.scan(cursor).await?;
            let mut to_measure = Vec::new();
            let names: Vec<_> = keys
                .iter()
                .map(|key| (key.as_slice(), registry.family_of(key).map(|(family, _)| family)))
                .collect();
            let ask = async |pipeline: &redis::Pipeline| part.ask(pipeline).await;
            let belong = recogniser.belong(registry, part.db(), &names, ask).await?;
            for (key, family) in keys.iter().zip(belong) {
                let Some(family) = family else {
                    undeclared += 1;
                    continue;
                };
                let family = address(family);
                let n = families.entry(family).or_insert(0);
                *n += 1;
                if *n <= MEASURED_MAX {
                    to_measure.push((family, key));
                }
            }
            self.measure(part, &to_measure).await?;
            seen += keys.len() as u64;
            cursor = next;
            if cursor == 0 || seen >= share {
                break;
            }
            tokio::time::sleep(STEP_PAUSE).await;
        }
        let is_whole = cursor == 0;
        let factor = if is_whole { 1.0 } else { size as f64 / seen.max(1) as f64 };
        let scaled = |n: u64| (n as f64 * factor).round() as u64;
        for (family, n) in families {
            *self.families.entry(family).or_insert(0) += scaled(n);
        }
        self.undeclared += scaled(undeclared);
        self.exact &= is_whole;
        self.at = Instant::now();
        Ok(())
    }

    /// Asks what memory these keys take.
    async fn measure(&mut self, part: &Part, keys: &[(usize, &Vec<u8>)]) -> Result<(), Error> {
        if keys.is_empty() {
            return Ok(());
        }
        let names: Vec<&Vec<u8>> = keys.iter().map(|(_, key)| *key).collect();
        for ((family, _), bytes) in keys.iter().zip(part.memory(&names).await?) {
            // A key that has just gone takes none.
            if let Some(bytes) = bytes {
                let (measured, total) = self.measured.entry(*family).or_insert((0, 0));
                *measured += 1;
                *total += bytes;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
