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

use keyrack_keys::Family;
use keyrack_store::{Kind, Store};
use tokio::sync::watch;

/// How old a result may be.
const AGE_MAX: Duration = Duration::from_secs(10);
/// How long a page waits for a first result before it is shown without.
const PATIENCE: Duration = Duration::from_millis(400);
/// How many keys a walk looks at; the rest is estimated.
const KEYS_MAX: u64 = 200_000;
/// Keys per step; a step takes well under a millisecond of the store's time.
const STEP_KEYS: u64 = 500;
/// Pause between steps, so that others come first.
const STEP_PAUSE: Duration = Duration::from_millis(1);

/// Counts the keys of each family, now and then.
#[derive(Debug)]
pub(crate) struct Census {
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
pub(crate) struct Counts {
    /// Keys in the database, as the store tells it.
    pub(crate) total: u64,
    /// Whether every key was looked at; otherwise the numbers are estimates.
    pub(crate) exact: bool,
    /// By the address of the family, which is where the registry keeps it for good.
    families: HashMap<usize, u64>,
    /// Keys that no family declares.
    pub(crate) undeclared: u64,
    at: Instant,
}

impl Census {
    pub(crate) fn new(store: Store) -> Census {
        let shared = Shared { store, latest: watch::Sender::new(None), walking: false.into() };
        Census { shared: Arc::new(shared) }
    }

    /// The latest result, made anew if it is old and that does not take long; `None` if there is none yet.
    ///
    /// On a cluster there is none: a walk would have to visit each node.
    pub(crate) async fn latest(&self) -> Option<Arc<Counts>> {
        if self.shared.store.kind() == Kind::Cluster {
            return None;
        }
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
        let _ = tokio::time::timeout(PATIENCE, results.changed()).await;
        let latest = results.borrow().clone();
        latest
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

async fn walk(store: &Store, keys_max: u64) -> Result<Counts, redis::RedisError> {
    let mut connection = store.connection();
    let total: u64 = redis::cmd("DBSIZE").query_async(&mut connection).await?;
    let registry = keyrack_contract::registry();
    let (mut families, mut undeclared) = (HashMap::new(), 0);
    let (mut cursor, mut seen) = (0_u64, 0_u64);
    loop {
        let mut scan = redis::cmd("SCAN");
        scan.arg(cursor).arg("COUNT").arg(STEP_KEYS);
        let (next, keys): (u64, Vec<Vec<u8>>) = scan.query_async(&mut connection).await?;
        for key in &keys {
            match registry.family_of(key) {
                Some((family, _)) => *families.entry(address(family)).or_insert(0) += 1,
                None => undeclared += 1,
            }
        }
        seen += keys.len() as u64;
        cursor = next;
        if cursor == 0 || seen >= keys_max {
            break;
        }
        tokio::time::sleep(STEP_PAUSE).await;
    }
    let mut counts = Counts { total, exact: cursor == 0, families, undeclared, at: Instant::now() };
    if !counts.exact {
        counts.scale(seen);
    }
    Ok(counts)
}

fn address(family: &'static Family) -> usize {
    std::ptr::from_ref(family).addr()
}

impl Counts {
    /// Keys of a family.
    pub(crate) fn of(&self, family: &'static Family) -> u64 {
        self.families.get(&address(family)).copied().unwrap_or(0)
    }

    /// Estimates the whole from the `seen` keys.
    fn scale(&mut self, seen: u64) {
        let factor = self.total as f64 / seen.max(1) as f64;
        let scaled = |n: u64| (n as f64 * factor).round() as u64;
        for n in self.families.values_mut() {
            *n = scaled(*n);
        }
        self.undeclared = scaled(self.undeclared);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn store_with(n_each: u64) -> Store {
        let store = Store::open("embedded:memory").await.expect("a store in memory");
        let mut pipeline = redis::pipe();
        for i in 0..n_each {
            pipeline.cmd("SET").arg(format!("undeclared/{i}")).arg(1).ignore();
            pipeline.cmd("HSET").arg(format!("trace:u:bar:{i}")).arg("f").arg(1).ignore();
        }
        pipeline.exec_async(&mut store.connection()).await.expect("the keys are written");
        store
    }

    fn traces() -> &'static Family {
        keyrack_contract::registry().family_of(b"trace:u:bar:1").expect("a declared key").0
    }

    #[tokio::test]
    async fn whole_walk_counts_exactly() {
        let counts = walk(&store_with(1_000).await, KEYS_MAX).await.expect("a result");
        assert!(counts.exact);
        assert_eq!((counts.total, counts.of(traces()), counts.undeclared), (2_000, 1_000, 1_000));
    }

    #[tokio::test]
    async fn bounded_walk_estimates_the_rest() {
        let counts = walk(&store_with(5_000).await, 2_000).await.expect("a result");
        assert!(!counts.exact);
        assert_eq!(counts.total, 10_000);
        assert!((4_000..6_000).contains(&counts.of(traces())), "{}", counts.of(traces()));
    }

    #[tokio::test]
    async fn result_is_kept_for_a_while() {
        let store = store_with(1).await;
        let census = Census::new(store.clone());
        assert_eq!(census.latest().await.expect("a result").total, 2);
        let more = redis::cmd("SET").arg("more").arg(1).exec_async(&mut store.connection()).await;
        more.expect("the key is written");
        assert_eq!(census.latest().await.expect("a result").total, 2);
    }
}
