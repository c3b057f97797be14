//! What results say: few values, many sizes, the calendar's corners, and the calculations beyond the document's five.

use keyrack_calculations::{
    Direction,
    keys::{Calculation, Interval},
};
use keyrack_testkit::on_every_store;

use crate::rig::{LedgerTest, event, event_for};

#[tokio::test]
async fn few_values_define_few_statistics() {
    on_every_store(async |store| {
        let rig = LedgerTest::new(store).await;
        let fields = async |calculation| {
            rig.result(calculation, Interval::Days).await.into_keys().collect::<Vec<_>>()
        };
        assert!(fields(Calculation::Average).await.is_empty());
        rig.record(vec![event("5", "2014-10-01 00:00:00 Z", &["days"])]).await;
        assert_eq!(fields(Calculation::Average).await, ["average"]);
        assert_eq!(
            rig.statistic(Calculation::StandardDeviation, Interval::Days, "standard_deviation")
                .await,
            Some(0.0)
        );
        assert!(fields(Calculation::LinearRegression).await.is_empty());
        rig.record(vec![event("7", "2014-10-02 00:00:00 Z", &["days"])]).await;
        let names = fields(Calculation::LinearRegression).await;
        assert_eq!(names, ["intercept", "r", "r_squared", "slope"]);
        rig.record(vec![event("9", "2014-10-03 00:00:00 Z", &["days"])]).await;
        let line = rig.result(Calculation::LinearRegression, Interval::Days).await;
        assert_eq!(line["ci_95"], "0.0", "{line:?}");
        assert_eq!((&*line["slope"], &*line["intercept"]), ("2.0", "3.0"));
        assert_eq!((&*line["r"], &*line["r_squared"]), ("1.0", "1.0"));
        rig.verify().await;
    })
    .await;
}

#[tokio::test]
async fn sums_are_exact_for_tiny_huge_and_negative_values() {
    on_every_store(async |store| {
        let rig = LedgerTest::new(store).await;
        let values =
            ["0.1", "0.2", "-0.3", "1e-50", "99999999999999999999.5", "-100000000000000000000"];
        let events = values.iter().enumerate().map(|(n, value)| {
            event(value, &format!("2014-10-01 00:00:{n:02} Z"), &["days", "years"])
        });
        rig.record(events.collect()).await;
        let sum = rig.result(Calculation::Sum, Interval::Years).await;
        assert_eq!(sum["2014"], "-0.49999999999999999999999999999999999999999999999999");
        rig.verify().await;
    })
    .await;
}

#[tokio::test]
async fn events_of_one_moment_go_by_their_own_clocks() {
    on_every_store(async |store| {
        let rig = LedgerTest::new(store).await;
        // Either side of midnight, of the year, of a leap day and of a clock change, by the event's own offset.
        rig.record(vec![
            event("1", "2014-12-31 23:59:59 -0500", &["days", "weeks", "years", "hours"]),
            event("2", "2015-01-01 04:59:59 +0000", &["days"]),
            event("4", "2016-02-29 12:00:00 +0100", &["days"]),
            event("8", "2014-11-02 01:30:00 -0400", &["days"]),
            event("16", "2014-11-02 01:30:00 -0500", &["days"]),
            event("32", "2014-12-29 00:00:00 +0900", &["days"]),
            event("64", "2014-12-28 23:59:59 +0900", &["days"]),
        ])
        .await;
        let sum = async |interval| rig.result(Calculation::Sum, interval).await;
        let days = sum(Interval::Days).await;
        assert_eq!(days["2014-12-31"], "1");
        assert_eq!(days["2015-01-01"], "2");
        assert_eq!(days["2016-02-29"], "4");
        let hours = sum(Interval::Hours).await;
        assert_eq!(hours["2014-11-02 01"], "24", "both half past ones of the night");
        let weeks = sum(Interval::Weeks).await;
        assert_eq!(
            (&*weeks["2015-W01"], &*weeks["2014-W52"], &*weeks["2016-W09"]),
            ("35", "64", "4")
        );
        assert_eq!(sum(Interval::Years).await["2014"], "121");
        rig.verify().await;
    })
    .await;
}

#[tokio::test]
async fn what_is_declared_by_any_event_is_calculated_from_all_values() {
    on_every_store(async |store| {
        let rig = LedgerTest::new(store).await;
        rig.record(vec![event_for("1", "2014-10-01 00:00:00 Z", &["days"], &["sum"])]).await;
        rig.record(vec![event_for("2", "2014-10-01 00:00:01 Z", &["months"], &["count"])]).await;
        rig.record(vec![event_for("4", "2014-10-01 00:00:02 Z", &["days"], &["sum"])]).await;
        assert_eq!(rig.result(Calculation::Sum, Interval::Days).await["2014-10-01"], "7");
        assert_eq!(rig.result(Calculation::Count, Interval::Months).await["2014-10"], "3");
        assert!(rig.result(Calculation::Sum, Interval::Months).await.is_empty());
        rig.verify().await;
    })
    .await;
}

#[tokio::test]
async fn smallest_largest_and_different_values_follow_replacements() {
    on_every_store(async |store| {
        let rig = LedgerTest::new(store).await;
        let calculations = ["min", "max", "distinct_count", "median", "percentile_99", "rate"];
        let send = async |value: &str, second: u32| {
            let at = format!("2014-10-01 00:00:{second:02} Z");
            rig.record(vec![event_for(value, &at, &["days"], &calculations)]).await;
        };
        let found =
            async |calculation| rig.result(calculation, Interval::Days).await["2014-10-01"].clone();
        for (second, value) in [(0, "5"), (1, "-2.5"), (2, "9"), (3, "5.0")] {
            send(value, second).await;
        }
        assert_eq!(found(Calculation::Min).await, "-2.5");
        assert_eq!(found(Calculation::Max).await, "9");
        assert_eq!(found(Calculation::DistinctCount).await, "3");
        // The largest and the smallest go, and one of the two equal ones.
        send("4", 2).await;
        send("6", 1).await;
        send("4", 3).await;
        assert_eq!(found(Calculation::Min).await, "4");
        assert_eq!(found(Calculation::Max).await, "6");
        assert_eq!(found(Calculation::DistinctCount).await, "3");
        let median: f64 = found(Calculation::Median).await.parse().unwrap();
        assert!((median - 4.0).abs() <= 4.0 / 128.0, "{median}");
        let rate: f64 = found(Calculation::Rate).await.parse().unwrap();
        assert_eq!(rate, 19.0 / 86_400.0);
        rig.verify().await;
    })
    .await;
}

#[tokio::test]
async fn series_have_their_gaps_filled() {
    on_every_store(async |store| {
        let rig = LedgerTest::new(store).await;
        rig.record(vec![
            event("1", "2014-10-30 00:00:00 Z", &["days"]),
            event("2", "2014-11-02 00:00:00 Z", &["days"]),
        ])
        .await;
        let series = async |points_max| {
            let python = rig.python();
            let (sum, days) = (Calculation::Sum, Interval::Days);
            let points = rig.ledger.series(&python, sum, days, points_max).await.unwrap();
            let shown = points
                .iter()
                .map(|point| format!("{} {}", point.bucket, point.value.as_deref().unwrap_or("-")));
            shown.collect::<Vec<_>>().join(", ")
        };
        assert_eq!(series(100).await, "2014-10-30 1, 2014-10-31 -, 2014-11-01 -, 2014-11-02 2");
        assert_eq!(series(2).await, "2014-11-01 -, 2014-11-02 2");
    })
    .await;
}

#[tokio::test]
async fn trends_are_told_with_and_without_the_open_bucket() {
    on_every_store(async |store| {
        let rig = LedgerTest::new(store).await;
        let sums = ["10", "21", "29", "41", "50", "61", "3"];
        let events = (1..)
            .zip(sums)
            .map(|(day, sum)| event(sum, &format!("2014-10-{day:02} 00:00:00 Z"), &["days"]));
        rig.record(events.collect()).await;
        let trend = async |with_open| {
            rig.ledger.trend(&rig.python(), Interval::Days, with_open).await.unwrap().unwrap()
        };
        let open = trend(true).await;
        assert_eq!((open.direction, open.confidence, open.buckets), (Direction::Flat, 0, 7));
        let closed = trend(false).await;
        assert_eq!(
            (closed.direction, closed.confidence, closed.buckets),
            (Direction::Rising, 99, 6)
        );
        let next = closed.prediction.unwrap();
        assert!(
            (next.value - 70.733_333_333).abs() < 1e-8 && (3.3..3.4).contains(&next.half_width),
            "{next:?}"
        );
        assert!(rig.ledger.trend(&rig.python(), Interval::Weeks, true).await.unwrap().is_none());
    })
    .await;
}
