//! Settings: each changes what it says, for values that are there and for those that come.

use keyrack_calculations::{
    Error, Rule, Settings,
    keys::{Calculation, Interval, RuleType},
};
use keyrack_testkit::on_every_store;

use crate::rig::{LedgerTest, event, event_for};

async fn set(rig: &LedgerTest, changes: &[(&str, &str)]) {
    let mut settings = Settings::default();
    changes.iter().for_each(|(name, value)| settings.set(name, value).unwrap());
    rig.ledger.set_settings(&rig.project, &settings).await.unwrap();
    assert_eq!(rig.ledger.settings(&rig.project).await.unwrap(), settings);
}

#[tokio::test]
async fn what_happens_to_a_second_value_is_a_setting() {
    on_every_store(async |store| {
        for (policy, expected) in [
            ("replace", "3"),
            ("sum", "15"),
            ("first", "5"),
            ("max", "7"),
            ("min", "3"),
            ("reject", "5"),
        ] {
            for batched in [true, false] {
                let project = format!("{policy}-{batched}").parse().unwrap();
                let rig = LedgerTest { project, ..LedgerTest::new(store.clone()).await };
                set(&rig, &[("duplicates", policy)]).await;
                let refused = refused_of(&rig, ["5", "7", "3"], batched).await;
                assert_eq!(refused, if policy == "reject" { 2 } else { 0 }, "{policy}");
                let sum = rig.result(Calculation::Sum, Interval::Days).await;
                assert_eq!(sum["2014-10-01"], expected, "{policy}, batched: {batched}");
                rig.verify().await;
            }
        }
    })
    .await;
}

/// How many of some values of one time are refused.
async fn refused_of(rig: &LedgerTest, values: [&str; 3], batched: bool) -> usize {
    let events = values.map(|value| event(value, "2014-10-01 00:00:00 Z", &["days"]));
    let mut told = Vec::new();
    if batched {
        told = rig.ledger.record(&rig.project, events.to_vec()).await.unwrap();
    } else {
        for event in events {
            told.extend(rig.ledger.record(&rig.project, vec![event]).await.unwrap());
        }
    }
    told.iter().filter(|told| matches!(told, Err(Error::Invalid { .. }))).count()
}

#[tokio::test]
async fn an_event_that_says_the_same_again_is_not_refused() {
    on_every_store(async |store| {
        let rig = LedgerTest::new(store).await;
        set(&rig, &[("duplicates", "reject")]).await;
        rig.record(vec![event("5", "2014-10-01 00:00:00 Z", &["days"])]).await;
        rig.record(vec![event("5.0", "2014-10-01 00:00:00 Z", &["days"])]).await;
    })
    .await;
}

#[tokio::test]
async fn labels_zone_gaps_deviation_and_undefined_can_be_changed_afterwards() {
    on_every_store(async |store| {
        let rig = LedgerTest::new(store).await;
        rig.record(vec![
            event("4", "2014-10-01 23:30:00 -0400", &["days", "hours"]),
            event("10", "2014-10-04 12:00:00 -0400", &["days", "hours"]),
        ])
        .await;
        set(&rig, &[("zone", "Europe/Berlin"), ("labels", "compact"), ("gaps", "calendar")]).await;
        let days = rig.result(Calculation::Sum, Interval::Days).await;
        assert_eq!(days.keys().collect::<Vec<_>>(), ["20141002", "20141004"]);
        let average = rig.statistic(Calculation::Average, Interval::Days, "average").await;
        assert_eq!(average, Some(14.0 / 3.0));
        rig.record(vec![event("1", "2014-10-05 23:59:59 -0400", &["days"])]).await;
        assert_eq!(rig.result(Calculation::Sum, Interval::Days).await["20141006"], "1");
        rig.verify().await;
        set(&rig, &[("deviation", "population"), ("undefined", "zero")]).await;
        let deviation = rig.result(Calculation::StandardDeviation, Interval::Days).await;
        let deviation: f64 = deviation["standard_deviation"].parse().unwrap();
        assert!((deviation - 14.0_f64.sqrt()).abs() < 1e-12, "{deviation}");
        rig.verify().await;
    })
    .await;
}

#[tokio::test]
async fn undefined_numbers_can_be_zero() {
    on_every_store(async |store| {
        let rig = LedgerTest::new(store).await;
        set(&rig, &[("undefined", "zero")]).await;
        rig.record(vec![event("4", "2014-10-01 00:00:00 Z", &["days"])]).await;
        let line = rig.result(Calculation::LinearRegression, Interval::Days).await;
        assert_eq!((line.len(), &*line["slope"]), (7, "0.0"));
    })
    .await;
}

#[tokio::test]
async fn events_can_update_only_what_they_name() {
    on_every_store(async |store| {
        let rig = LedgerTest::new(store).await;
        set(&rig, &[("updates", "event")]).await;
        let at = |second: u32| format!("2014-10-01 00:00:{second:02} Z");
        rig.record(vec![event_for("1", &at(0), &["days"], &["sum", "count"])]).await;
        rig.record(vec![event_for("2", &at(1), &["days"], &["sum"])]).await;
        let found =
            async |calculation| rig.result(calculation, Interval::Days).await["2014-10-01"].clone();
        assert_eq!(
            (found(Calculation::Sum).await, found(Calculation::Count).await),
            ("3".into(), "1".into())
        );
        rig.ledger.recompute(&rig.python()).await.unwrap();
        assert_eq!(found(Calculation::Count).await, "2");
    })
    .await;
}

#[tokio::test]
async fn a_rule_can_fire_with_every_update() {
    on_every_store(async |store| {
        let rig = LedgerTest::new(store).await;
        set(&rig, &[("firing", "update")]).await;
        let fields = [
            ("dimension", "job-skills"),
            ("key", "python"),
            ("interval", "days"),
            ("calculation", "sum"),
            ("operator", ">"),
            ("threshold", "1"),
        ];
        let fields = fields.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let rule = Rule::from_fields(RuleType::Comparator, &fields.into()).unwrap();
        rig.ledger.create_rule(&rig.project, &rule).await.unwrap();
        for second in 0..3 {
            let at = format!("2014-10-01 00:00:{second:02} Z");
            rig.record(vec![event("1", &at, &["days"])]).await;
        }
        let said = rig.ledger.output_events(&rig.python()).await.unwrap();
        let values: Vec<&str> =
            said.iter().map(|event| event.fields["calculated_value"].as_str()).collect();
        assert_eq!(values, ["2", "3"]);
    })
    .await;
}
