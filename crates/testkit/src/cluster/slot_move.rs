//! Moving one slot between masters, in the steps that clients can observe.

use super::{RedisCluster, run};
use crate::server::RedisServer;

const MIGRATE_BATCH: usize = 100;
const MIGRATE_TIMEOUT_MS: usize = 5_000;

/// A slot on its way from one master to another.
///
/// The order of the steps is the caller's, so that a test can stop between any two of them.
#[derive(Debug)]
pub struct SlotMove<'a> {
    cluster: &'a RedisCluster,
    slot: u16,
    from: usize,
    to: usize,
}

impl<'a> SlotMove<'a> {
    pub(super) fn begin(cluster: &'a RedisCluster, slot: u16, from: usize, to: usize) -> Self {
        let this = Self { cluster, slot, from, to };
        // The target first: from the moment the source redirects, the target has to accept.
        this.set_slot(this.target(), "IMPORTING", &this.id(from));
        this.set_slot(this.source(), "MIGRATING", &this.id(to));
        this
    }

    /// Moves the keys that the slot has now.
    pub fn move_keys(&self) {
        loop {
            let mut list = redis::cmd("CLUSTER");
            list.arg("GETKEYSINSLOT").arg(self.slot).arg(MIGRATE_BATCH);
            let keys: Vec<Vec<u8>> = run(self.source(), &list);
            if keys.is_empty() {
                return;
            }
            self.migrate(keys);
        }
    }

    /// Moves one key, so that its slot is on both sides.
    pub fn move_key(&self, key: &str) {
        self.migrate(vec![key.as_bytes().to_vec()]);
    }

    fn migrate(&self, keys: Vec<Vec<u8>>) {
        let mut migrate = redis::cmd("MIGRATE");
        migrate.arg("127.0.0.1").arg(self.target().port()).arg("").arg(0);
        migrate.arg(MIGRATE_TIMEOUT_MS).arg("KEYS").arg(keys);
        let () = run(self.source(), &migrate);
    }

    /// Makes the target the owner and waits until every node knows.
    pub fn finish(self) {
        let owner = self.id(self.to);
        // Target and source first, as a slot without an owner would stop the cluster.
        self.set_slot(self.target(), "NODE", &owner);
        self.set_slot(self.source(), "NODE", &owner);
        self.cluster.wait_until_settled();
    }

    fn set_slot(&self, node: &RedisServer, state: &str, id: &str) {
        let () = run(node, redis::cmd("CLUSTER").arg("SETSLOT").arg(self.slot).arg(state).arg(id));
    }

    fn id(&self, index: usize) -> String {
        run(&self.cluster.nodes()[index], redis::cmd("CLUSTER").arg("MYID"))
    }

    fn source(&self) -> &RedisServer {
        &self.cluster.nodes()[self.from]
    }

    fn target(&self) -> &RedisServer {
        &self.cluster.nodes()[self.to]
    }
}
