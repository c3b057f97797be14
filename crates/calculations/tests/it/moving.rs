//! Events while the slot of their account moves from one node of a cluster to another.

use keyrack_calculations::keys;
use keyrack_store::Store;
use keyrack_testkit::RedisCluster;

use crate::rig::{LedgerTest, event};

#[tokio::test(flavor = "multi_thread")]
async fn an_event_is_recorded_whole_when_the_slot_of_its_account_has_moved() {
    let cluster = RedisCluster::start();
    let store = Store::open(&cluster.url()).await.expect("a store");
    let rig = LedgerTest::new(store.clone()).await;
    let at =
        |second, value| vec![event(value, &format!("2014-10-17 21:34:0{second} -0400"), &["days"])];
    rig.record(at(1, "1.5")).await;
    let projects = store.place(&keys::projects(rig.ledger.account())).into_owned();
    let (ledger, project, second) = (rig.ledger.clone(), rig.project.clone(), at(2, "2.5"));
    let record = async move { ledger.record(&project, second).await };
    let outcomes = cluster.call_in_moving_slot(&projects, record).await.expect("recorded");
    assert!(outcomes.iter().all(Result::is_ok), "{outcomes:?}");
    rig.record(at(3, "4")).await;
    let (sum, days) = (keys::Calculation::Sum, keys::Interval::Days);
    let sums = rig.result(sum, days).await;
    assert!(sums.values().any(|sum| sum.parse() == Ok(8.0)), "{sums:?}");
    rig.verify().await;
}
