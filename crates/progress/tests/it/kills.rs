//! Servers and workers that are killed at any time, and the traces that were completed before.
//!
//! `KEYRACK_SEED=n` repeats the times at which they are killed.

use std::future::pending;

use keyrack_jobs::hot::{self, HotWorker, keys::WorkerId};
use keyrack_keys::Key;
use keyrack_progress::{JOBS, NewTrace, Progress, Update, keys};
use keyrack_store::Store;
use keyrack_testkit::{RedisServer, wait_until_async};
use redis::{FromRedisValue, ToRedisArgs};
use tokio::sync::mpsc;

use crate::{
    model::Random,
    rig::{bar, done, goes_on, hot_queue, starts, user},
};

const ROUNDS: usize = 12;
/// The most traces that are completed before the next kill.
const TRACES_MAX: usize = 30;

#[tokio::test(flavor = "multi_thread")]
async fn every_trace_whose_end_was_acknowledged_is_counted() {
    let seed = std::env::var("KEYRACK_SEED").map_or(1, |seed| seed.parse().expect("a number"));
    let mut random = Random::new(seed);
    let mut server = RedisServer::builder().append_only().start();
    let store = Store::open(&server.url()).await.expect("a store");
    let progress = Progress::seeded(store.clone(), hot_queue(), seed);
    let mut ended = Vec::new();
    for round in 0..ROUNDS {
        let id = WorkerId::new(format!("w{round}")).expect("an id");
        let working = tokio::spawn(worker(&progress, id.clone()).run(pending()));
        let (tell, mut told) = mpsc::unbounded_channel();
        let reporting = tokio::spawn(report(progress.clone(), round, tell));
        for _ in 0..1 + random.below(TRACES_MAX) {
            ended.push(told.recv().await.expect("a server that lives"));
        }
        if random.once_in(2) {
            working.abort();
        }
        server.kill();
        working.abort();
        reporting.await.expect("no panic");
        while let Ok(uid) = told.try_recv() {
            ended.push(uid);
        }
        server.restart();
        forget(&store, &id).await;
    }
    let last = WorkerId::new("last").expect("an id");
    let working = tokio::spawn(worker(&progress, last).run(pending()));
    let count = keys::trace_count(&user("alice"), &bar(), &keys::Version::new(0).expect("0"));
    let what = format!("all traces to be counted, KEYRACK_SEED={seed}");
    wait_until_async(&what, async || {
        let scores: Vec<Option<f64>> = ask(&store, "ZMSCORE", &count, &ended).await;
        scores.iter().all(Option::is_some)
    })
    .await;
    working.abort();
    let samples = progress.samples(&user("alice"), "import").await.expect("an answer");
    assert_eq!(samples.expect("the bar").traces.len(), 1, "they all began within an hour");
}

/// Runs through traces until the server is gone; tells of each whose end was acknowledged.
async fn report(progress: Progress, round: usize, tell: mpsc::UnboundedSender<String>) {
    for n in 0.. {
        let (uid, now) = (format!("r{round}-{n}"), progress.now());
        let new = NewTrace { uid: uid.clone(), now, ..starts("open") };
        let next = Update { trace_uid: uid.clone(), now, ..goes_on("close") };
        let last = Update { trace_uid: uid.clone(), now, ..done(goes_on("close")) };
        let reported = async {
            progress.create_trace(&user("alice"), &new).await?;
            progress.update_trace(&user("alice"), &next).await?;
            progress.update_trace(&user("alice"), &last).await
        };
        match reported.await {
            Ok(()) => tell.send(uid).expect("the test listens"),
            Err(error) => return assert!(error.is_transient(), "{error}"),
        }
    }
}

fn worker(progress: &Progress, id: WorkerId) -> HotWorker {
    let mut worker = HotWorker::new(progress.store().clone(), id).reliable();
    for name in JOBS {
        let progress = progress.clone();
        worker = worker.on(name, move |job| {
            let progress = progress.clone();
            async move { Ok(progress.handle(&job.name, &job.kwargs).await?) }
        });
    }
    worker
}

/// Lets the sign of life of a worker run out, as if a minute had passed.
async fn forget(store: &Store, worker: &WorkerId) {
    let is_back = async || store.ping().await.is_ok();
    wait_until_async("the server to be back", is_back).await;
    let long_ago = (store.now_ms() / 1000 - 60).to_string();
    ask::<()>(store, "ZADD", &hot::keys::workers(), (long_ago, worker.as_str())).await;
    ask::<()>(store, "DEL", &hot::keys::alive(worker), &[] as &[&str]).await;
}

async fn ask<T: FromRedisValue>(store: &Store, name: &str, key: &Key, args: impl ToRedisArgs) -> T {
    let mut cmd = redis::cmd(name);
    cmd.arg(&*store.place(key)).arg(args);
    cmd.query_async(&mut store.connection()).await.expect("a reply")
}
