//! What the tests have in common: a store, a folder of buckets, and a look into both.

use keyrack_engine::SimulatedHost;
use keyrack_files::{Buckets, File, Files, keys};
use keyrack_keys::Registry;
use keyrack_store::Store;
use keyrack_testkit::{on_every_store_at, simulated_store};
use tempfile::TempDir;

/// Some time in November 2026.
pub(crate) const NOW_MS: u64 = 1_794_709_387_250;
pub(crate) const NOW: f64 = 1_794_709_387.25;

/// A store, its clock, and a folder with the buckets `b` and `c`.
pub(crate) struct World {
    pub(crate) store: Store,
    pub(crate) clock: SimulatedHost,
    pub(crate) files: Files,
    pub(crate) buckets: Buckets,
    pub(crate) folder: TempDir,
}

impl World {
    fn new(store: Store, clock: SimulatedHost) -> World {
        let folder = TempDir::new().expect("a folder");
        for bucket in ["b", "c"] {
            std::fs::create_dir(folder.path().join(bucket)).expect("a bucket");
        }
        let buckets = Buckets::folder(folder.path());
        World { files: Files::new(store.clone()), store, clock, buckets, folder }
    }

    pub(crate) async fn in_memory() -> World {
        let (store, clock) = simulated_store(NOW_MS, 1).await;
        World::new(store, clock)
    }

    pub(crate) fn advance_s(&self, seconds: u64) {
        self.clock.advance_ms(seconds * 1000);
    }

    /// Stores a file, whatever purgatory says.
    pub(crate) async fn put(&self, key: &str) -> File {
        let file = File::new("b", key);
        self.buckets.put(&file, key.as_bytes().to_vec()).await.expect("stored");
        file
    }

    pub(crate) async fn is_stored(&self, file: &File) -> bool {
        self.buckets.get(file).await.expect("a look").is_some()
    }

    /// What is in purgatory, the earliest first.
    pub(crate) async fn purgatory(&self) -> Vec<(String, f64)> {
        let mut cmd = redis::cmd("ZRANGE");
        cmd.arg(&*self.store.place(&keys::purgatory())).arg(0).arg(-1).arg("WITHSCORES");
        cmd.query_async(&mut self.store.connection()).await.expect("members")
    }

    /// Enters a member as another program would.
    pub(crate) async fn zadd(&self, at: f64, member: &[u8]) {
        let mut cmd = redis::cmd("ZADD");
        cmd.arg(&*self.store.place(&keys::purgatory())).arg(at).arg(member);
        let _: u64 = cmd.query_async(&mut self.store.connection()).await.expect("entered");
    }

    /// Takes a member out as another program would.
    pub(crate) async fn zrem(&self, member: &[u8]) {
        let mut cmd = redis::cmd("ZREM");
        cmd.arg(&*self.store.place(&keys::purgatory())).arg(member);
        let _: u64 = cmd.query_async(&mut self.store.connection()).await.expect("taken out");
    }

    /// Whether nothing is left of purgatory and what belongs to it.
    pub(crate) async fn is_empty(&self) -> bool {
        let mut cmd = redis::cmd("EXISTS");
        for key in [keys::purgatory(), keys::claims(), keys::failures()] {
            cmd.arg(&*self.store.place(&key));
        }
        cmd.query_async::<u64>(&mut self.store.connection()).await.expect("a count") == 0
    }

    /// Proves that everything in the store is as its declaration says.
    pub(crate) async fn assert_clean(&self) {
        let registry = Box::leak(Box::new(Registry::new(&[keyrack_files::FAMILIES])));
        let report = keyrack_lint::lint(&self.store, registry, &Default::default(), |_| {}).await;
        let report = report.expect("a report");
        assert_eq!((report.findings, report.unknown.keys), (Default::default(), 0));
    }
}

/// Runs a test on every kind of store.
pub(crate) async fn on_every_store(test: impl AsyncFn(World)) {
    on_every_store_at(NOW_MS, async |store, clock| test(World::new(store, clock)).await).await;
}
