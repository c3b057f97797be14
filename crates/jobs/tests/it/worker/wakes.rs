//! When an idle worker asks for jobs.

use std::time::{Duration, Instant};

use keyrack_jobs::bee::{
    Failure, Hive, Job, Limits, Status, Submission,
    keys::{Jid, Tenant},
    worker::{Context, Duplicates, Settings, Worker},
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

/// How many milliseconds after the end of the first job's attempt a job of another worker began, under these limits.
async fn start_after_failure(hive: &Hive, limits: Limits, tenant: Option<&str>) -> f64 {
    hive.set_limits(&queue(), &limits).await.expect("limits");
    let job = || {
        let job = Submission::to(queue()).retry_delay_ms(60_000.0, false);
        match tenant {
            Some(tenant) => job.tenant(Tenant::new(tenant).expect("a tenant")),
            None => job,
        }
    };
    let first = hive.submit(job()).await.expect("submitted");
    // It fails once its worker takes no more jobs, so that the other one has to take the second.
    let failing = Worker::new(hive).on(queue(), settings(1), async |context: Context| {
        context.shutting_down().await;
        Err::<(), _>(Failure::new("no"))
    });
    let failing = Running::start(failing);
    wait_for_status(hive, &first, Status::Running).await;
    let second = hive.submit(job()).await.expect("submitted");
    let calls = Calls::default();
    let idle = Running::start(Worker::new(hive).on(queue(), settings(1), calls.handler()));
    wait_until_async("the second worker to wait", async || {
        let stats = hive.stats(&queue()).await.expect("stats");
        stats
            .workers
            .iter()
            .filter(|worker| worker.info.as_ref().is_some_and(|it| it.listens))
            .count()
            == 2
    })
    .await;
    let stopping = tokio::spawn(failing.stop());
    let second = wait_for_status(hive, &second, Status::Completed).await;
    stopping.await.expect("stopped");
    idle.stop().await;
    let at = |job: &Job, event: &str| {
        let entry = job.history().into_iter().rfind(|entry| entry.event == event);
        entry.expect("it happened").timestamp
    };
    let first = hive.job(&first).await.expect("the job");
    at(&second, "popped") - at(&first, "exception")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_place_freed_by_a_failed_attempt_is_taken_at_once() {
    on_every_store(async |store| {
        let hive = Hive::open(store).await.expect("a hive");
        let of_queue = Limits { concurrency: Some(1), ..Limits::default() };
        let of_tenant = Limits { tenant_concurrency: Some(1), ..Limits::default() };
        for (limits, tenant) in [(of_queue, None), (of_tenant, Some("acme"))] {
            let late = start_after_failure(&hive, limits, tenant).await;
            assert!((0.0..LATE_MS_MAX).contains(&late), "{late} ms, {tenant:?}");
        }
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
