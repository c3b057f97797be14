//! What is counted of jobs survives `kill -9` as their histories do: both are written in one call.

#[path = "../../../../jobs/tests/it/bee/times/expected.rs"]
mod expected;

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use keyrack_jobs::bee::{
    Failure, Filter, HistoryEntry, Hive, JobState, PAGE_MAX, Submission,
    times::{Record, Resolution, TimesQuery},
    worker::{Context, Settings, Worker},
};
use keyrack_testkit::{Port, RedisServer, wait_until_async};
use tempfile::TempDir;

use self::expected::{assert_equal, expected_minutes};
use super::{load, open, queue, serve};

const KILLS: usize = 10;
const DAY_MS: u64 = 24 * 60 * 60 * 1_000;
/// Attempts between two kills.
const ATTEMPTS: usize = 60;

#[tokio::test(flavor = "multi_thread")]
async fn counts_and_histograms_are_those_of_the_histories_though_the_server_is_killed() {
    let (dir, port) = (TempDir::new().expect("a folder"), Port::lease());
    let mut server = serve(&dir, &port);
    assert_counts_survive(&format!("redis://127.0.0.1:{}", port.number()), || {
        server.kill();
        server = serve(&dir, &port);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn counts_and_histograms_are_those_of_the_histories_though_redis_is_killed() {
    let mut server = RedisServer::builder().append_only().start();
    assert_counts_survive(&server.url(), || {
        server.kill();
        server.restart();
    })
    .await;
}

/// Kills the store in the middle of a load again and again, and at last when nothing happens.
async fn assert_counts_survive(url: &str, mut restart: impl FnMut()) {
    let hive = open(url).await;
    let n_attempts = Arc::new(AtomicUsize::new(0));
    let attempts = Arc::clone(&n_attempts);
    let worker = Worker::new(&hive).on(queue(), Settings::default(), move |context| {
        attempts.fetch_add(1, Ordering::Relaxed);
        attempt(context)
    });
    let (stop_worker, worker_stopped) = tokio::sync::oneshot::channel::<()>();
    let working = tokio::spawn(worker.run(async {
        let _ = worker_stopped.await;
    }));
    let (stop_load, submitting) = load(&hive, Duration::from_millis(1), tried_twice);
    for _ in 0..KILLS {
        let enough = n_attempts.load(Ordering::Relaxed) + ATTEMPTS;
        wait_until_async("jobs to be run", async || n_attempts.load(Ordering::Relaxed) > enough)
            .await;
        restart();
    }
    let _ = stop_load.send(());
    let jids = submitting.await.expect("the load");
    wait_until_async("every job to end", async || {
        let stats = hive.stats(&queue()).await;
        stats.is_ok_and(|stats| stats.ended as usize >= jids.len() && has_nothing_to_do(&stats))
    })
    .await;
    let _ = stop_worker.send(());
    working.await.expect("no panic").expect("the worker ran");

    let counted = assert_counts(&hive).await;
    assert!(counted.submitted as usize >= jids.len(), "every acknowledged job is counted");
    assert!(counted.failed > 20 && counted.retried > 20, "{counted:?}");
    assert!(counted.run.count() as usize > KILLS * ATTEMPTS / 2, "{counted:?}");
    restart();
    let hive = open(url).await;
    assert_eq!(assert_counts(&hive).await, counted, "a restart changes nothing");
}

fn has_nothing_to_do(stats: &keyrack_jobs::bee::Stats) -> bool {
    let unfinished =
        JobState::ALL.iter().filter(|place| !matches!(place, JobState::Ended | JobState::Failed));
    unfinished.map(|place| stats.jobs_in(*place)).sum::<u64>() == 0
}

/// A job that is tried again once.
fn tried_twice(n: u64) -> Submission {
    Submission::to(queue()).arg(n).retries(1).retry_delay_ms(5.0, false)
}

/// Takes some milliseconds. Every third job fails in its first attempt, and every ninth for good.
async fn attempt(context: Context) -> Result<(), Failure> {
    let [n]: [u64; 1] = serde_json::from_str(context.job().data()).expect("a number");
    tokio::time::sleep(Duration::from_millis(n % 8)).await;
    let is_first = context.job().retries() == 0;
    if n.is_multiple_of(9) || (n.is_multiple_of(3) && is_first) {
        return Err(Failure::new(format!("job {n} fails")));
    }
    Ok(())
}

/// Everything that is counted equals what all histories tell; returns the total.
async fn assert_counts(hive: &Hive) -> Record {
    let expected = expected_minutes(&histories(hive).await);
    let mut sum = Record::default();
    expected.values().for_each(|record| sum.merge(record));
    for resolution in [Resolution::Minute, Resolution::Quarter, Resolution::Hour] {
        let query =
            TimesQuery { resolution: Some(resolution), ..TimesQuery::last(DAY_MS, hive.now_ms()) };
        let told = hive.times(&queue(), &query).await.expect("the times");
        if resolution == Resolution::Minute {
            for record in &told.records {
                let of_histories = expected.get(&record.at).cloned().unwrap_or_default();
                assert_equal(record, &of_histories, "after the kills");
            }
        }
        assert_equal(&told.sum, &sum, &format!("in all, by {resolution:?}"));
    }
    let total = hive.times_total(&queue()).await.expect("the total");
    assert_equal(&total, &sum, "in the total");
    total
}

async fn histories(hive: &Hive) -> Vec<Vec<HistoryEntry>> {
    let filter = Filter::at(JobState::Ended);
    let (mut histories, mut cursor) = (Vec::new(), None);
    loop {
        let page = hive.list(&queue(), &filter, cursor.as_deref(), PAGE_MAX).await.expect("a page");
        histories.extend(page.jobs.iter().map(|job| job.history()));
        let Some(next) = page.next else { return histories };
        cursor = Some(next);
    }
}
