//! Three masters with a replica each. Slots move between the masters while their queues are in use.

use std::{path::Path, process::Command};

use fastrand::Rng;
use keyrack_jobs::bee::{
    Hive, Submission,
    keys::{self, Jid, QueueName},
};
use keyrack_keys::Layout;
use keyrack_testkit::{RedisCluster, RedisServer};

use super::{Damage, Servers, last, queue, wrong_store};
use crate::{clock_step, deployment::Processes, fault::Fault, worker_faults};

/// `redis-cli` moves the lowest slots of a node first, so the queues that move lie here.
const FIRST_SLOTS: u16 = 60;
/// Jobs that wait in the loaded queue all the time.
const BACKLOG: usize = 2_000;
const BACKLOG_DELAY_MS: f64 = 24.0 * 3_600_000.0;
/// How many jobs one look at the backlog asks for.
const CHUNK: usize = 500;

pub(crate) struct Cluster {
    cluster: RedisCluster,
    loaded: QueueName,
    drained: QueueName,
    backlog: Vec<Jid>,
}

impl Servers for Cluster {
    async fn start(_folder: &Path) -> Cluster {
        let cluster = RedisCluster::start_with_replicas();
        let mut low = (0..)
            .map(|n| queue(&format!("g{n}/orders")))
            .filter(|queue| slot(&cluster, queue) < FIRST_SLOTS);
        let mut next = || low.next().expect("some queue has a low slot");
        let (loaded, drained) = (next(), next());
        drop(low);
        Cluster { cluster, loaded, drained, backlog: Vec::new() }
    }

    fn url(&self) -> String {
        self.cluster.url()
    }

    /// The two that move, and others that lie on all masters.
    fn queues(&self) -> Vec<QueueName> {
        let others = ["mail/send", "video/encode", "reports/monthly"].map(queue);
        [self.loaded.clone(), self.drained.clone()].into_iter().chain(others).collect()
    }

    async fn prepare(&mut self, hive: &Hive) {
        let later = (0..BACKLOG).map(|n| {
            let jid = Jid::derived(&self.loaded, &format!("backlog-{n}"));
            self.backlog.push(jid.clone());
            Submission::to(self.loaded.clone()).id(jid).arg(0).delay_ms(BACKLOG_DELAY_MS)
        });
        for answer in hive.submit_many(later.collect()).await.expect("the backlog is submitted") {
            answer.expect("a job of the backlog is taken");
        }
    }

    async fn inject(&mut self, fault: Fault, processes: &mut Processes, random: &mut Rng) {
        match fault {
            Fault::Reshard => self.reshard(random),
            Fault::KillMaster => {
                let masters = self.masters();
                let master = *random.choice(&masters).expect("there are masters");
                self.cluster.kill_master(master);
                last(random, 0..=2000).await;
                self.cluster.node_mut(master).restart();
                self.cluster.nodes()[master].wait_until_in_sync();
            }
            Fault::KillWorker => worker_faults::kill(processes, random).await,
            Fault::StopWorker => worker_faults::stop(processes, random).await,
            Fault::StepWorkerClock => clock_step::of_worker(processes, random).await,
            _ => wrong_store(fault),
        }
        self.cluster.wait_until_settled();
    }

    async fn inspect(&self, hive: &Hive) -> Damage {
        let mut damage = Damage::default();
        for chunk in self.backlog.chunks(CHUNK) {
            match hive.jobs(chunk).await {
                Ok(jobs) => {
                    let missing = chunk.iter().zip(jobs).filter(|(_, job)| job.is_none());
                    damage
                        .lost
                        .extend(missing.map(|(jid, _)| format!("{jid}: waited and is gone")));
                }
                Err(error) => damage.unreachable.push(format!("the backlog: {error}")),
            }
        }
        let open = self.cluster.nodes().iter().flat_map(open_slots);
        damage.unreachable.extend(open.map(|slot| format!("slot {slot} is open")));
        damage
    }
}

impl Cluster {
    /// Moves the slots of both queues to another master, as operators do.
    fn reshard(&self, random: &mut Rng) {
        let slots = slot(&self.cluster, &self.loaded).max(slot(&self.cluster, &self.drained)) + 1;
        let from = self.cluster.owner(0);
        let others: Vec<usize> =
            self.masters().into_iter().filter(|&index| index != from).collect();
        let to = *random.choice(&others).expect("there are other masters");
        let node = |index: usize| &self.cluster.nodes()[index];
        let output = Command::new("redis-cli")
            .args(["--cluster", "reshard", &node(from).addr().to_string(), "--cluster-yes"])
            .args(["--cluster-from", &id(node(from)), "--cluster-to", &id(node(to))])
            .args(["--cluster-slots", &slots.to_string()])
            .output()
            .expect("redis-cli runs");
        let printed = String::from_utf8_lossy(&output.stdout);
        let failed = !output.status.success() || printed.contains("ERR");
        assert!(!failed, "redis-cli could not move {slots} slots:\n{printed}");
    }

    /// The indexes of the nodes that are masters now.
    fn masters(&self) -> Vec<usize> {
        let nodes = self.cluster.nodes().iter().enumerate();
        nodes
            .filter(|(_, node)| node.info("role").as_deref() == Some("master"))
            .map(|(n, _)| n)
            .collect()
    }
}

fn slot(cluster: &RedisCluster, queue: &QueueName) -> u16 {
    let key = keys::locks(queue, &queue.group());
    cluster.key_slot(&key.placed(Layout::Cluster))
}

fn id(node: &RedisServer) -> String {
    let mut ask = redis::cmd("CLUSTER");
    ask.arg("MYID").query(&mut node.connection()).expect("a node has an id")
}

/// The slots of a node that are on the move, as CLUSTER NODES writes them: `[93-<-ID]` or `[77->-ID]`.
fn open_slots(node: &RedisServer) -> Vec<String> {
    let mut ask = redis::cmd("CLUSTER");
    let text: String = ask.arg("NODES").query(&mut node.connection()).expect("a node's view");
    text.split_whitespace().filter(|word| word.starts_with('[')).map(str::to_owned).collect()
}
