//! What the tests of several verbs need: a hive on a clock that stands still, and the life of a job in a few words.

use keyrack_engine::SimulatedHost;
use keyrack_testkit::simulated_store;

use super::{
    End, Hive, Job, Outcome, Submission, Verdict, WorkerTimeouts,
    keys::{Jid, QueueName, WorkerId},
};

pub(super) const NOW: u64 = 1_794_709_387_000;

pub(super) fn queue() -> QueueName {
    QueueName::new("emails").expect("a queue")
}

/// A hive in memory, on a clock that is moved by hand.
pub(super) async fn simulated_hive() -> (Hive, SimulatedHost) {
    let (store, clock) = simulated_store(NOW, 7).await;
    (Hive::open(store).await.expect("a hive"), clock)
}

impl Hive {
    pub(super) fn worker(&self) -> WorkerId {
        self.new_worker(&queue()).expect("a worker")
    }

    /// Submits a job with one argument.
    pub(super) async fn put(&self, arg: &str) -> Jid {
        self.submit(Submission::to(queue()).arg(arg)).await.expect("submitted")
    }

    /// Claims up to so many jobs.
    pub(super) async fn take(&self, worker: &WorkerId, max: usize) -> Vec<Job> {
        self.claim(&queue(), worker, max, WorkerTimeouts::KEYRACK.lock).await.expect("claimed").jobs
    }

    /// Ends a claimed job.
    pub(super) async fn end(&self, worker: &WorkerId, job: &Job, end: End) {
        let outcome = Outcome::of(job, end);
        let settled =
            self.settle(&queue(), worker, &[outcome], 0, WorkerTimeouts::KEYRACK.lock).await;
        assert_eq!(settled.expect("settled").verdicts, [Verdict::Ok]);
    }
}

pub(super) fn completed(result: &str) -> End {
    End::Completed { result: result.into(), ttl_ms: None }
}
