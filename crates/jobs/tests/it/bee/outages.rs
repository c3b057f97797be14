//! Answers that get lost on the way.

use std::time::Duration;

use keyrack_jobs::bee::{Hive, Outcome, Submission, Verdict, keys::QueueName};
use keyrack_store::Store;
use keyrack_testkit::{FaultProxy, RedisServer, wait_until_async};

use super::fixture::{TIMEOUTS, completed, queue};

/// How long an answer is on its way: long enough for the call to be carried out before the connection is cut.
const DELAY: Duration = Duration::from_millis(300);

struct Line {
    proxy: FaultProxy,
    /// Behind the proxy.
    hive: Hive,
    /// Beside it.
    witness: Hive,
    queue: QueueName,
    _server: RedisServer,
}

impl Line {
    async fn open() -> Line {
        let server = RedisServer::start();
        let proxy = FaultProxy::start(server.addr()).await;
        let hive = Hive::open(Store::open(&proxy.redis_url()).await.expect("a store")).await;
        let witness = Hive::open(Store::open(&server.url()).await.expect("a store")).await;
        let (hive, witness) = (hive.expect("a hive"), witness.expect("a hive"));
        Line { proxy, hive, witness, queue: queue("emails"), _server: server }
    }

    async fn queued(&self) -> u64 {
        self.witness.stats(&self.queue).await.expect("stats").queued
    }

    /// Loses the answer to whatever makes the condition true.
    async fn lose_answer(&self, done: impl AsyncFn() -> bool) {
        self.proxy.delay(DELAY);
        wait_until_async("the call to be carried out", done).await;
        self.proxy.delay(Duration::ZERO);
        self.proxy.cut();
    }
}

#[tokio::test]
async fn a_submission_whose_answer_is_lost_makes_one_job_and_succeeds() {
    let line = Line::open().await;
    line.hive.submit(Submission::to(line.queue.clone())).await.expect("the way is open");
    let jobs = (0..3).map(|n| Submission::to(line.queue.clone()).arg(n)).collect();
    let (answers, ()) = tokio::join!(
        line.hive.submit_many(jobs),
        line.lose_answer(async || line.queued().await == 4)
    );
    let answers = answers.expect("submitted");
    assert!(answers.iter().all(Result::is_ok), "{answers:?}");
    assert_eq!(line.queued().await, 4, "each job once");
}

#[tokio::test]
async fn an_end_whose_answer_is_lost_counts_once_however_often_it_is_told() {
    let line = Line::open().await;
    let jid = line.hive.submit(Submission::to(line.queue.clone())).await.expect("submitted");
    let worker = line.hive.new_worker(&line.queue).expect("a worker");
    let claimed = line.hive.claim(&line.queue, &worker, 1, TIMEOUTS.lock).await.expect("claimed");
    let outcome = [Outcome::of(&claimed.jobs[0], completed("1"))];
    let settle = || line.hive.settle(&line.queue, &worker, &outcome, 0, TIMEOUTS.lock);
    let is_done = async || line.witness.job(&jid).await.expect("the job").result().is_some();
    let (lost, ()) = tokio::join!(settle(), line.lose_answer(is_done));
    assert!(lost.expect_err("the answer is lost").is_transient());
    assert_eq!(settle().await.expect("told again").verdicts, [Verdict::Ok]);
    let events: Vec<String> = line
        .witness
        .job(&jid)
        .await
        .expect("the job")
        .history()
        .into_iter()
        .map(|e| e.event)
        .collect();
    assert_eq!(events, ["submitted", "queued", "popped", "completed"]);
}

#[tokio::test]
async fn jobs_of_a_claim_whose_answer_is_lost_are_told_by_the_next_heartbeat() {
    let line = Line::open().await;
    let jid = line.hive.submit(Submission::to(line.queue.clone())).await.expect("submitted");
    let worker = line.hive.new_worker(&line.queue).expect("a worker");
    let (lost, ()) = tokio::join!(
        line.hive.claim(&line.queue, &worker, 1, TIMEOUTS.lock),
        line.lose_answer(async || line.queued().await == 0)
    );
    assert!(lost.expect_err("the answer is lost").is_transient());
    let kept = line.hive.heartbeat(&line.queue, &worker, TIMEOUTS.lock, None).await;
    assert_eq!(kept.expect("a heartbeat"), [jid.to_string()].into());
}
