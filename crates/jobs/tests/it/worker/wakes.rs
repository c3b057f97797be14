//! When an idle worker asks for jobs.

use std::time::{Duration, Instant};

use keyrack_jobs::bee::{
    Failure, Hive, Job, Status, Submission,
    keys::Jid,
    worker::{Duplicates, Settings, Worker},
};
use keyrack_testkit::{on_every_store, wait_until_async};

use super::bench::{Calls, Running, hive, queue, settings, submit, wait_for_status};

/// Far less than the time after which a worker asks though it has heard nothing, and enough on a busy machine.
const LATE_MS_MAX: f64 = 1_500.0;

/// How many milliseconds after its time each delay of a job ended.
fn lateness(job: &Job) -> Vec<f64> {
    let mut due = None;
    let mut late = Vec::new();
    for entry in job.history() {
        match entry.event.as_str() {
            "delayed" => due = entry.more["till"].as_f64(),
            "popped" => late.extend(due.take().map(|due| entry.timestamp - due)),
            _ => {}
        }
    }
    late
}

#[tokio::test(flavor = "multi_thread")]
async fn an_idle_worker_starts_delayed_jobs_and_retries_when_they_are_due() {
    on_every_store(async |store| {
        let hive = Hive::open(store).await.expect("a hive");
        let worker = Worker::new(&hive).on(queue(), settings(2), |context| async move {
            if context.job().retries() == 0 { Err(Failure::new("once more")) } else { Ok(()) }
        });
        let running = Running::start(worker);
        for delay in [150.0, 1.0, 400.0] {
            let job = Submission::to(queue()).delay_ms(delay).retry_delay_ms(100.0, false);
            let jid: Jid = hive.submit(job).await.expect("submitted");
            let late = lateness(&wait_for_status(&hive, &jid, Status::Completed).await);
            assert_eq!(late.len(), 2, "a delay and a retry");
            assert!(late.iter().all(|late| (0.0..LATE_MS_MAX).contains(late)), "{late:?}");
        }
        running.stop().await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_that_is_due_before_others_is_not_kept_waiting_by_them() {
    let hive = hive("embedded:memory").await;
    let calls = Calls::default();
    let running = Running::start(Worker::new(&hive).on(queue(), settings(2), calls.handler()));
    let mut jids = Vec::new();
    for delay in [900.0, 600.0, 300.0] {
        let job = Submission::to(queue()).delay_ms(delay);
        jids.push(hive.submit(job).await.expect("submitted"));
    }
    for jid in &jids {
        let late = lateness(&wait_for_status(&hive, jid, Status::Completed).await);
        assert!(late.iter().all(|late| (0.0..LATE_MS_MAX).contains(late)), "{late:?}");
    }
    let order: Vec<String> = jids.iter().rev().map(ToString::to_string).collect();
    assert_eq!(calls.all(), order);
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_that_claims_only_duplicates_asks_again_at_once() {
    let hive = hive("embedded:memory").await;
    let begun = Instant::now();
    for _ in 0..40 {
        submit(&hive, 7).await;
    }
    let calls = Calls::default();
    let settings = Settings { duplicates: Duplicates::ByData, ..settings(3) };
    let running = Running::start(Worker::new(&hive).on(queue(), settings, calls.handler()));
    wait_until_async("the queue to be empty", async || {
        let stats = hive.stats(&queue()).await.expect("stats");
        (stats.queued, stats.running) == (0, 0)
    })
    .await;
    assert!(begun.elapsed() < Duration::from_secs(10), "it waited between the claims");
    assert_eq!(calls.all().len(), 1, "one is run, the others are its duplicates");
    running.stop().await;
}
