//! Planned failovers of a Sentinel group under load.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use keyrack_jobs::{
    Error,
    bee::{Hive, Submission},
};
use keyrack_store::{Options, ReplicasAcknowledge, Store};
use keyrack_testkit::Sentinel;

use super::fixture::{jid, queue};

const FAILOVERS: usize = 3;
const SUBMITTERS: u64 = 4;

/// Submits jobs one after the other, each until it is acknowledged; returns how many were.
async fn submit_until(
    hive: Hive,
    submitter: u64,
    stop: Arc<AtomicBool>,
    count: Arc<AtomicU64>,
) -> u64 {
    let mut n = 0;
    while !stop.load(Ordering::Relaxed) {
        let job = Submission::to(queue("emails")).id(jid(&format!("s{submitter}-{n}")));
        loop {
            match hive.submit(job.clone()).await {
                // It was saved by an attempt whose acknowledgement did not come, and has been acknowledged now.
                Ok(_) | Err(Error::Exists { .. }) => break,
                Err(error) => {
                    assert!(error.is_transient(), "{error:?}");
                    tokio::time::sleep(Duration::from_millis(5)).await;
                }
            }
        }
        n += 1;
        count.fetch_add(1, Ordering::Relaxed);
    }
    n
}

#[tokio::test(flavor = "multi_thread")]
async fn planned_failovers_lose_no_acknowledged_job_if_a_replica_has_to_have_it() {
    let group = Sentinel::start();
    let wanted = ReplicasAcknowledge { replicas: 1, within: Duration::from_millis(100) };
    let options = Options { replicas_acknowledge: Some(wanted), ..Options::default() };
    let store = Store::open_with(group.url().parse().expect("a URL"), options).await;
    let hive = Hive::open(store.expect("a store")).await.expect("a hive");
    let (stop, count) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
    let submitters: Vec<_> = (0..SUBMITTERS)
        .map(|n| tokio::spawn(submit_until(hive.clone(), n, stop.clone(), count.clone())))
        .collect();
    for _ in 0..FAILOVERS {
        let before = count.load(Ordering::Relaxed);
        let enough = async || count.load(Ordering::Relaxed) > before + 50;
        keyrack_testkit::wait_until_async("jobs to be submitted", enough).await;
        tokio::task::block_in_place(|| group.fail_over());
    }
    stop.store(true, Ordering::Relaxed);
    let mut acknowledged = Vec::new();
    for (submitter, handle) in submitters.into_iter().enumerate() {
        let n = handle.await.expect("a submitter");
        acknowledged.extend((0..n).map(|n| jid(&format!("s{submitter}-{n}"))));
    }
    let mut lost = Vec::new();
    for jid in &acknowledged {
        if hive.job(jid).await.is_err() {
            lost.push(jid);
        }
    }
    assert!(lost.is_empty(), "{} of {} were lost: {lost:?}", lost.len(), acknowledged.len());
}
