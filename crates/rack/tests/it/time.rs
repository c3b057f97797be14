//! Time that a test moves, and jobs that run in the caller.

use std::sync::Arc;

use keyrack::{
    Class, Error, Timestamp,
    jobs::{Status, bee::WorkerTimeouts},
    prelude::*,
};
use tokio::sync::Notify;

use crate::tasks::{Charge, Counter, Receipt, charge};

async fn at_noon() -> (Keyrack, TestTime) {
    let noon: Timestamp = "2026-03-01T12:00:00Z".parse().expect("a time");
    Keyrack::in_memory_at(noon).await.expect("a rack")
}

#[tokio::test(flavor = "multi_thread")]
async fn moved_time_wakes_a_worker_for_what_is_due() {
    let (rack, time) = at_noon().await;
    let jobs = rack.jobs();
    let worker = jobs.worker().on(charge).spawn();
    let job = Charge { cents: 1 }.submit(&jobs).delay(hours(1)).await.expect("submitted");
    let one: Timestamp = "2026-03-01T13:00:00Z".parse().expect("a time");
    let at_one = Charge { cents: 2 }.submit(&jobs).at(one).await.expect("submitted");
    time.advance(mins(59)).await;
    for job in [&job, &at_one] {
        let error = job.result().await.expect_err("not yet");
        assert!(matches!(error, Error::NotEnded { .. }), "{error:?}");
    }
    time.advance(mins(1)).await;
    assert_eq!(time.now(), one);
    assert_eq!(job.wait(secs(30)).await.expect("a receipt"), Receipt::of(1));
    assert_eq!(at_one.wait(secs(30)).await.expect("a receipt"), Receipt::of(2));
    worker.stop().await.expect("stopped");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_runs_while_time_is_moved_stays_with_its_worker() {
    type Bells = Arc<(Notify, Notify)>;
    async fn slow(
        task: Charge,
        State(bells): State<Bells>,
        job: Context,
    ) -> Result<Receipt, BoxError> {
        bells.0.notify_one();
        bells.1.notified().await;
        assert_eq!(job.job().attempts(), 1);
        Ok(Receipt::of(task.cents))
    }
    let (rack, time) = at_noon().await;
    let (jobs, bells) = (rack.jobs(), Bells::default());
    let worker = jobs.worker().state(bells.clone()).on(slow).spawn();
    let job = Charge { cents: 1 }.submit(&jobs).await.expect("submitted");
    bells.0.notified().await;
    time.advance(days(1)).await;
    // Whoever sweeps now would take the job away if it had no lock.
    let queue: QueueName = Charge::QUEUE.parse().expect("a queue");
    let swept = jobs.hive().sweep(&queue, &WorkerTimeouts::KEYRACK, "", &[]).await.expect("swept");
    assert_eq!(swept.taken_away, 0);
    bells.1.notify_one();
    assert_eq!(job.wait(secs(30)).await.expect("a receipt"), Receipt::of(1));
    assert_eq!(job.job().await.expect("stored").attempts(), 1);
    worker.stop().await.expect("stopped");
}

#[tokio::test]
async fn inline_jobs_run_before_the_submission_returns() {
    async fn third_time(task: Charge, tries: State<Counter>) -> Result<Receipt, BoxError> {
        match tries.count() {
            1 => Err("the bank is closed".into()),
            2 => Err(TaskError::snooze(mins(10)).into()),
            _ => Ok(Receipt::of(task.cents)),
        }
    }
    let (rack, time) = at_noon().await;
    let tries = Counter::default();
    let worker = || rack.jobs().worker().state(tries.clone()).on(third_time);
    let jobs = rack.jobs().inline(worker()).expect("good queues");
    let job = Charge { cents: 1 }.submit(&jobs).retries(1).await.expect("submitted");
    assert_eq!((tries.get(), job.status().await.expect("stored")), (1, Status::Retried));
    time.advance(secs(30)).await;
    assert_eq!(worker().run_due().await.expect("run"), 1);
    time.advance(mins(10)).await;
    assert_eq!(worker().run_due().await.expect("run"), 1);
    assert_eq!(job.result().await.expect("a receipt"), Receipt::of(1));
    assert_eq!(worker().run_due().await.expect("nothing is left"), 0);
}

#[tokio::test]
async fn a_job_that_starts_too_late_ends_as_expired() {
    let (rack, time) = at_noon().await;
    let job = Charge { cents: 1 }.submit(&rack).start_within(mins(1)).await.expect("submitted");
    time.advance(mins(2)).await;
    assert_eq!(rack.jobs().worker().on(charge).run_due().await.expect("run"), 0);
    let error = job.result().await.expect_err("too late");
    assert_eq!(error.class(), Class::Conflict);
    assert!(error.to_string().contains("not started within 60000 ms"), "{error}");
}

#[tokio::test]
async fn limits_and_results_go_by_the_same_clock() {
    let (rack, time) = at_noon().await;
    let search = rack.limits().window("search", 1, mins(1)).expect("a limit");
    assert!(search.take("ada").await.expect("taken").allowed);
    assert!(!search.take("ada").await.expect("not taken").allowed);
    time.advance(mins(1)).await;
    assert!(search.take("ada").await.expect("taken").allowed);
}
