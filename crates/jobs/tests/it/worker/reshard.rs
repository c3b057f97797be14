//! A cluster whose slots move under load.

use std::{collections::HashMap, sync::Arc, time::Duration};

use keyrack_jobs::bee::{
    Hive, Submission,
    keys::{self, Jid, QueueName},
    worker::Worker,
};
use keyrack_keys::{Layout, Registry};
use keyrack_testkit::{RedisCluster, wait_until_async};
use tokio::{sync::Notify, task::JoinHandle};

use super::bench::{Calls, Running, hive, settings};

const SUBMITTERS: usize = 3;
/// Between two submissions, so that the workers keep up.
const PAUSE: Duration = Duration::from_millis(5);
const MOVES: usize = 6;
/// Slots that are moved at once by hand are few, so that a test takes seconds.
const FIRST_SLOTS: u16 = 40;

/// Submits until it is told to stop; returns what was acknowledged.
fn submitter(hive: Hive, queue: QueueName, stop: Arc<Notify>) -> JoinHandle<Vec<Jid>> {
    tokio::spawn(async move {
        let mut jids: Vec<Jid> = Vec::new();
        let mut stopped = std::pin::pin!(stop.notified());
        for n in 0_usize.. {
            let mut jobs: Vec<Submission> =
                (0..5).map(|_| Submission::to(queue.clone()).arg(n)).collect();
            // Some wait for one that was submitted before, so that an end touches several jobs.
            if let Some(first) = jids.last() {
                jobs.push(Submission::to(queue.clone()).after(first.clone()));
            }
            // What was not acknowledged is not counted on.
            let submitted = hive.submit_many(jobs).await;
            jids.extend(submitted.into_iter().flatten().filter_map(Result::ok));
            if tokio::time::timeout(PAUSE, &mut stopped).await.is_ok() {
                break;
            }
        }
        jids
    })
}

/// Nothing is left on the way, and every key of the slot is on one node.
fn check_closed(cluster: &RedisCluster, slot: u16, to: usize) {
    for (index, node) in cluster.nodes().iter().enumerate() {
        let mut nodes = redis::cmd("CLUSTER");
        let view: String = nodes.arg("NODES").query(&mut node.connection()).expect("its view");
        assert!(!view.contains("->-") && !view.contains("-<-"), "a slot is open: {view}");
        assert_eq!(cluster.keys_in_slot(slot, index).is_empty(), index != to, "node {index}");
    }
}

async fn check_lint(hive: &Hive) {
    let registry = Registry::new(&[keys::FAMILIES]);
    let report = keyrack_lint::lint(hive.store(), &registry, &Default::default(), |_| {}).await;
    let report = report.expect("a walk");
    let found: Vec<String> = report.findings.iter().map(ToString::to_string).collect();
    assert_eq!(found, [""; 0]);
}

/// A queue whose slot is among the first that a cluster has: `redis-cli` moves slots in their order.
fn queue(cluster: &RedisCluster) -> (QueueName, u16) {
    let queues = (0..).map(|n| QueueName::new(format!("g{n}/emails")).expect("a queue"));
    let mut placed = queues.map(|queue| {
        let key = keys::locks(&queue, &queue.group());
        let slot = cluster.key_slot(&key.placed(Layout::Cluster));
        (queue, slot)
    });
    placed.find(|(_, slot)| *slot < FIRST_SLOTS).expect("a queue")
}

/// Moves the first slots of a node to another as operators do.
fn reshard(cluster: &RedisCluster, slots: u16, from: usize, to: usize) {
    let id = |index: usize| -> String {
        let mut ask = redis::cmd("CLUSTER");
        ask.arg("MYID").query(&mut cluster.nodes()[index].connection()).expect("its id")
    };
    let mut cli = std::process::Command::new("redis-cli");
    cli.args(["--cluster", "reshard", &cluster.nodes()[from].addr().to_string(), "--cluster-yes"])
        .args(["--cluster-from", &id(from), "--cluster-to", &id(to)])
        .args(["--cluster-slots", &slots.to_string()]);
    let output = cli.output().expect("redis-cli runs");
    let printed = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && !printed.contains("ERR"), "{printed}");
    cluster.wait_until_settled();
}

/// Moves the slot of a queue again and again while jobs come and go. `backlog` jobs wait in it all the time.
async fn moves_under_load(backlog: usize, by_redis_cli: bool) {
    let mut cluster = RedisCluster::start();
    let (queue, slot) = queue(&cluster);
    let hive = hive(&cluster.url()).await;
    let later = (0..backlog).map(|n| Submission::to(queue.clone()).arg(n).delay_ms(3_600_000.0));
    for answer in hive.submit_many(later.collect()).await.expect("submitted") {
        answer.expect("submitted");
    }
    let calls = Calls::default();
    let running: Vec<Running> = (0..2)
        .map(|_| {
            let worker = Worker::new(&hive).on(queue.clone(), settings(10), calls.handler());
            Running::start(worker)
        })
        .collect();
    let stop = Arc::new(Notify::new());
    let load: Vec<_> = (0..SUBMITTERS)
        .map(|_| submitter(hive.clone(), queue.clone(), Arc::clone(&stop)))
        .collect();

    for _ in 0..MOVES {
        let ran = calls.all().len();
        wait_until_async("jobs to run", async || calls.all().len() > ran + 200).await;
        let from = cluster.owner(slot);
        let to = (from + 1) % 3;
        cluster = tokio::task::spawn_blocking(move || {
            if by_redis_cli {
                reshard(&cluster, slot + 1, from, to);
            } else {
                cluster.move_slot(slot, to);
            }
            cluster
        })
        .await
        .expect("moved");
        check_closed(&cluster, slot, to);
    }
    let ran = calls.all().len();
    wait_until_async("jobs to run", async || calls.all().len() > ran + 200).await;

    stop.notify_waiters();
    let mut jids = Vec::new();
    for submitter in load {
        jids.extend(submitter.await.expect("a submitter"));
    }
    wait_until_async("all jobs to end", async || {
        let stats = hive.stats(&queue).await.expect("stats");
        stats.waiting + stats.queued + stats.running == 0
    })
    .await;
    for jobs in jids.chunks(500) {
        for (jid, job) in jobs.iter().zip(hive.jobs(jobs).await.expect("jobs")) {
            let job = job.unwrap_or_else(|| panic!("{jid} was acknowledged and is gone"));
            assert_eq!(super::bench::count(&job, "completed"), 1, "{jid}: {job:?}");
        }
    }
    let mut runs: HashMap<String, usize> = HashMap::new();
    calls.all().into_iter().for_each(|jid| *runs.entry(jid).or_default() += 1);
    let repeated: Vec<_> = runs.iter().filter(|(_, runs)| **runs > 1).collect();
    assert_eq!(repeated, [], "jobs that ran more than once");
    for worker in running {
        worker.stop().await;
    }
    check_lint(&hive).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn jobs_of_a_drained_queue_run_once_while_its_slot_moves() {
    moves_under_load(0, false).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn jobs_of_a_loaded_queue_run_once_while_its_slot_moves() {
    moves_under_load(5_000, false).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn redis_cli_moves_the_slots_of_a_drained_queue_under_load() {
    moves_under_load(0, true).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn redis_cli_moves_the_slots_of_a_loaded_queue_under_load() {
    moves_under_load(5_000, true).await;
}
