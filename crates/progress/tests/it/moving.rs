//! Reports while the slot of their user moves from one node of a cluster to another.

use std::sync::Arc;

use keyrack_engine::SimulatedHost;
use keyrack_progress::Progress;
use keyrack_store::{Options, Store};
use keyrack_testkit::RedisCluster;

use crate::rig::{NOW_MS, ProgressTest, TRACE, done, goes_on, hot_queue, user};

#[tokio::test(flavor = "multi_thread")]
async fn a_report_is_taken_whole_when_the_slot_of_its_user_has_moved() {
    let cluster = RedisCluster::start();
    let clock = SimulatedHost::new(NOW_MS, 1);
    let options = Options { clock: Some(Arc::new(clock.clone())), ..Options::default() };
    let url = cluster.url().parse().expect("a good URL");
    let store = Store::open_with(url, options).await.expect("a store");
    let progress = Progress::seeded(store.clone(), hot_queue(), 1);
    let rig = ProgressTest { progress, clock, user: user("alice") };
    rig.start("read").await;
    let trace = store.place(&rig.trace_key()).into_owned();
    let report = {
        let rig = rig.clone();
        async move { rig.update(&goes_on("write")).await }
    };
    cluster.call_in_moving_slot(&trace, report).await.expect("reported");
    assert_eq!(rig.hash(&rig.trace_key()).await["current_step"], "2");
    assert_eq!(rig.hash(&rig.step_key(1)).await["step_name"], "read");
    assert_eq!(rig.hash(&rig.step_key(2)).await["step_name"], "write");
    rig.accept(&done(goes_on("write"))).await;
    assert!(rig.find(TRACE).await.expect("the trace").done);
    rig.assert_as_declared().await;
}
