//! Calculating everything afresh: for what is declared later, and for what was damaged.

use keyrack_calculations::keys::{Calculation, Interval};
use keyrack_store::Store;
use keyrack_testkit::{RedisServer, on_every_store};

use crate::rig::{LedgerTest, event, event_for};

#[tokio::test]
async fn what_is_declared_later_is_calculated_from_all_earlier_values() {
    on_every_store(async |store| {
        let rig = LedgerTest::new(store).await;
        let events = (0..700).map(|n| {
            let at = format!("2014-{:02}-{:02} {:02}:00:00 Z", 1 + n % 12, 1 + n % 28, n % 24);
            event_for("1.5", &at, &["months"], &["sum"])
        });
        rig.record(events.collect()).await;
        rig.record(vec![event_for(
            "1",
            "2015-01-01 00:00:00 Z",
            &["days", "months"],
            &["count", "sum", "max", "median", "linear_regression"],
        )])
        .await;
        let counted = rig.result(Calculation::Count, Interval::Days).await;
        let total: u64 = counted.values().map(|count| count.parse::<u64>().unwrap()).sum();
        assert_eq!(total, rig.ledger.values_len(&rig.python()).await.unwrap());
        assert_eq!(rig.result(Calculation::Max, Interval::Months).await["2014-03"], "1.5");
        rig.verify().await;
    })
    .await;
}

#[tokio::test]
async fn damage_is_found_and_mended() {
    on_every_store(async |store| {
        let rig = LedgerTest::new(store).await;
        let events = (1..=20).map(|day| {
            let at = format!("2014-10-{day:02} 00:00:00 Z");
            event_for("3", &at, &["days", "weeks"], &["sum", "count", "average", "min", "median"])
        });
        rig.record(events.collect()).await;
        let store = rig.ledger.store();
        let run = async |command: &str, key: keyrack_keys::Key, args: &[&str]| {
            let mut cmd = redis::cmd(command);
            cmd.arg(&*store.place(&key)).arg(args);
            let () = cmd.query_async(&mut store.connection()).await.unwrap();
        };
        let python = rig.python();
        let result = |calculation, interval| {
            keyrack_calculations::keys::result(
                &python.project,
                &python.dimension,
                &python.key,
                &calculation,
                &interval,
                rig.ledger.account(),
            )
        };
        run("HSET", result(Calculation::Sum, Interval::Days), &["2014-10-03", "99"]).await;
        run("HDEL", result(Calculation::Count, Interval::Weeks), &["2014-W42"]).await;
        run("HSET", result(Calculation::Average, Interval::Days), &["mean", "3"]).await;
        let verdict = rig.ledger.verify(&python).await.unwrap();
        let found: Vec<String> = verdict
            .differences
            .iter()
            .map(|difference| format!("{} {}", difference.name, difference.field))
            .collect();
        assert_eq!(found.len(), 3, "{found:?}");
        assert!(found.contains(&"hash:2:job-skills:python:sum:days 2014-10-03".to_owned()));
        let mended = rig.ledger.recompute(&python).await.unwrap();
        assert_eq!(mended.differences, verdict.differences);
        rig.verify().await;
    })
    .await;
}

/// The form before this one had each value once for each of its times in the ordered set, and no list of few values.
#[tokio::test]
async fn key_that_an_earlier_version_has_written_is_brought_up_to_date_by_its_next_event() {
    on_every_store(async |store| {
        let rig = LedgerTest::new(store).await;
        let one = |value: &str, at: &str| {
            event_for(value, at, &["days"], &["sum", "min", "median", "distinct_count"])
        };
        rig.record(vec![one("3", "2014-10-17 00:00:00 Z"), one("5", "2014-10-17 01:00:00 Z")])
            .await;
        let python = rig.python();
        let (project, dimension, key) = (&python.project, &python.dimension, &python.key);
        let (account, store) = (rig.ledger.account(), rig.ledger.store());
        let run = async |command: &str, key: keyrack_keys::Key, args: &[&str]| {
            let mut cmd = redis::cmd(command);
            cmd.arg(&*store.place(&key)).arg(args);
            let () = cmd.query_async(&mut store.connection()).await.unwrap();
        };
        use keyrack_calculations::keys;
        let days = Interval::Days;
        let day = "735522";
        let built = "sum:days min:days median:days distinct_count:days";
        run("HSET", keys::head(project, dimension, key, account), &["built", built]).await;
        let state = keys::state(project, dimension, key, &days, account);
        run("HSET", state, &[&format!("0:{day}"), "2 8 2"]).await;
        let sketch = keys::sketch(project, dimension, key, &days, account);
        run("HSET", sketch, &[day, "16480:1 16496:1"]).await;
        let order = keys::order(project, dimension, key, &days, account);
        for member in ["6501 3 2014-10-17 00:00:00 +0000", "6501 5 2014-10-17 01:00:00 +0000"] {
            run("ZADD", order.clone(), &["0", &format!("000000{day} {member}")]).await;
        }
        assert!(!rig.ledger.verify(&python).await.unwrap().differences.is_empty());
        rig.record(vec![one("4", "2014-10-17 02:00:00 Z")]).await;
        rig.verify().await;
        assert_eq!(rig.result(Calculation::Median, days).await["2014-10-17"], "4.0");
    })
    .await;
}

#[tokio::test]
async fn values_that_another_program_has_written_are_taken_in() {
    on_every_store(async |store| {
        let rig = LedgerTest::new(store).await;
        let python = rig.python();
        let key = keyrack_calculations::keys::values(
            &python.project,
            &python.dimension,
            &python.key,
            rig.ledger.account(),
        );
        let mut cmd = redis::cmd("HSET");
        cmd.arg(&*rig.ledger.store().place(&key)).arg(&[
            ("2014-10-17 21:34:07 -0400", "8"),
            ("2014-10-08 06:57:22 -0400", "5"),
            ("some day", "1"),
        ]);
        let () = cmd.query_async(&mut rig.ledger.store().connection()).await.unwrap();
        rig.record(vec![event("1", "2014-10-09 00:00:00 -0400", &["months"])]).await;
        assert_eq!(rig.result(Calculation::Sum, Interval::Months).await["2014-10"], "14");
        let verdict = rig.ledger.verify(&python).await.unwrap();
        assert_eq!((verdict.differences.len(), verdict.unreadable), (0, 1));
    })
    .await;
}

/// Two processes find that something is to be built, and events go on coming.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn builders_do_not_disturb_each_other_or_the_writers() {
    let server = RedisServer::start();
    let rig = LedgerTest::new(Store::open(&server.url()).await.unwrap()).await;
    let at = |n: u64| {
        format!("2014-{:02}-{:02} {:02}:{:02}:00 Z", 1 + n % 12, 1 + n % 28, n % 24, n % 60)
    };
    rig.record((0..2000).map(|n| event_for("2", &at(n), &["months"], &["sum"])).collect()).await;
    let mut writers = Vec::new();
    for writer in 0..3 {
        let store = Store::open(&server.url()).await.unwrap();
        writers.push(tokio::spawn(async move {
            let rig = LedgerTest::new(store).await;
            for n in 0..20 {
                let at = format!("2015-01-{:02} {writer:02}:00:{n:02} Z", 1 + n);
                let interval = ["days", "weeks", "hours"][n % 3];
                rig.record(vec![event_for("3", &at, &[interval], &["count", "average", "min"])])
                    .await;
                if n == 10 {
                    rig.ledger.recompute(&rig.python()).await.unwrap();
                }
            }
        }));
    }
    for writer in writers {
        writer.await.unwrap();
    }
    rig.verify().await;
    let counted = rig.result(Calculation::Count, Interval::Hours).await;
    let total: u64 = counted.values().map(|count| count.parse::<u64>().unwrap()).sum();
    assert_eq!(total, rig.ledger.values_len(&rig.python()).await.unwrap());
}
