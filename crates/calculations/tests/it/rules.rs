//! Rules: when they fire, how often, and what they say.

use std::collections::HashMap;

use keyrack_calculations::{
    Accounts, Error, OutputEvent, Rule,
    keys::{self, RuleType},
};
use keyrack_testkit::{on_every_store, on_every_store_at};

use crate::rig::{LedgerTest, event, event_for};

fn rule(kind: RuleType, fields: &[(&str, &str)]) -> Rule {
    let common = [("dimension", "job-skills"), ("key", "python"), ("interval", "days")];
    let fields: HashMap<String, String> = common
        .iter()
        .chain(fields)
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .collect();
    Rule::from_fields(kind, &fields).unwrap()
}

fn comparator(fields: &[(&str, &str)]) -> Rule {
    rule(RuleType::Comparator, fields)
}

async fn said(rig: &LedgerTest) -> Vec<OutputEvent> {
    rig.ledger.output_events(&rig.python()).await.unwrap()
}

/// `fired 2014-10-01 12`, for each event.
async fn shown(rig: &LedgerTest) -> Vec<String> {
    let events = said(rig).await;
    let shown = events.iter().map(|event| {
        format!(
            "{} {} {}",
            event.fields["event_type"], event.fields["bucket"], event.fields["calculated_value"]
        )
    });
    shown.collect()
}

#[tokio::test]
async fn a_comparator_fires_once_for_each_bucket() {
    on_every_store(async |store| {
        let rig = LedgerTest::new(store).await;
        let rule = comparator(&[("calculation", "sum"), ("operator", ">="), ("threshold", "10")]);
        let number = rig.ledger.create_rule(&rig.project, &rule).await.unwrap();
        for (at, value) in [
            ("2014-10-01 00:00:00 Z", "9.99"),
            ("2014-10-01 00:00:01 Z", "0.01"),
            ("2014-10-01 00:00:02 Z", "5"),
            ("2014-10-02 00:00:00 Z", "50"),
            ("2014-10-01 00:00:02 Z", "-5"),
            ("2014-10-01 00:00:03 Z", "50"),
        ] {
            rig.record(vec![event_for(value, at, &["days"], &["count"])]).await;
        }
        assert_eq!(shown(&rig).await, ["fired 2014-10-01 10", "fired 2014-10-02 50"]);
        let first = &said(&rig).await[0];
        assert_eq!(first.fields["rule"], number.to_string());
        assert_eq!(first.fields["threshold"], "10");
        assert_eq!(first.fields["account_id"], "7");
        rig.verify().await;
    })
    .await;
}

#[tokio::test]
async fn what_rules_said_is_listed_by_number() {
    on_every_store(async |store| {
        let rig = LedgerTest::new(store).await;
        let rule = comparator(&[("calculation", "sum"), ("operator", ">"), ("threshold", "1")]);
        rig.ledger.create_rule(&rig.project, &rule).await.unwrap();
        assert!(rig.ledger.said_since(0).await.unwrap().is_empty());
        for day in 1..=3 {
            let at = format!("2014-10-0{day} 00:00:00 Z");
            rig.record(vec![event_for("5", &at, &["days"], &["sum"])]).await;
        }
        let since = async |number| {
            let said = rig.ledger.said_since(number).await.unwrap();
            said.into_iter()
                .map(|one| (one.number, one.fields["bucket"].clone()))
                .collect::<Vec<_>>()
        };
        let all = [(1, "2014-10-01"), (2, "2014-10-02"), (3, "2014-10-03")];
        let all = all.map(|(number, bucket)| (number, bucket.to_owned()));
        assert_eq!(since(0).await, all);
        assert_eq!(since(2).await, all[2..]);
        assert!(since(3).await.is_empty());
        assert_eq!(since(9).await, all, "the account was made anew");
        let first = rig.ledger.said_since(0).await.unwrap().remove(0);
        assert_eq!((first.kind.as_str(), first.fields["threshold"].as_str()), ("fired", "1"));
    })
    .await;
}

#[tokio::test]
async fn equality_is_exact() {
    on_every_store(async |store| {
        let rig = LedgerTest::new(store).await;
        let rule = comparator(&[("calculation", "sum"), ("operator", "="), ("threshold", "0.30")]);
        rig.ledger.create_rule(&rig.project, &rule).await.unwrap();
        rig.record(vec![event("0.1", "2014-10-01 00:00:00 Z", &["days"])]).await;
        rig.record(vec![event("0.2", "2014-10-01 00:00:01 Z", &["days"])]).await;
        assert_eq!(shown(&rig).await, ["fired 2014-10-01 0.3"]);
    })
    .await;
}

#[tokio::test]
async fn hold_times_keep_a_rule_from_flapping() {
    on_every_store_at(1_000_000, async |store, clock| {
        let rig = LedgerTest::new(store).await;
        let rule = comparator(&[
            ("calculation", "count"),
            ("operator", ">"),
            ("threshold", "0"),
            ("hold_ms", "1000"),
        ]);
        rig.ledger.create_rule(&rig.project, &rule).await.unwrap();
        let sum = comparator(&[
            ("calculation", "sum"),
            ("operator", ">"),
            ("threshold", "100"),
            ("resolve_ms", "500"),
        ]);
        rig.ledger.create_rule(&rig.project, &sum).await.unwrap();
        let send = async |value: &str, second: u32| {
            let at = format!("2014-10-01 00:00:{second:02} Z");
            rig.record(vec![event_for(value, &at, &["days"], &["sum"])]).await;
        };
        send("200", 0).await;
        assert_eq!(shown(&rig).await, ["fired 2014-10-01 200"], "the count has to hold first");
        clock.advance_ms(999);
        send("1", 0).await;
        assert_eq!(shown(&rig).await.len(), 1, "neither has held long enough");
        clock.advance_ms(499);
        send("2", 0).await;
        let fired = "fired 2014-10-01 1";
        assert_eq!(shown(&rig).await, ["fired 2014-10-01 200", fired], "held for over a second");
        clock.advance_ms(1);
        send("3", 0).await;
        let all = ["fired 2014-10-01 200", fired, "resolved 2014-10-01 3"];
        assert_eq!(shown(&rig).await, all);
        send("300", 0).await;
        assert_eq!(shown(&rig).await, all, "once for each bucket");
    })
    .await;
}

#[tokio::test]
async fn an_observer_fires_when_enough_keys_are_first_seen() {
    on_every_store(async |store| {
        let rig = LedgerTest::new(store).await;
        let rule = rule(RuleType::Observer, &[("watch", "keys"), ("trigger", "3")]);
        rig.ledger.create_rule(&rig.project, &rule).await.unwrap();
        for key in ["ruby", "java", "ruby", "python", "go"] {
            let event = keyrack_calculations::Event::new(
                "job-skills",
                key,
                "1",
                "2014-10-01 00:00:00 Z",
                &["days"],
                &["sum"],
            );
            rig.record(vec![event.unwrap()]).await;
        }
        let events = said(&rig).await;
        assert_eq!(events.len(), 1, "python was the third key: {events:?}");
        assert_eq!(events[0].fields["trigger"], "3");
        assert!(rig.ledger.output_events(&rig.key("go")).await.unwrap().is_empty());
    })
    .await;
}

#[tokio::test]
async fn an_observer_can_wait_before_it_fires() {
    on_every_store_at(1_000_000, async |store, clock| {
        let accounts = Accounts::open(store.clone());
        let rig = LedgerTest::new(store).await;
        let fields = [("watch", "keys"), ("trigger", "1"), ("hold_ms", "2000")];
        rig.ledger.create_rule(&rig.project, &rule(RuleType::Observer, &fields)).await.unwrap();
        rig.record(vec![event("1", "2014-10-01 00:00:00 Z", &["days"])]).await;
        clock.advance_ms(1_999);
        assert_eq!(accounts.judge_due().await.unwrap(), 0);
        clock.advance_ms(1);
        assert_eq!(accounts.judge_due().await.unwrap(), 1);
        let events = said(&rig).await;
        assert_eq!((events.len(), &*events[0].fields["event_type"]), (1, "fired"));
    })
    .await;
}

#[tokio::test]
async fn events_are_told_in_the_order_of_their_numbers() {
    on_every_store(async |store| {
        let rig = LedgerTest::new(store).await;
        let rule = comparator(&[("calculation", "count"), ("operator", ">="), ("threshold", "1")]);
        rig.ledger.create_rule(&rig.project, &rule).await.unwrap();
        for day in 1..=12 {
            rig.record(vec![event("1", &format!("2014-10-{day:02} 00:00:00 Z"), &["days"])]).await;
        }
        let numbers: Vec<u64> = said(&rig).await.iter().map(|event| event.number).collect();
        assert_eq!(numbers, (1..=12).collect::<Vec<u64>>());
    })
    .await;
}

/// A comparator of the sum that has to hold for a second and to have ceased for half of one.
fn patient() -> Rule {
    comparator(&[
        ("calculation", "sum"),
        ("operator", ">"),
        ("threshold", "100"),
        ("hold_ms", "1000"),
        ("resolve_ms", "500"),
    ])
}

#[tokio::test]
async fn a_rule_that_waits_speaks_when_its_time_has_come_without_another_event() {
    on_every_store_at(1_000_000, async |store, clock| {
        let accounts = Accounts::open(store.clone());
        let rig = LedgerTest::new(store).await;
        rig.ledger.create_rule(&rig.project, &patient()).await.unwrap();
        let at = "2014-10-01 00:00:00 Z";
        rig.record(vec![event_for("200", at, &["days"], &["sum"])]).await;
        clock.advance_ms(500);
        rig.record(vec![event_for("300", at, &["days"], &["sum"])]).await;
        clock.advance_ms(499);
        assert_eq!(accounts.judge_due().await.unwrap(), 0, "not yet");
        clock.advance_ms(1);
        assert_eq!(accounts.judge_due().await.unwrap(), 1);
        assert_eq!(shown(&rig).await, ["fired 2014-10-01 300"], "what was so at the end");
        assert_eq!(said(&rig).await[0].fields["created_at"], "1970-01-01 00:16:41 +0000");
        clock.advance_ms(100_000);
        assert_eq!(accounts.judge_due().await.unwrap(), 0, "once");

        rig.record(vec![event_for("1", at, &["days"], &["sum"])]).await;
        clock.advance_ms(500);
        assert_eq!(accounts.judge_due().await.unwrap(), 1);
        assert_eq!(shown(&rig).await, ["fired 2014-10-01 300", "resolved 2014-10-01 1"]);
    })
    .await;
}

#[tokio::test]
async fn a_condition_that_ceases_in_time_is_never_told() {
    on_every_store_at(1_000_000, async |store, clock| {
        let accounts = Accounts::open(store.clone());
        let rig = LedgerTest::new(store).await;
        let number = rig.ledger.create_rule(&rig.project, &patient()).await.unwrap();
        let send = async |value: &str, day: u32| {
            let at = format!("2014-10-{day:02} 00:00:00 Z");
            rig.record(vec![event_for(value, &at, &["days"], &["sum"])]).await;
        };
        send("200", 1).await;
        clock.advance_ms(999);
        send("20", 1).await;
        clock.advance_ms(1);
        assert_eq!(accounts.judge_due().await.unwrap(), 0);
        send("200", 2).await;
        clock.advance_ms(2_000);
        rig.ledger.delete_rule(&rig.project, number).await.unwrap();
        assert_eq!(accounts.judge_due().await.unwrap(), 0, "the rule is gone");
        assert!(said(&rig).await.is_empty());
    })
    .await;
}

#[tokio::test]
async fn a_rule_that_waits_speaks_once_however_many_processes_look() {
    on_every_store_at(1_000_000, async |store, clock| {
        let rig = LedgerTest::new(store.clone()).await;
        rig.ledger.create_rule(&rig.project, &patient()).await.unwrap();
        let days = (1..=28).map(|day| {
            event_for("200", &format!("2014-10-{day:02} 00:00:00 Z"), &["days"], &["sum"])
        });
        rig.record(days.collect()).await;
        clock.advance_ms(1_000);
        // Each has just been started and knows nothing of the others.
        let processes = (0..4).map(|_| {
            let accounts = Accounts::open(store.clone());
            async move { accounts.judge_due().await.unwrap() }
        });
        let spoke: u64 = futures_util::future::join_all(processes).await.into_iter().sum();
        assert_eq!((spoke, said(&rig).await.len()), (28, 28));
    })
    .await;
}

#[tokio::test]
async fn an_account_that_was_forgotten_is_looked_at_within_a_minute() {
    on_every_store_at(1_000_000, async |store, clock| {
        let accounts = Accounts::open(store.clone());
        let rig = LedgerTest::new(store.clone()).await;
        rig.ledger.create_rule(&rig.project, &patient()).await.unwrap();
        assert_eq!(accounts.judge_due().await.unwrap(), 0);
        let at = "2014-10-01 00:00:00 Z";
        rig.record(vec![event_for("200", at, &["days"], &["sum"])]).await;
        // As if the process had died before it could say that a rule waits.
        let mut cmd = redis::cmd("ZADD");
        cmd.arg(&*store.place(&keys::due_accounts())).arg(1_060_000).arg("7");
        let () = cmd.query_async(&mut store.connection()).await.unwrap();
        clock.advance_ms(59_999);
        assert_eq!(accounts.judge_due().await.unwrap(), 0);
        clock.advance_ms(1);
        assert_eq!(accounts.judge_due().await.unwrap(), 1);
    })
    .await;
}

#[tokio::test]
async fn a_deleted_rule_says_nothing_more() {
    on_every_store(async |store| {
        let rig = LedgerTest::new(store).await;
        let rule = comparator(&[("calculation", "count"), ("operator", ">="), ("threshold", "1")]);
        let number = rig.ledger.create_rule(&rig.project, &rule).await.unwrap();
        rig.record(vec![event("1", "2014-10-01 00:00:00 Z", &["days"])]).await;
        assert_eq!(rig.ledger.rules(&rig.project).await.unwrap()[0].rule, rule);
        rig.ledger.delete_rule(&rig.project, number).await.unwrap();
        rig.record(vec![event("1", "2014-10-02 00:00:00 Z", &["days"])]).await;
        assert_eq!(shown(&rig).await.len(), 1);
        let again = rig.ledger.delete_rule(&rig.project, number).await;
        assert!(matches!(again, Err(Error::NotFound { .. })), "{again:?}");
    })
    .await;
}
