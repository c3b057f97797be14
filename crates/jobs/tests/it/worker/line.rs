//! Jobs that a quick worker claims ahead.

use std::{
    collections::HashSet,
    sync::{
        Arc,
        atomic::{AtomicUsize as Counter, Ordering},
    },
};

use keyrack_jobs::bee::{Status, Submission, worker::Worker};
use keyrack_testkit::wait_until_async;
use tokio::sync::Notify;

use super::bench::{Calls, Running, hive, queue, settings, submit, wait_for_status};

const N_QUICK: usize = 3_000;
const N_BEHIND: usize = 50;

#[tokio::test(flavor = "multi_thread")]
async fn jobs_behind_a_slow_one_go_to_others_even_if_they_were_claimed_ahead() {
    let hive = hive("embedded:memory").await;
    let jobs = (0..N_QUICK).map(|n| Submission::to(queue()).arg(n)).collect();
    hive.submit_many(jobs).await.expect("submitted");
    let slow = submit(&hive, usize::MAX).await;
    let mut behind = Vec::new();
    for n in 0..N_BEHIND {
        behind.push(submit(&hive, n).await);
    }
    let (slow_jid, may_end) = (slow.to_string(), Arc::new(Notify::new()));
    let waits = Arc::clone(&may_end);
    let worker = Worker::new(&hive).on(queue(), settings(1), move |context| {
        let (is_slow, waits) = (context.job().jid() == slow_jid, Arc::clone(&waits));
        async move {
            if is_slow {
                waits.notified().await;
            }
            Ok(())
        }
    });
    let first = Running::start(worker);
    wait_for_status(&hive, &slow, Status::Running).await;
    let calls = Calls::default();
    let second = Running::start(Worker::new(&hive).on(queue(), settings(1), calls.handler()));
    for jid in &behind {
        wait_for_status(&hive, jid, Status::Completed).await;
    }
    assert_eq!(hive.job(&slow).await.expect("a job").status(), Status::Running);
    may_end.notify_one();
    wait_for_status(&hive, &slow, Status::Completed).await;
    first.stop().await;
    second.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_never_runs_more_at_once_than_it_may() {
    let hive = hive("embedded:memory").await;
    let jobs = (0..N_QUICK).map(|n| Submission::to(queue()).arg(n)).collect();
    hive.submit_many(jobs).await.expect("submitted");
    let (running, most) = (Arc::default(), Arc::default());
    let calls = Calls::default();
    let counts: (Arc<Counter>, Arc<Counter>, Calls) =
        (Arc::clone(&running), Arc::clone(&most), calls.clone());
    let worker = Worker::new(&hive).on(queue(), settings(3), move |context| {
        let (running, most, calls) = counts.clone();
        async move {
            let n = running.fetch_add(1, Ordering::SeqCst) + 1;
            most.fetch_max(n, Ordering::SeqCst);
            tokio::task::yield_now().await;
            calls.note(&context);
            running.fetch_sub(1, Ordering::SeqCst);
            Ok(())
        }
    });
    let worker = Running::start(worker);
    wait_until_async("all to be handled", async || calls.all().len() >= N_QUICK).await;
    worker.stop().await;
    assert_eq!(calls.all().into_iter().collect::<HashSet<_>>().len(), N_QUICK);
    assert_eq!((calls.all().len(), most.load(Ordering::SeqCst)), (N_QUICK, 3));
}
