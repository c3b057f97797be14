//! A throw-away Redis Cluster: three masters, with a replica each if asked for.

mod nodes;
mod slot_move;

pub use slot_move::SlotMove;

use std::net::TcpStream;
use std::time::Duration;

use nodes::{NodeLine, parse_nodes};

use crate::server::{RedisServer, info_field};
use crate::wait::{wait_for, wait_until, wait_until_async};

const MASTERS: usize = 3;
const SLOTS: u16 = 16_384;
/// Short enough that a failover takes seconds, long enough that a busy machine causes none.
const NODE_TIMEOUT: Duration = Duration::from_secs(2);

/// A running cluster. Nodes are known by their index: masters first, then their replicas in the
/// same order; a failover changes the roles and not the indexes.
///
/// ```no_run
/// let mut cluster = keyrack_testkit::RedisCluster::start();
/// let slot = cluster.key_slot("user:1");
/// let other = (cluster.owner(slot) + 1) % 3;
/// cluster.move_slot(slot, other);
/// assert_eq!(cluster.owner(slot), other);
/// ```
#[derive(Debug)]
pub struct RedisCluster {
    nodes: Vec<RedisServer>,
}

impl RedisCluster {
    /// Starts three masters that share the slots evenly, and waits until all of them agree.
    pub fn start() -> Self {
        Self::start_nodes(MASTERS)
    }

    /// Starts three masters with one replica each, so that a master can fail.
    pub fn start_with_replicas() -> Self {
        Self::start_nodes(2 * MASTERS)
    }

    /// All nodes by index.
    pub fn nodes(&self) -> &[RedisServer] {
        &self.nodes
    }

    /// One node, to kill, pause or restart it.
    pub fn node_mut(&mut self, index: usize) -> &mut RedisServer {
        &mut self.nodes[index]
    }

    /// `redis+cluster://host:port,host:port,…` with every node.
    pub fn url(&self) -> String {
        let addrs: Vec<String> = self.nodes.iter().map(|node| node.addr().to_string()).collect();
        format!("redis+cluster://{}", addrs.join(","))
    }

    /// The slot of a key.
    pub fn key_slot(&self, key: &str) -> u16 {
        let index = self.first_live();
        run(&self.nodes[index], redis::cmd("CLUSTER").arg("KEYSLOT").arg(key))
    }

    /// The index of the master that serves a slot.
    pub fn owner(&self, slot: u16) -> usize {
        let view = self.view(self.first_live());
        let owner = view.iter().find(|node| node.owns(slot));
        self.index_of(owner.unwrap_or_else(|| panic!("no node serves slot {slot}")))
    }

    /// The keys of a slot that the node with this index has, in order.
    pub fn keys_in_slot(&self, slot: u16, index: usize) -> Vec<String> {
        let mut list = redis::cmd("CLUSTER");
        let mut keys: Vec<String> =
            run(&self.nodes[index], list.arg("GETKEYSINSLOT").arg(slot).arg(i32::MAX));
        keys.sort();
        keys
    }

    /// How many commands the node with this index has refused with this code, such as `TRYAGAIN`.
    pub fn refusals(&self, code: &str, index: usize) -> u64 {
        let info: String = run(&self.nodes[index], redis::cmd("INFO").arg("errorstats"));
        let count = info_field(&info, &format!("errorstat_{code}"));
        count.and_then(|text| text.strip_prefix("count=")?.parse().ok()).unwrap_or(0)
    }

    /// Moves a slot with its keys to the master with index `to`, and waits until all nodes know.
    pub fn move_slot(&mut self, slot: u16, to: usize) {
        let slot_move = self.begin_slot_move(slot, to);
        slot_move.move_keys();
        slot_move.finish();
    }

    /// Starts to move a slot and stops half way: keys that are not at the source are asked for at
    /// the target, and clients meet `ASK` and `TRYAGAIN`.
    pub fn begin_slot_move(&self, slot: u16, to: usize) -> SlotMove<'_> {
        SlotMove::begin(self, slot, self.owner(slot), to)
    }

    /// Makes a call while every second key of the slot of `key` has moved to another master. The call must be refused until
    /// the others have followed, and change nothing before; returns its outcome.
    pub async fn call_in_moving_slot<T: Send + 'static>(
        &self,
        key: &str,
        call: impl Future<Output = T> + Send + 'static,
    ) -> T {
        let slot = self.key_slot(key);
        let from = self.owner(slot);
        let to = (from + 1) % MASTERS;
        let slot_move = self.begin_slot_move(slot, to);
        let keys = self.keys_in_slot(slot, from);
        assert!(keys.len() > 1, "a slot with {keys:?} is never on both sides");
        keys.iter().step_by(2).for_each(|key| slot_move.move_key(key));
        let held = || [from, to].map(|node| self.keys_in_slot(slot, node));
        let refusals = || -> u64 {
            let codes = ["TRYAGAIN", "ASK", "ERR"];
            codes.iter().map(|code| self.refusals(code, from) + self.refusals(code, to)).sum()
        };
        let (held_before, refused_before) = (held(), refusals());
        let call = tokio::spawn(call);
        let is_refused = async || refusals() > refused_before || call.is_finished();
        wait_until_async("the call to be refused", is_refused).await;
        assert!(!call.is_finished(), "the call was made while its keys were moving");
        assert_eq!(held(), held_before, "the refused call has changed keys");
        slot_move.move_keys();
        slot_move.finish();
        call.await.expect("the call")
    }

    /// Lets the replica of a master take over in good order, and returns the new master's index.
    pub fn fail_over(&mut self, master: usize) -> usize {
        let replica = self.replica_of(master);
        let () = run(&self.nodes[replica], redis::cmd("CLUSTER").arg("FAILOVER"));
        self.wait_until_master(replica);
        // The old master has to have heard of it too, or it still takes writes.
        wait_until("the old master to follow the new one", || {
            self.view(master).iter().any(|node| node.myself && !node.master)
        });
        replica
    }

    /// Kills a master, waits until its replica has taken over, and returns the new master's index.
    pub fn kill_master(&mut self, master: usize) -> usize {
        let replica = self.replica_of(master);
        self.nodes[master].kill();
        self.wait_until_master(replica);
        replica
    }

    /// Waits until every node that is up serves, and all of them know the same owners.
    pub fn wait_until_settled(&self) {
        wait_until("the cluster to settle", || {
            let mut views = self.live().map(|index| owners(&self.view(index)));
            let first = views.next();
            views.all(|view| Some(view) == first) && self.live().all(|index| self.serves(index))
        });
    }

    fn start_nodes(count: usize) -> Self {
        let timeout_ms = NODE_TIMEOUT.as_millis().to_string();
        let start = |_| {
            RedisServer::builder()
                .config("cluster-enabled", "yes")
                .config("cluster-node-timeout", &timeout_ms)
                .config("cluster-replica-validity-factor", "0")
                .start()
        };
        let cluster = Self { nodes: (0..count).map(start).collect() };
        cluster.assign_slots();
        cluster.introduce_nodes();
        cluster.attach_replicas();
        cluster.wait_until_settled();
        cluster
    }

    fn assign_slots(&self) {
        for (index, node) in self.nodes.iter().enumerate() {
            // Distinct epochs from the start spare the nodes a round of resolving collisions.
            let mut epoch = redis::cmd("CLUSTER");
            let () = run(node, epoch.arg("SET-CONFIG-EPOCH").arg(index + 1));
            if index < MASTERS {
                let share = |n: usize| usize::from(SLOTS) * n / MASTERS;
                let mut slots = redis::cmd("CLUSTER");
                slots.arg("ADDSLOTSRANGE").arg(share(index)).arg(share(index + 1) - 1);
                let () = run(node, &slots);
            }
        }
    }

    /// Every node meets every other, which is quicker than waiting for gossip.
    fn introduce_nodes(&self) {
        for node in &self.nodes {
            for other in self.nodes.iter().filter(|other| other.port() != node.port()) {
                let mut meet = redis::cmd("CLUSTER");
                let () = run(node, meet.arg("MEET").arg("127.0.0.1").arg(other.port()));
            }
        }
        wait_until("the nodes to know each other", || {
            (0..self.nodes.len()).all(|index| {
                let view = self.view(index);
                view.len() == self.nodes.len() && view.iter().all(|node| !node.handshake)
            })
        });
    }

    fn attach_replicas(&self) {
        for (master, replica) in self.nodes.iter().zip(&self.nodes[MASTERS..]) {
            let id: String = run(master, redis::cmd("CLUSTER").arg("MYID"));
            let () = run(replica, redis::cmd("CLUSTER").arg("REPLICATE").arg(id));
        }
        for replica in &self.nodes[MASTERS..] {
            replica.wait_until_in_sync();
        }
    }

    fn replica_of(&self, master: usize) -> usize {
        wait_for("the master to have a replica", || {
            let view = self.view(master);
            let id = view.iter().find(|node| node.myself)?.id.clone();
            let replica = view.iter().find(|node| node.master_id.as_ref() == Some(&id))?;
            Some(self.index_of(replica))
        })
    }

    fn wait_until_master(&self, index: usize) {
        wait_until("the replica to become master", || {
            self.view(index).iter().any(|node| node.myself && node.master)
        });
        self.wait_until_settled();
    }

    fn serves(&self, index: usize) -> bool {
        let info: String = run(&self.nodes[index], redis::cmd("CLUSTER").arg("INFO"));
        let is = |field, value: &str| info_field(&info, field) == Some(value);
        is("cluster_state", "ok") && is("cluster_slots_ok", &SLOTS.to_string())
    }

    /// The cluster as one node sees it.
    fn view(&self, index: usize) -> Vec<NodeLine> {
        let text: String = run(&self.nodes[index], redis::cmd("CLUSTER").arg("NODES"));
        parse_nodes(&text)
    }

    /// The nodes that accept connections.
    fn live(&self) -> impl Iterator<Item = usize> {
        (0..self.nodes.len()).filter(|&index| TcpStream::connect(self.nodes[index].addr()).is_ok())
    }

    fn first_live(&self) -> usize {
        self.live().next().expect("at least one node of the cluster runs")
    }

    fn index_of(&self, line: &NodeLine) -> usize {
        let index = self.nodes.iter().position(|node| node.port() == line.port);
        index.unwrap_or_else(|| panic!("the cluster knows port {}, which is not ours", line.port))
    }
}

/// Which port serves which slots, in one node's view; equal views compare equal.
fn owners(view: &[NodeLine]) -> Vec<(u16, Vec<(u16, u16)>)> {
    let mut owners: Vec<_> = view
        .iter()
        .filter(|node| node.master)
        .map(|node| (node.port, node.slots.clone()))
        .collect();
    owners.sort();
    owners
}

/// Runs a command on one node.
#[track_caller]
fn run<T: redis::FromRedisValue>(node: &RedisServer, command: &redis::Cmd) -> T {
    command
        .query(&mut node.connection())
        .unwrap_or_else(|error| panic!("cluster node {} refused: {error}", node.port()))
}
