use keyrack_testkit::on_every_store;

use super::*;
use crate::bee::{
    Status, Submission,
    keys::{self, Jid},
    test_support::{completed, queue, simulated_hive},
};

#[tokio::test]
async fn due_jobs_come_in_and_jobs_of_silent_workers_go_back_without_any_worker_of_ours() {
    let (hive, clock) = simulated_hive().await;
    let mut queue_sweeper = QueueSweeper::new(&hive, WorkerTimeouts::KEYRACK);
    let worker = hive.worker();
    let running = hive.put("a").await;
    hive.take(&worker, 1).await;
    let delayed = Submission::to(queue()).delay_ms(5_000.0);
    let delayed = hive.submit(delayed).await.expect("submitted");
    let status = async |jid| hive.job(jid).await.expect("the job").status();

    queue_sweeper.round().await.expect("kept");
    assert_eq!((status(&running).await, status(&delayed).await), (Status::Running, Status::New));
    clock.advance_ms(5_000);
    queue_sweeper.round().await.expect("kept");
    assert_eq!((status(&running).await, status(&delayed).await), (Status::Running, Status::Queued));
    clock.advance_ms(6_000);
    queue_sweeper.round().await.expect("kept");
    assert_eq!(status(&running).await, Status::Queued, "its lock was not renewed");
}

#[tokio::test]
async fn every_queue_is_kept_and_results_expire() {
    on_every_store(async |store| {
        let hive = Hive::open(store).await.expect("a hive");
        let worker = hive.worker();
        let jid = hive.submit(Submission::to(queue()).ttl_ms(0)).await.expect("submitted");
        let job = hive.take(&worker, 1).await.remove(0);
        hive.end(&worker, &job, completed("1")).await;
        let other = QueueName::new("mail/send").expect("a queue");
        hive.submit(Submission::to(other)).await.expect("submitted");
        QueueSweeper::new(&hive, WorkerTimeouts::KEYRACK).round().await.expect("kept");
        assert!(hive.job(&jid).await.is_err(), "its result has expired");
        assert_eq!(hive.stats(&queue()).await.expect("stats").ended, 0);
    })
    .await;
}

#[tokio::test]
async fn with_very_many_queues_all_have_their_turn() {
    let (hive, _clock) = simulated_hive().await;
    let mut queue_sweeper = QueueSweeper::new(&hive, WorkerTimeouts::KEYRACK);
    let name = |n: usize| QueueName::new(format!("q{n:04}")).expect("a queue");
    let queues: Vec<QueueName> = (0..450).map(name).collect();
    let mut seen = std::collections::BTreeSet::new();
    for _ in 0..3 {
        let turn = queue_sweeper.turn(queues.clone());
        assert_eq!(turn.len(), QUEUES_PER_ROUND);
        seen.extend(turn);
    }
    assert_eq!(seen.len(), 450);
}

#[tokio::test]
async fn the_sweeper_stops_when_told() {
    let (hive, _clock) = simulated_hive().await;
    QueueSweeper::new(&hive, WorkerTimeouts::KEYRACK).run(std::future::ready(())).await;
}

/// Submits a delayed job as Node does, which keeps no list of queues.
async fn submit_as_node(hive: &Hive, queue: &QueueName, jid: &Jid) {
    let (store, group) = (hive.store(), queue.group());
    let mut job = redis::cmd("HSET");
    job.arg(&*store.place(&keys::job(jid, &group)));
    let due = hive.now_ms() + 1;
    for (field, value) in [
        ("jid", jid.as_str()),
        ("queue", queue.as_str()),
        ("data", "[]"),
        ("options", "{\"delay\":1}"),
        ("worker", ""),
        ("status", "new"),
        ("submitted", &due.to_string()),
        ("retries", "0"),
        ("tags", "{}"),
        ("history", "[]"),
    ] {
        job.arg(field).arg(value);
    }
    let mut delayed = redis::cmd("ZADD");
    delayed.arg(&*store.place(&keys::delayed(queue, &group))).arg(due).arg(jid.as_str());
    for cmd in [job, delayed] {
        let () = cmd.query_async(&mut store.connection()).await.expect("submitted");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn queues_that_only_node_fills_are_listed_and_their_due_jobs_promoted_within_seconds() {
    on_every_store(async |store| {
        let hive = Hive::open(store).await.expect("a hive");
        let keeping = tokio::spawn(
            QueueSweeper::new(&hive, WorkerTimeouts::KEYRACK).run(std::future::pending()),
        );
        // The second queue is filled when the first walk is over.
        for name in ["first", "second"] {
            let queue = QueueName::new(name).expect("a queue");
            let jid = Jid::fresh(&queue.group());
            submit_as_node(&hive, &queue, &jid).await;
            keyrack_testkit::wait_until_async("the job to be promoted", async || {
                hive.job(&jid).await.is_ok_and(|job| job.status() == Status::Queued)
            })
            .await;
            assert!(hive.queues().await.expect("queues").contains(&queue));
        }
        keeping.abort();
    })
    .await;
}

#[tokio::test]
async fn a_round_takes_out_what_does_not_belong() {
    on_every_store(async |store| {
        let hive = Hive::open(store).await.expect("a hive");
        let group = queue().group();
        hive.put("real").await;
        for key in [keys::waiting(&queue(), &group), keys::failed(&queue(), &group)] {
            let mut cmd = redis::cmd("ZADD");
            cmd.arg(&*hive.store().place(&key)).arg(hive.now_ms()).arg("ghost");
            let () = cmd.query_async(&mut hive.store().connection()).await.expect("added");
        }
        let stats = async || hive.stats(&queue()).await.expect("stats");
        assert_eq!((stats().await.waiting, stats().await.failed), (1, 1));
        let mut queue_sweeper = QueueSweeper::new(&hive, WorkerTimeouts::KEYRACK);
        // One list in each round.
        for _ in 0..5 {
            queue_sweeper.round().await.expect("kept");
        }
        let stats = stats().await;
        assert_eq!((stats.waiting, stats.failed, stats.queued), (0, 0, 1));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_sweeper_puts_back_jobs_that_nothing_names() {
    on_every_store(async |store| {
        let hive = Hive::open(store).await.expect("a hive");
        let jid = hive.put("a").await;
        let mut cmd = redis::cmd("DEL");
        cmd.arg(&*hive.store().place(&keys::queue(&queue(), &queue().group())));
        let () = cmd.query_async(&mut hive.store().connection()).await.expect("gone");
        let worker = hive.worker();
        assert!(hive.take(&worker, 1).await.is_empty());
        let keeping = tokio::spawn(
            QueueSweeper::new(&hive, WorkerTimeouts::KEYRACK).run(std::future::pending()),
        );
        keyrack_testkit::wait_until_async("the job to be put back", async || {
            hive.stats(&queue()).await.is_ok_and(|stats| stats.queued == 1)
        })
        .await;
        keeping.abort();
        assert_eq!(hive.take(&worker, 1).await[0].jid(), jid.as_str());
    })
    .await;
}

/// A clock that stands still, and that has jumped when it is said to.
#[derive(Debug, Default)]
struct JumpedClock(parking_lot::Mutex<Option<std::time::Instant>>);

impl keyrack_store::Clock for JumpedClock {
    fn now_ms(&self) -> u64 {
        crate::bee::test_support::NOW
    }

    fn last_jump(&self) -> Option<std::time::Instant> {
        *self.0.lock()
    }
}

#[tokio::test]
async fn no_lock_counts_as_expired_just_after_a_jump_of_the_clock() {
    let clock = std::sync::Arc::new(JumpedClock::default());
    let options = keyrack_store::Options { clock: Some(clock.clone()), ..Default::default() };
    let url = "embedded:memory".parse().expect("a URL");
    let store = keyrack_store::Store::open_with(url, options).await.expect("a store");
    let hive = Hive::open(store).await.expect("a hive");
    let jid = hive.put("a").await;
    let worker = hive.worker();
    hive.claim(&queue(), &worker, 1, Duration::ZERO).await.expect("claimed");
    let mut queue_sweeper = QueueSweeper::new(&hive, WorkerTimeouts::KEYRACK);
    let now = std::time::Instant::now();
    for (jumped_at, status) in [
        (Some(now), Status::Running),
        (now.checked_sub(WorkerTimeouts::KEYRACK.lock), Status::Queued),
    ] {
        *clock.0.lock() = jumped_at;
        queue_sweeper.round().await.expect("kept");
        assert_eq!(hive.job(&jid).await.expect("the job").status(), status);
    }
}

#[test]
fn walks_take_a_hundredth_of_the_time() {
    assert_eq!(pause_after(Duration::from_millis(3)), Duration::from_secs(5));
    assert_eq!(pause_after(Duration::from_secs(1)), Duration::from_secs(100));
    assert_eq!(pause_after(Duration::from_secs(60)), Duration::from_secs(600));
}
