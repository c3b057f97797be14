//! A store that goes away for a while.

use std::sync::Arc;

use keyrack_engine::SimulatedHost;
use keyrack_progress::{HANDLE_COMPLETED_TRACE, Progress};
use keyrack_store::{Options, Store};
use keyrack_testkit::RedisServer;
use serde_json::{Value, json};

use crate::rig::{BAR, NOW, NOW_MS, ProgressTest, TRACE, hot_queue, user};

#[tokio::test(flavor = "multi_thread")]
async fn a_job_outlasts_a_server_that_restarts() {
    let mut server = RedisServer::builder().append_only().start();
    let clock = SimulatedHost::new(NOW_MS, 1);
    let options = Options { clock: Some(Arc::new(clock.clone())), ..Options::default() };
    let url = server.url().parse().expect("a good URL");
    let store = Store::open_with(url, options).await.expect("a store");
    let progress = Progress::seeded(store, hot_queue(), 1);
    let rig = ProgressTest { progress, clock, user: user("alice") };
    rig.report(TRACE, NOW, &[("work", 0, 3.0)]).await;

    server.kill();
    let refused = rig.progress.handle_completed(&rig.user, BAR, TRACE, None).await;
    assert!(refused.expect_err("nobody answers").is_transient());
    let progress = rig.progress.clone();
    let kwargs = json!({ "user_sub": "alice", "pbar_name": BAR, "trace_uid": TRACE });
    let Value::Object(kwargs) = kwargs else { unreachable!("it is an object") };
    let job = tokio::spawn(async move { progress.handle(HANDLE_COMPLETED_TRACE, &kwargs).await });
    assert!(rig.store().ping().await.is_err(), "the job has begun without a server");
    server.restart();
    assert_eq!(job.await.expect("no panic").expect("done"), None);
    assert_eq!(rig.samples().await.traces.len(), 1);
}
