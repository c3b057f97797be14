//! The numbers of the key document, from raw events.

use keyrack_calculations::{
    Event,
    keys::{Calculation, Interval},
};
use keyrack_testkit::on_every_store;

use crate::rig::{LedgerTest, event};

/// Mondays of six weeks, and the sums of the weeks.
fn weeks(sums: [u32; 6]) -> Vec<Event> {
    let mondays = ["10-06", "10-13", "10-20", "10-27", "11-03", "11-10"];
    let mut events = Vec::new();
    for (monday, sum) in mondays.iter().zip(sums) {
        // Each week in three parts, at different times of its Monday.
        for (hour, part) in [(3, sum / 3), (9, sum / 3), (21, sum - 2 * (sum / 3))] {
            let at = format!("2014-{monday} {hour:02}:15:00 -0400");
            events.push(event(&part.to_string(), &at, &["weeks"]));
        }
    }
    events
}

#[tokio::test]
async fn six_weeks_give_the_documented_regression() {
    on_every_store(async |store| {
        let rig = LedgerTest::new(store).await;
        rig.record(weeks([61, 61, 102, 95, 61, 102])).await;
        let line = rig.result(Calculation::LinearRegression, Interval::Weeks).await;
        assert_eq!(line["slope"], "5.6571428571428575");
        assert_eq!(line["intercept"], "60.53333333333333");
        // The document's library searched the quantiles to 1e-9.
        for (name, documented) in [
            ("ci_90", 10.552952873877196),
            ("ci_95", 13.743808674832158),
            ("ci_99", 22.79094188400575),
        ] {
            let found: f64 = line[name].parse().unwrap();
            assert!((found / documented - 1.0_f64).abs() < 1e-8, "{name} {found}");
        }
        let average = rig.result(Calculation::Average, Interval::Weeks).await;
        assert_eq!(average["average"], "80.33333333333333");
        let deviation = rig.result(Calculation::StandardDeviation, Interval::Weeks).await;
        assert_eq!(deviation["standard_deviation"], "21.33229164123411");
        rig.verify().await;
    })
    .await;
}

#[tokio::test]
async fn other_sums_with_the_same_moments_give_the_same_line() {
    on_every_store(async |store| {
        let rig = LedgerTest::new(store).await;
        rig.record(weeks([38, 91, 93, 94, 85, 81])).await;
        let line = rig.result(Calculation::LinearRegression, Interval::Weeks).await;
        assert_eq!(
            (&*line["slope"], &*line["intercept"]),
            ("5.6571428571428575", "60.53333333333333")
        );
    })
    .await;
}

#[tokio::test]
async fn months_are_counted_and_averaged_as_documented() {
    on_every_store(async |store| {
        let rig = LedgerTest::new(store).await;
        let mut events = Vec::new();
        // 53 events in October and 29 in November, 438 together.
        for n in 0..53 {
            let at = format!("2014-10-{:02} 12:00:{n:02} -0400", n % 28 + 1);
            events.push(event(if n < 30 { "6" } else { "5" }, &at, &["months"]));
        }
        for n in 0..29 {
            let at = format!("2014-11-{:02} 12:00:{n:02} -0400", n % 28 + 1);
            events.push(event(if n < 2 { "4" } else { "5" }, &at, &["months"]));
        }
        rig.record(events).await;
        let count = rig.result(Calculation::Count, Interval::Months).await;
        assert_eq!((&*count["2014-10"], &*count["2014-11"], count.len()), ("53", "29", 2));
        let average = rig.result(Calculation::Average, Interval::Months).await;
        assert_eq!(average["average"], "219.0");
        rig.verify().await;
    })
    .await;
}
