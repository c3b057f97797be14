//! Values and keys that are deleted, and events of many that are stored together.

use keyrack_calculations::{
    Stamp,
    keys::{Calculation, Interval},
};
use keyrack_testkit::on_every_store;

use crate::rig::{LedgerTest, event, event_for};

const ALL: &[&str] = &["sum", "count", "min", "max", "median", "distinct_count", "average"];

fn stamp(text: &str) -> Stamp {
    text.parse().unwrap()
}

#[tokio::test]
async fn results_follow_values_that_are_deleted_on_every_store() {
    on_every_store(async |store| {
        let rig = LedgerTest::new(store).await;
        let of = |value: &str, at: &str| event_for(value, at, &["days", "months"], ALL);
        rig.record(vec![
            of("5", "2014-10-01 10:00:00 Z"),
            of("9", "2014-10-01 11:00:00 Z"),
            of("7", "2014-10-02 11:00:00 Z"),
        ])
        .await;
        let times = [stamp("2014-10-01T11:00:00Z"), stamp("2014-10-03 11:00:00 Z")];
        assert_eq!(rig.ledger.delete_values(&rig.python(), &times).await.unwrap(), 1);
        rig.verify().await;
        assert_eq!(rig.result(Calculation::Max, Interval::Days).await["2014-10-01"], "5");
        assert_eq!(rig.result(Calculation::Sum, Interval::Months).await["2014-10"], "12");
        // The last value of a bucket takes the bucket along.
        let times = [stamp("2014-10-02 11:00:00 Z")];
        assert_eq!(rig.ledger.delete_values(&rig.python(), &times).await.unwrap(), 1);
        let days = rig.result(Calculation::Count, Interval::Days).await;
        assert_eq!(days.keys().collect::<Vec<_>>(), ["2014-10-01"]);
        rig.verify().await;
        rig.record(vec![of("1", "2014-10-02 11:00:00 Z")]).await;
        rig.verify().await;
    })
    .await;
}

#[tokio::test]
async fn key_that_is_deleted_leaves_nothing_and_can_begin_again_on_every_store() {
    on_every_store(async |store| {
        let rig = LedgerTest::new(store).await;
        let keys = async || rig.ledger.keys(&rig.project, &rig.python().dimension).await.unwrap();
        rig.record(vec![event_for("5", "2014-10-01 10:00:00 Z", &["days"], ALL)]).await;
        assert_eq!(keys().await.len(), 1);
        assert!(rig.ledger.delete_key(&rig.python()).await.unwrap());
        assert!(!rig.ledger.delete_key(&rig.python()).await.unwrap());
        assert_eq!(keys().await.len(), 0);
        assert_eq!(rig.ledger.declared(&rig.python()).await.unwrap(), []);
        rig.record(vec![event("3", "2014-10-02 10:00:00 Z", &["days"])]).await;
        let days = rig.result(Calculation::Sum, Interval::Days).await;
        assert_eq!(days.into_iter().collect::<Vec<_>>(), [("2014-10-02".into(), "3".into())]);
        rig.verify().await;
    })
    .await;
}

#[tokio::test]
async fn one_second_is_one_value_however_it_is_written_on_every_store() {
    on_every_store(async |store| {
        let rig = LedgerTest::new(store).await;
        for (value, at) in [
            ("5", "2014-10-17 21:34:07 -0400"),
            ("7", "2014-10-17T21:34:07-04:00"),
            ("8", "2014-10-17 21:34:07-0400"),
        ] {
            rig.record(vec![event(value, at, &["days"])]).await;
            let count = rig.result(Calculation::Count, Interval::Days).await;
            assert_eq!(count["2014-10-17"], "1", "{at}");
        }
        assert_eq!(rig.result(Calculation::Sum, Interval::Days).await["2014-10-17"], "8");
        rig.verify().await;
    })
    .await;
}

#[tokio::test]
async fn times_that_an_earlier_version_stored_in_two_ways_become_one_on_every_store() {
    on_every_store(async |store| {
        let rig = LedgerTest::new(store).await;
        rig.record(vec![event("5", "2014-10-17 21:34:07 -0400", &["days"])]).await;
        let values = keyrack_calculations::keys::values(
            &rig.project,
            &rig.python().dimension,
            &rig.python().key,
            rig.ledger.account(),
        );
        let mut cmd = redis::cmd("HSET");
        cmd.arg(&*rig.ledger.store().place(&values));
        cmd.arg("2014-10-17T21:34:07-04:00").arg("7").arg("2014-10-18T21:34:07-04:00").arg("1");
        cmd.exec_async(&mut rig.ledger.store().connection()).await.unwrap();
        let verdict = rig.ledger.recompute(&rig.python()).await.unwrap();
        assert!(!verdict.differences.is_empty());
        rig.verify().await;
        let sum = rig.result(Calculation::Sum, Interval::Days).await;
        assert_eq!((&*sum["2014-10-17"], &*sum["2014-10-18"]), ("5", "1"));
    })
    .await;
}

#[tokio::test]
async fn median_of_few_values_is_exact_and_never_above_the_largest_on_every_store() {
    on_every_store(async |store| {
        let rig = LedgerTest::new(store).await;
        let of = |value: u32| {
            let at = format!("2014-10-01 00:{:02}:{:02} Z", value / 60, value % 60);
            event_for(&value.to_string(), &at, &["days"], &["median", "percentile_99", "max"])
        };
        rig.record(vec![of(1)]).await;
        let median = rig.result(Calculation::Median, Interval::Days).await;
        assert_eq!(median["2014-10-01"], "1.0");
        for n in 2..=100 {
            rig.record(vec![of(n)]).await;
            let of = async |calculation| -> f64 {
                rig.result(calculation, Interval::Days).await["2014-10-01"].parse().unwrap()
            };
            let exact = f64::from(n.div_ceil(2));
            let median = of(Calculation::Median).await;
            let error = if n <= 32 { 0.0 } else { exact / 64.0 };
            assert!((median - exact).abs() <= error, "{median} of {n}");
            assert!(of(Calculation::Percentile99).await <= of(Calculation::Max).await);
        }
        rig.verify().await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn events_of_many_at_once_are_stored_together_and_each_is_answered_on_every_store() {
    on_every_store(async |store| {
        let rig = LedgerTest::new(store).await;
        let record = async |n: u32| {
            let at = format!("2014-10-01 00:{:02}:{:02} Z", n / 60, n % 60);
            let events = vec![event("1", &at, &["days"])];
            rig.ledger.record(&rig.project, events).await.unwrap().remove(0).unwrap();
        };
        record(0).await;
        let before = version(&rig).await;
        futures_util::future::join_all((1..=200).map(record)).await;
        assert_eq!(rig.result(Calculation::Count, Interval::Days).await["2014-10-01"], "201");
        let commits = version(&rig).await - before;
        assert!(commits <= 20, "{commits} commits for 200 events");
        rig.verify().await;
    })
    .await;
}

/// How often the key has changed.
async fn version(rig: &LedgerTest) -> u64 {
    let python = rig.python();
    let head = keyrack_calculations::keys::head(
        &rig.project,
        &python.dimension,
        &python.key,
        rig.ledger.account(),
    );
    let mut cmd = redis::cmd("HGET");
    cmd.arg(&*rig.ledger.store().place(&head)).arg("version");
    cmd.query_async(&mut rig.ledger.store().connection()).await.unwrap()
}
