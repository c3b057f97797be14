//! Submitting and settling where a replica has to have it.

use std::time::Duration;

use keyrack_jobs::{
    Error,
    bee::{End, Hive, Outcome, Status, Submission, Verdict, WorkerTimeouts},
};
use keyrack_store::{Error as StoreError, Options, ReplicasAcknowledge, Store};
use keyrack_testkit::RedisServer;

use super::fixture::{jid, queue, worker};

const LOCK: Duration = WorkerTimeouts::KEYRACK.lock;

struct World {
    _primary: RedisServer,
    replica: RedisServer,
    hive: Hive,
}

impl World {
    async fn start() -> World {
        let primary = RedisServer::start();
        let replica = RedisServer::builder().replica_of(&primary).start();
        replica.wait_until_in_sync();
        let wanted = ReplicasAcknowledge { replicas: 1, within: Duration::from_secs(1) };
        let options = Options { replicas_acknowledge: Some(wanted), ..Options::default() };
        let store = Store::open_with(primary.url().parse().expect("a URL"), options).await;
        let hive = Hive::open(store.expect("a store")).await.expect("a hive");
        World { _primary: primary, replica, hive }
    }

    fn resume(&mut self) {
        self.replica.resume();
        self.replica.wait_until_in_sync();
    }
}

fn is_not_replicated(error: &Error) -> bool {
    matches!(error, Error::Store(StoreError::NotReplicated { acknowledged: 0, wanted: 1 }))
}

fn job(name: &str) -> Submission {
    Submission::to(queue("emails")).id(jid(name))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_that_no_replica_has_is_not_acknowledged_until_one_has() {
    let mut world = World::start().await;
    world.hive.submit(job("a")).await.expect("the replica has it");
    world.replica.pause();
    let plain = world.hive.submit(Submission::to(queue("emails"))).await;
    let error = plain.expect_err("the replica hangs");
    assert!(is_not_replicated(&error) && error.is_transient(), "{error:?}");
    let error = world.hive.submit(job("b")).await.expect_err("the replica hangs");
    assert!(is_not_replicated(&error), "{error:?}");
    world.resume();
    let error = world.hive.submit(job("b")).await.expect_err("it is there");
    assert!(matches!(error, Error::Exists { .. }), "{error:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_outcome_that_no_replica_has_can_be_told_again_and_costs_no_job() {
    let mut world = World::start().await;
    for name in ["a", "b"] {
        world.hive.submit(job(name)).await.expect("the replica has it");
    }
    let (queue, worker) = (queue("emails"), worker("w1", "emails"));
    let claimed = world.hive.claim(&queue, &worker, 1, LOCK).await.expect("a claim");
    let end = End::Completed { result: "1".into(), ttl_ms: None };
    let outcomes = [Outcome::of(&claimed.jobs[0], end)];

    world.replica.pause();
    let error = world.hive.settle(&queue, &worker, &outcomes, 1, LOCK).await;
    let error = error.expect_err("the replica hangs");
    assert!(is_not_replicated(&error), "{error:?}");
    let next = world.hive.job(&jid("b")).await.expect("the job");
    assert_eq!(next.status(), Status::Queued, "it was given back");

    world.resume();
    let settled = world.hive.settle(&queue, &worker, &outcomes, 1, LOCK).await.expect("settled");
    assert_eq!(settled.verdicts, [Verdict::Ok], "it is the end that counts");
    let ended = world.hive.job(&jid("a")).await.expect("the job");
    assert_eq!((ended.status(), ended.result()), (Status::Completed, Some("1")));
    let jids: Vec<&str> = settled.claimed.jobs.iter().map(|job| job.jid()).collect();
    assert_eq!(jids, ["b"]);
}
