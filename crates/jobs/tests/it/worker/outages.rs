//! A server that goes away under load.

use std::{
    collections::HashMap,
    time::{Duration, Instant},
};

use keyrack_jobs::bee::{Status, Submission, worker::Worker};
use keyrack_testkit::RedisServer;

use super::bench::{Calls, Running, count, hive, queue, settings, wait_for_status};

/// What the product promises: workers go on this long after the server's return.
const HEALED_AFTER_MAX: Duration = Duration::from_secs(2);

/// Stops a server under load and starts it again. Every job ends once.
async fn survives(outage: Duration) {
    let mut server = RedisServer::builder().append_only().config("appendfsync", "always").start();
    let hive = hive(&server.url()).await;
    let calls = Calls::default();
    let running = Running::start(Worker::new(&hive).on(queue(), settings(10), calls.handler()));

    let submitter = hive.clone();
    let (stop, mut stopped) = tokio::sync::oneshot::channel::<()>();
    let load = tokio::spawn(async move {
        let mut jids = Vec::new();
        while stopped.try_recv().is_err() {
            let jobs = (0..10).map(|n| Submission::to(queue()).arg(n)).collect();
            // What was not acknowledged is not counted on.
            if let Ok(answers) = submitter.submit_many(jobs).await {
                jids.extend(answers.into_iter().filter_map(Result::ok));
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        jids
    });

    while calls.all().len() < 500 {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    server.stop();
    let down_since = Instant::now();
    let seen = calls.all().len();
    tokio::time::sleep(outage.saturating_sub(down_since.elapsed())).await;
    server.restart();
    let returned = Instant::now();
    while calls.all().len() < seen + 50 {
        assert!(returned.elapsed() < HEALED_AFTER_MAX, "no job was run since the server's return");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let _ = stop.send(());
    let jids = load.await.expect("the load");
    for jid in &jids {
        let job = wait_for_status(&hive, jid, Status::Completed).await;
        assert_eq!(count(&job, "completed"), 1, "{jid}");
    }
    let mut runs: HashMap<String, usize> = HashMap::new();
    calls.all().into_iter().for_each(|jid| *runs.entry(jid).or_default() += 1);
    let repeated = runs.values().filter(|runs| **runs > 1).count();
    assert!(repeated <= 20, "{repeated} jobs ran more than once; only those under way may");
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn workers_go_on_after_an_outage_of_three_seconds() {
    survives(Duration::from_secs(3)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn workers_go_on_after_an_outage_of_thirty_seconds() {
    survives(Duration::from_secs(30)).await;
}
