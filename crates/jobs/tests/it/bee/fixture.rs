//! What the tests on every store need: a hive on a clock that is moved by hand, and the keys as they stand there.

use std::collections::{BTreeMap, BTreeSet};

use keyrack_engine::SimulatedHost;
use keyrack_jobs::bee::{
    Checked, End, Failure, Hive, Job, Outcome, Status, Submission, Swept, Verdict, WorkerTimeouts,
    keys::{self, Group, Jid, JobHash, QueueName, Tag, WorkerId},
};
use keyrack_keys::Key;
use keyrack_store::Store;
use keyrack_testkit::on_every_store_at;
use redis::FromRedisValue;
use serde_json::Value as Json;

/// The time at which the recordings of the original begin.
pub(super) const NOW: u64 = 1_794_709_387_000;
pub(super) const HIVE: &str = "host:1:hive";
pub(super) const TIMEOUTS: WorkerTimeouts = WorkerTimeouts::KEYRACK;
pub(super) const LOCK_MS: u64 = TIMEOUTS.lock.as_millis() as u64;
/// What a submission has unless it says otherwise.
pub(super) const TTL_MS: u64 = 1_800_000;
/// For how long a failed job is kept unless it says otherwise.
pub(super) const FAILED_TTL_MS: u64 = 7 * 86_400_000;

/// One queue of a store, and a worker for it.
#[derive(Clone)]
pub(super) struct Fixture {
    pub(super) hive: Hive,
    pub(super) clock: SimulatedHost,
    pub(super) queue: QueueName,
    pub(super) worker: WorkerId,
}

/// Runs a test on every kind of store, beginning at [`NOW`].
pub(super) async fn everywhere(test: impl AsyncFn(Fixture)) {
    on_every_store_at(NOW, async |store, clock| test(Fixture::new(store, clock)).await).await;
}

impl Fixture {
    fn new(store: Store, clock: SimulatedHost) -> Fixture {
        let hive = Hive::named(store, HIVE);
        Fixture { hive, clock, queue: queue("emails"), worker: worker("w1", "emails") }
    }

    /// The same store, with a queue that nobody has used.
    pub(super) fn on(&self, name: &str) -> Fixture {
        Fixture { queue: queue(name), worker: worker("w1", name), ..self.clone() }
    }

    /// The same queue, with another worker.
    pub(super) fn with_worker(&self, id: &str) -> Fixture {
        Fixture { worker: worker(id, "emails"), ..self.clone() }
    }

    pub(super) fn now(&self) -> u64 {
        self.hive.now_ms()
    }

    /// A job for the queue.
    pub(super) fn job(&self) -> Submission {
        Submission::to(self.queue.clone())
    }

    pub(super) async fn submit(&self, job: Submission) -> Jid {
        self.hive.submit(job).await.expect("submitted")
    }

    /// Submits a job under an id of one's own.
    pub(super) async fn put(&self, id: &str) -> Jid {
        self.submit(self.job().id(jid(id))).await
    }

    pub(super) async fn claim(&self, max: usize) -> Vec<Job> {
        let claimed = self.hive.claim(&self.queue, &self.worker, max, TIMEOUTS.lock).await;
        claimed.expect("claimed").jobs
    }

    /// Claims the only job that can be claimed.
    pub(super) async fn claim_one(&self) -> Job {
        let mut jobs = self.claim(10).await;
        assert_eq!(jobs.len(), 1, "one job is ready");
        jobs.remove(0)
    }

    pub(super) async fn settle(&self, job: &Job, end: End) -> Verdict {
        let outcome = Outcome::of(job, end);
        let settled =
            self.hive.settle(&self.queue, &self.worker, &[outcome], 0, TIMEOUTS.lock).await;
        settled.expect("settled").verdicts[0]
    }

    /// Tells the hash of a claimed job.
    pub(super) async fn check_duplicate(&self, job: &Job, hash: &str) -> Checked {
        let jobs = [(job, JobHash::new(hash).expect("a hash"))];
        let checked = self.hive.check_duplicates(&self.queue, &self.worker, &jobs).await;
        checked.expect("checked").remove(0)
    }

    /// Submits a job, and runs it to its end.
    pub(super) async fn run(&self, job: Submission, end: End) -> Jid {
        let jid = self.submit(job).await;
        let claimed = self.claim_one().await;
        assert_eq!(claimed.jid(), jid.as_str());
        assert_eq!(self.settle(&claimed, end).await, Verdict::Ok);
        jid
    }

    pub(super) async fn sweep(&self) -> Swept {
        self.sweep_with(&TIMEOUTS, &[]).await
    }

    pub(super) async fn sweep_with(&self, timeouts: &WorkerTimeouts, gone: &[WorkerId]) -> Swept {
        self.hive.sweep(&self.queue, timeouts, "", gone).await.expect("swept")
    }

    pub(super) async fn heartbeat(&self) -> BTreeSet<String> {
        let kept = self.hive.heartbeat(&self.queue, &self.worker, TIMEOUTS.lock, None).await;
        kept.expect("a heartbeat").into_iter().collect()
    }

    pub(super) async fn status(&self, jid: &Jid) -> Status {
        self.read(jid).await.status()
    }

    pub(super) async fn read(&self, jid: &Jid) -> Job {
        self.hive.job(jid).await.expect("the job")
    }

    /// What happened to a job.
    pub(super) async fn events_of(&self, jid: &Jid) -> Vec<String> {
        self.read(jid).await.history().into_iter().map(|entry| entry.event).collect()
    }

    /// A field of a job that holds JSON.
    pub(super) async fn json(&self, jid: &Jid, field: &str) -> Json {
        serde_json::from_str(&self.fields(jid).await[field]).expect("JSON")
    }

    pub(super) async fn fields(&self, jid: &Jid) -> BTreeMap<String, String> {
        self.ask("HGETALL", &keys::job(jid, &jid.group()), &[]).await
    }

    /// The members of a sorted set with their scores as the server writes them.
    pub(super) async fn scores(&self, key: &Key) -> Vec<(String, String)> {
        self.ask("ZRANGE", key, &["0", "-1", "WITHSCORES"]).await
    }

    /// The members of one of the queue's sorted sets.
    pub(super) async fn in_queue(&self, key: impl Fn(&QueueName, &Group) -> Key) -> Vec<String> {
        self.ask("ZRANGE", &self.of_queue(key), &["0", "-1"]).await
    }

    /// One of the queue's keys.
    pub(super) fn of_queue(&self, key: impl Fn(&QueueName, &Group) -> Key) -> Key {
        key(&self.queue, &self.queue.group())
    }

    pub(super) async fn members(&self, key: &Key) -> BTreeSet<String> {
        self.ask("SMEMBERS", key, &[]).await
    }

    pub(super) async fn exists(&self, key: &Key) -> bool {
        self.ask("EXISTS", key, &[]).await
    }

    /// Asserts that a key expires about so many milliseconds from now, by the server's clock.
    pub(super) async fn assert_expires_in(&self, key: &Key, ms: u64) {
        let left: i64 = self.ask("PTTL", key, &[]).await;
        let ms = i64::try_from(ms).expect("a short time");
        assert!(
            (ms - 10_000..=ms).contains(&left),
            "{} expires in {left} ms, not {ms}",
            key.name()
        );
    }

    pub(super) async fn assert_stays(&self, key: &Key) {
        assert_eq!(self.ask::<i64>("PTTL", key, &[]).await, -1, "{} stays", key.name());
    }

    /// Writes what a Node hive writes when it starts.
    pub(super) async fn note_node_hive(&self) {
        // Only Node's hives write this key: keyrack's user may read it.
        if self.hive.store().engine().is_none() {
            let mut allow = redis::cmd("ACL");
            allow.arg("SETUSER").arg("keyrack").arg("~bee:scripts");
            allow.exec_async(&mut self.hive.store().connection()).await.expect("allowed");
        }
        self.ask::<()>("HSET", &keys::scripts(), &["cancel", "0"]).await;
    }

    /// Runs a command on a key.
    pub(super) async fn ask<T: FromRedisValue>(&self, name: &str, key: &Key, args: &[&str]) -> T {
        let mut cmd = redis::cmd(name);
        cmd.arg(&*self.hive.store().place(key)).arg(args);
        cmd.query_async(&mut self.hive.store().connection()).await.expect("a reply")
    }
}

pub(super) fn queue(name: &str) -> QueueName {
    QueueName::new(name).expect("a queue")
}

pub(super) fn jid(text: &str) -> Jid {
    Jid::new(text).expect("an id")
}

pub(super) fn tag(text: &str) -> Tag {
    Tag::new(text).expect("a tag")
}

pub(super) fn worker(id: &str, queue: &str) -> WorkerId {
    WorkerId::new(format!("{HIVE}:{queue}:{id}")).expect("a worker")
}

pub(super) fn completed(result: &str) -> End {
    End::Completed { result: result.into(), ttl_ms: None }
}

pub(super) fn failed(message: &str) -> End {
    End::Failed(Failure::new(message))
}

pub(super) fn failed_for_good(message: &str) -> End {
    End::Failed(Failure::fatal(message))
}
