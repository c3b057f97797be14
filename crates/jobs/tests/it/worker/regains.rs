//! Jobs that a worker has lost and got again.

use std::{sync::Arc, time::Duration};

use keyrack_jobs::bee::{
    Hive, Status, WorkerInfo, WorkerTimeouts,
    keys::{self, WorkerId},
    worker::{Settings, Stop, Watch, Worker},
};
use keyrack_testkit::wait_until_async;
use tokio::sync::Semaphore;

use super::bench::{Running, hive, queue, settings, submit, wait_for_status};

const TIMEOUTS: WorkerTimeouts =
    WorkerTimeouts { heartbeat: Duration::from_millis(20), ..WorkerTimeouts::KEYRACK };

#[tokio::test(flavor = "multi_thread")]
async fn a_job_that_was_lost_and_claimed_again_is_only_stopped_where_it_was_lost() {
    let hive = hive("embedded:memory").await;
    // Each attempt ends when it may, and tells whether it was told to stop.
    let may_end = [(); 2].map(|()| Arc::new(Semaphore::new(0)));
    let gates = may_end.clone();
    let patient = Settings { stop_grace: Duration::from_secs(60), ..settings(4) };
    let worker = Worker::new(&hive).timeouts(TIMEOUTS).on(queue(), patient, move |context| {
        let gate = Arc::clone(&gates[context.job().attempts() as usize - 1]);
        async move {
            gate.acquire().await.expect("an open gate").forget();
            Ok(context.stop_reason() == Some(Stop::Lost))
        }
    });
    let running = Running::start(worker);
    let jid = submit(&hive, 1).await;
    let job = wait_for_status(&hive, &jid, Status::Running).await;
    let worker = WorkerId::new(job.worker()).expect("a worker");
    let swept = hive.sweep(&queue(), &TIMEOUTS, "", std::slice::from_ref(&worker)).await;
    assert_eq!(swept.expect("swept").taken_away, 1);
    wait_until_async("the second attempt", async || {
        hive.job(&jid).await.is_ok_and(|job| job.attempts() == 2)
    })
    .await;

    may_end[0].add_permits(1);
    let soon = hive.now_ms() + 10 * TIMEOUTS.heartbeat.as_millis() as u64;
    wait_until_async("some heartbeats", async || last_heartbeat(&hive, &worker).await > soon).await;
    let job = hive.job(&jid).await.expect("the job");
    assert_eq!(
        (job.status(), job.attempts()),
        (Status::Running, 2),
        "the end of the first is late"
    );
    may_end[1].add_permits(1);
    let job = wait_for_status(&hive, &jid, Status::Completed).await;
    assert_eq!((job.result(), job.attempts()), (Some("false"), 2), "the second was never stopped");
    running.stop().await;
}

async fn last_heartbeat(hive: &Hive, worker: &WorkerId) -> u64 {
    let key = keys::bees(&queue(), &queue().group());
    let mut cmd = redis::cmd("ZSCORE");
    cmd.arg(&*hive.store().place(&key)).arg(worker.as_str());
    let score: Option<u64> =
        cmd.query_async(&mut hive.store().connection()).await.expect("a reply");
    score.unwrap_or_default()
}

/// Longer than nobody may listen on a worker's channel.
const TOO_LONG: Duration = Duration::from_millis(2100);

/// A worker that has a job, and says that it listens on its channel.
async fn busy_worker(hive: &Hive) -> WorkerId {
    let worker = hive.new_worker(&queue()).expect("an id");
    let info = WorkerInfo {
        started_at: hive.now_ms(),
        concurrency: 1,
        lock_ms: WorkerTimeouts::KEYRACK.lock.as_millis() as u64,
        listens: true,
        isolates: true,
        stop_ms: None,
        version: None,
    };
    submit(hive, 1).await;
    let claimed =
        hive.claim(&queue(), &worker, 1, WorkerTimeouts::KEYRACK.lock).await.expect("claimed");
    assert_eq!(claimed.jobs.len(), 1);
    hive.heartbeat(&queue(), &worker, WorkerTimeouts::KEYRACK.lock, Some(&info))
        .await
        .expect("alive");
    worker
}

async fn jobs_of(hive: &Hive, worker: &WorkerId) -> usize {
    let lock = WorkerTimeouts::KEYRACK.lock;
    hive.heartbeat(&queue(), worker, lock, None).await.expect("a heartbeat").len()
}

#[tokio::test]
async fn a_worker_that_was_away_twice_for_a_moment_keeps_its_jobs_and_one_that_is_gone_loses_them()
{
    let hive = hive("embedded:memory").await;
    let worker = busy_worker(&hive).await;
    let mut watch = Watch::new(&hive, queue(), WorkerTimeouts::KEYRACK);
    watch.sweep().await.expect("it is away");
    let channels = [keys::worker_events(&worker, &queue().group())];
    let listening = hive.store().subscribe(&channels).await.expect("a subscription");
    watch.ask_suspects().await.expect("it is back");
    drop(listening);
    tokio::time::sleep(TOO_LONG).await;
    watch.sweep().await.expect("it is away again");
    assert_eq!(jobs_of(&hive, &worker).await, 1);

    watch.ask_suspects().await.expect("it is still away");
    tokio::time::sleep(TOO_LONG).await;
    watch.sweep().await.expect("it was away all the time");
    assert_eq!(jobs_of(&hive, &worker).await, 0);
}
