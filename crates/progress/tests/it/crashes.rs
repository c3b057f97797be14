//! What a crash can leave behind between any two steps, and that it does no harm.

use std::sync::Arc;

use keyrack_jobs::hot::{HotWorker, keys::WorkerId};
use keyrack_keys::Layout;
use keyrack_progress::{CountOutcome, JOBS, Progress, keys};
use keyrack_testkit::wait_until_async;

use crate::rig::{BAR, NOW, ProgressTest, TRACE, done, everywhere, goes_on, hot_queue};

const LEGS: &[(&str, u64, f64)] = &[("open", 0, 1.0), ("read", 3, 2.0)];

#[tokio::test]
async fn no_completed_trace_is_lost_or_counted_twice() {
    everywhere(async |rig| {
        a_trace_is_counted_once_however_often_the_job_runs(&rig.of("twice")).await;
        workers_that_count_at_the_same_time_count_once(&rig.of("together")).await;
        a_job_for_an_earlier_run_does_not_count_the_present_one(&rig.of("stale")).await;
        what_is_left_in_an_outbox_is_found(&rig.of("outbox")).await;
    })
    .await;
}

#[tokio::test]
async fn a_worker_that_dies_after_taking_the_job_loses_nothing() {
    everywhere(async |rig| {
        let taken = WorkerId::new("lost").expect("an id");
        rig.report(TRACE, NOW, LEGS).await;
        // The worker has taken the job and is gone: no sign of life, and the job is still with it.
        let aside = keyrack_jobs::hot::keys::taken(&taken);
        let entry: String = rig.ask("LPOP", &hot_queue(), &[]).await;
        rig.ask::<()>("RPUSH", &aside, &[&entry]).await;
        let workers = keyrack_jobs::hot::keys::workers();
        rig.ask::<()>("ZADD", &workers, &["1", taken.as_str()]).await;

        let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
        let worker = tokio::spawn(worker(&rig.progress).run(async { drop(stopped.await) }));
        let counted =
            async || !rig.progress.list_traces(&rig.user, None).await.expect("traces").is_empty();
        wait_until_async("the trace is counted", counted).await;
        stop.send(()).expect("the worker runs");
        worker.await.expect("the worker stops");
        assert_eq!(rig.samples().await.traces.len(), 1);
        rig.ask::<()>("DEL", &workers, &[]).await;
    })
    .await;
}

/// A worker in reliable mode, as a program sets one up.
fn worker(progress: &Progress) -> HotWorker {
    let id = WorkerId::new("worker").expect("an id");
    let mut worker = HotWorker::new(progress.store().clone(), id).reliable();
    let progress = Arc::new(progress.clone());
    for name in JOBS {
        let progress = progress.clone();
        worker = worker.on(name, move |job| {
            let progress = progress.clone();
            async move { Ok(progress.handle(&job.name, &job.kwargs).await?) }
        });
    }
    worker
}

async fn a_trace_is_counted_once_however_often_the_job_runs(rig: &ProgressTest) {
    rig.report(TRACE, NOW, LEGS).await;
    assert_eq!(rig.count(TRACE).await, CountOutcome::Counted { version: 0, retained: true });
    let first = rig.samples().await;
    for _ in 0..3 {
        assert_eq!(rig.count(TRACE).await, CountOutcome::Nothing);
    }
    assert_eq!(rig.samples().await, first);
}

async fn workers_that_count_at_the_same_time_count_once(rig: &ProgressTest) {
    let uids: Vec<String> = (0..8).map(|n| format!("t{n}")).collect();
    for uid in &uids {
        rig.report(uid, NOW, LEGS).await;
    }
    let mut workers = tokio::task::JoinSet::new();
    for uid in uids.iter().chain(&uids).chain(&uids) {
        let (rig, uid) = (rig.clone(), uid.clone());
        workers.spawn(async move { rig.count(&uid).await });
    }
    let handled = workers.join_all().await;
    let counted = handled.iter().filter(|handled| **handled != CountOutcome::Nothing).count();
    assert_eq!(counted, 8);
    let samples = rig.samples().await;
    assert_eq!(samples.bar.version, 0, "the bar was made once");
    assert_eq!(samples.traces.len(), 1, "they all began at the same time");
}

async fn a_job_for_an_earlier_run_does_not_count_the_present_one(rig: &ProgressTest) {
    rig.report(TRACE, NOW, LEGS).await;
    rig.start("open").await;
    assert_eq!(rig.samples().await.traces.len(), 1, "the earlier run was counted before");
    assert_eq!(rig.count(TRACE).await, CountOutcome::Nothing, "it is under way again");
    rig.accept(&done(goes_on("open"))).await;
    assert_eq!(rig.count(TRACE).await, CountOutcome::Counted { version: 1, retained: true });
    assert_eq!(rig.samples().await.steps.len(), 2, "the steps are those of the present run");
}

/// On a cluster a crash can come after the trace was completed and before the job is in the queue.
async fn what_is_left_in_an_outbox_is_found(rig: &ProgressTest) {
    rig.report(TRACE, NOW, LEGS).await;
    let before = rig.queued().await;
    let Some(entry) = before.last() else { panic!("the job is queued") };
    if rig.store().layout() == Layout::Documented {
        assert_eq!(rig.progress.empty_outboxes().await.expect("moved"), 0);
        assert!(!rig.exists(&keys::outboxes()).await, "one step does without");
        return;
    }
    let outbox = keys::outbox(&rig.user);
    assert!(!rig.exists(&outbox).await, "the job has left the outbox");
    rig.ask::<()>("RPOP", &hot_queue(), &[]).await;
    rig.ask::<()>("RPUSH", &outbox, &[entry]).await;
    assert_eq!(rig.progress.empty_outboxes().await.expect("moved"), 1);
    assert_eq!(rig.queued().await, before);
    assert!(!rig.exists(&outbox).await);
    assert!(rig.exists(&keys::outboxes()).await, "the user stays listed for an hour");
    rig.clock.advance_ms(3_700_000);
    assert_eq!(rig.progress.empty_outboxes().await.expect("moved"), 0);
    assert!(!rig.exists(&keys::outboxes()).await);
    let handled = rig.progress.handle_completed(&rig.user, BAR, TRACE, None).await;
    assert!(matches!(handled, Ok(CountOutcome::Counted { retained: true, .. })));
}
