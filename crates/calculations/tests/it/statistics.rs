//! Statistics agree with SciPy's, from the smallest series to long ones.
//!
//! `tests/data/make_statistics.py` says how the reference was made.

use keyrack_calculations::{
    Bucket, Event,
    keys::{Calculation, Interval},
    settings::Labels,
};
use keyrack_testkit::on_every_store;

use crate::rig::{LedgerTest, Random, event};

/// The n-th day from some day on, as the time of an event.
fn day(n: u64) -> String {
    let first = jiff::civil::date(2000, 1, 1).at(12, 0, 0, 0);
    let wall = first.checked_add(jiff::Span::new().days(n as i64)).unwrap();
    format!("{} 12:00:00 Z", Bucket::of(Interval::Days, wall).label(Labels::Prefix))
}

/// The same series as in the script that made the reference.
fn series(n: u64, lean: i64, exponent: i64) -> Vec<Event> {
    let mut random = Random(n);
    let values = (0..n).map(|i| {
        let whole = random.below(2_000_001) as i64 - 1_000_000 + i as i64 * lean;
        event(&format!("{whole}e{exponent}"), &day(i), &["days"])
    });
    values.collect()
}

#[track_caller]
fn check(found: Option<f64>, expected: &str, what: &str) {
    let expected: Option<f64> = (expected != "-").then(|| expected.parse().unwrap());
    let (Some(found), Some(expected)) = (found, expected) else {
        assert_eq!(found, expected, "{what}");
        return;
    };
    let error = (found - expected).abs();
    assert!(error <= expected.abs() * 1e-9, "{what}: {found} is not {expected}");
}

#[tokio::test]
async fn statistics_agree_with_scipy() {
    on_every_store(async |store| {
        let reference = include_str!("../data/statistics.tsv");
        let rows = reference.lines().filter(|line| !line.starts_with('#'));
        let mut checked = 0;
        for (at, line) in rows.enumerate() {
            let project = format!("row-{at}").parse().unwrap();
            check_row(&LedgerTest { project, ..LedgerTest::new(store.clone()).await }, line).await;
            checked += 1;
        }
        assert!(checked >= 60, "{checked}");
    })
    .await;
}

/// One series, and what SciPy says of it.
async fn check_row(rig: &LedgerTest, line: &str) {
    let cells: Vec<&str> = line.split('\t').collect();
    let [n, lean, exponent] =
        [cells[0], cells[1], cells[2]].map(|cell| cell.parse::<i64>().unwrap());
    rig.record(series(n as u64, lean, exponent)).await;
    let found = async |calculation, name| rig.statistic(calculation, Interval::Days, name).await;
    let average = found(Calculation::Average, "average").await;
    check(average, cells[3], &format!("average of {line}"));
    let deviation = found(Calculation::StandardDeviation, "standard_deviation").await;
    check(deviation, cells[4], &format!("deviation of {line}"));
    let names = ["slope", "intercept", "ci_90", "ci_95", "ci_99"];
    for (name, expected) in names.into_iter().zip(&cells[6..]) {
        let statistic = found(Calculation::LinearRegression, name).await;
        check(statistic, expected, &format!("{name} of {line}"));
    }
}
