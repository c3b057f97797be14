//! What is written passes the lint, and every name in a script is a declared one.

use keyrack_calculations::keys::{self, IntakeName, Taker};
use keyrack_keys::Registry;
use keyrack_lint::{Options, lint};
use keyrack_testkit::on_every_store;

use crate::rig::{LedgerTest, event_for};

#[tokio::test]
async fn everything_that_is_written_is_declared() {
    on_every_store(async |store| {
        let rig = LedgerTest::new(store.clone()).await;
        let rule = |kind, fields: &[(&str, &str)]| {
            let common = [("dimension", "job-skills"), ("key", "python"), ("interval", "days")];
            let fields =
                common.iter().chain(fields).map(|(name, value)| ((*name).into(), (*value).into()));
            keyrack_calculations::Rule::from_fields(kind, &fields.collect()).unwrap()
        };
        use keyrack_calculations::keys::RuleType::{Comparator, Observer};
        let comparator =
            rule(Comparator, &[("calculation", "sum"), ("operator", ">"), ("threshold", "1.5")]);
        let observer = rule(Observer, &[("watch", "keys"), ("trigger", "1")]);
        let hour = ("hold_ms", "3600000");
        let patient = rule(
            Comparator,
            &[("calculation", "count"), ("operator", ">"), ("threshold", "0"), hour],
        );
        for rule in [comparator, observer, patient] {
            rig.ledger.create_rule(&rig.project, &rule).await.unwrap();
        }
        let settings = keyrack_calculations::Settings::default();
        rig.ledger.set_settings(&rig.project, &settings).await.unwrap();
        let accounts = keyrack_calculations::Accounts::open(store.clone());
        let account = rig.ledger.account().clone();
        let grant = keyrack_calculations::Grant { account, project: rig.project.clone() };
        accounts.create_token(&grant).await.unwrap();
        accounts.add_admin("correct horse battery").await.unwrap();
        for day in 1..=9 {
            let at = format!("2014-10-{day:02} 03:04:05 -0400");
            let calculations = keyrack_calculations::keys::Calculation::WORDS;
            let intervals = keyrack_calculations::keys::Interval::WORDS;
            rig.record(vec![event_for("1.75", &at, intervals, calculations)]).await;
        }
        // Somebody takes events in from a list and is in the middle of it.
        let name = IntakeName::new("clicks").unwrap();
        let mut cmd = redis::cmd("ZADD");
        cmd.arg(&*store.place(&keys::intake_takers(&name))).arg(store.now_ms()).arg("t1");
        let () = cmd.query_async(&mut store.connection()).await.unwrap();
        for key in [keys::intake(&name), keys::intake_taken(&name, &Taker::new("t1").unwrap())] {
            let mut cmd = redis::cmd("RPUSH");
            cmd.arg(&*store.place(&key)).arg("{}");
            let () = cmd.query_async(&mut store.connection()).await.unwrap();
        }
        let registry = Registry::new(&[keyrack_calculations::FAMILIES]);
        let report = lint(&store, &registry, &Options::default(), |_| {}).await.unwrap();
        assert!(report.findings.is_empty(), "{:#?}", report.findings);
        assert_eq!(report.unknown.keys, 0);
        assert!(report.keys > 100, "{}", report.keys);
    })
    .await;
}
