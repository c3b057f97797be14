//! Events from lists and channels.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use keyrack_calculations::{
    Accounts, Intake, IntakeCounts, account,
    keys::{self, Calculation, IntakeName, Interval, Taker},
    project,
};
use keyrack_store::Store;
use keyrack_testkit::{on_every_store, on_every_store_at, wait_until_async};

use crate::rig::LedgerTest;

fn entry(account: &str, value: u32, second: u32) -> String {
    format!(
        r#"{{"account":"{account}","project":"2","dimension":"job-skills","key":"python","value":"{value}",
            "created_at":"2014-10-01 00:00:{second:02} Z","interval":["days"],"calculation":["sum"]}}"#
    )
    .replace('\n', " ")
}

fn name() -> IntakeName {
    IntakeName::new("clicks").unwrap()
}

async fn sum(accounts: &Accounts, name: &str) -> Option<String> {
    let ledger = accounts.ledger(&account(name).unwrap()).await.unwrap();
    let rig = LedgerTest { ledger, project: project("2").unwrap() };
    rig.result(Calculation::Sum, Interval::Days).await.remove("2014-10-01")
}

/// Appends entries to a list.
async fn push(store: &Store, key: &keyrack_keys::Key, entries: &[String]) {
    let mut cmd = redis::cmd("RPUSH");
    cmd.arg(&*store.place(key)).arg(entries);
    let () = cmd.query_async(&mut store.connection()).await.unwrap();
}

/// What is in a list.
async fn left(store: &Store, key: &keyrack_keys::Key) -> Vec<String> {
    let mut cmd = redis::cmd("LRANGE");
    cmd.arg(&*store.place(key)).arg(0).arg(-1);
    cmd.query_async(&mut store.connection()).await.unwrap()
}

fn intake(accounts: &Accounts) -> Intake {
    Intake::new(accounts.clone(), name()).unwrap()
}

#[tokio::test]
async fn entries_of_a_list_are_stored_and_bad_ones_kept_aside() {
    on_every_store(async |store| {
        let accounts = Accounts::open(store.clone());
        let waiting = [entry("a", 2, 1), "no event".to_owned(), entry("b", 4, 2)];
        push(&store, &keys::intake(&name()), &waiting).await;
        let taken = intake(&accounts).drain().await.unwrap();
        assert_eq!(taken, IntakeCounts { stored: 2, refused: 1 });
        assert_eq!(sum(&accounts, "a").await.as_deref(), Some("2"));
        assert_eq!(sum(&accounts, "b").await.as_deref(), Some("4"));
        let refused = left(&store, &keys::intake_refused(&name())).await;
        assert!(refused[0].contains("\"no event\""), "{refused:?}");
        let mut cmd = redis::cmd("ZCARD");
        cmd.arg(&*store.place(&keys::intake_takers(&name())));
        let takers: u64 = cmd.query_async(&mut store.connection()).await.unwrap();
        assert_eq!(takers, 0, "whoever stops says so");
    })
    .await;
}

#[tokio::test]
async fn what_a_process_that_died_has_taken_is_taken_in_by_the_next() {
    on_every_store_at(1_000_000, async |store, clock| {
        let accounts = Accounts::open(store.clone());
        let dead = Taker::new("dead").unwrap();
        push(&store, &keys::intake_taken(&name(), &dead), &[entry("a", 1, 0)]).await;
        let mut cmd = redis::cmd("ZADD");
        cmd.arg(&*store.place(&keys::intake_takers(&name()))).arg(1_000_000).arg("dead");
        let () = cmd.query_async(&mut store.connection()).await.unwrap();
        push(&store, &keys::intake(&name()), &[entry("a", 2, 1)]).await;

        let draining = intake(&accounts);
        let mut drained = std::pin::pin!(draining.drain());
        // As long as the other may be alive, what it has taken is its own.
        let is_waiting = tokio::select! {
            biased;
            done = &mut drained => panic!("it did not wait: {done:?}"),
            () = wait_until_async("the waiting entry to be stored", async || {
                sum(&accounts, "a").await.as_deref() == Some("2")
            }) => true,
        };
        assert!(is_waiting && left(&store, &keys::intake_taken(&name(), &dead)).await.len() == 1);
        clock.advance_ms(10_001);
        assert_eq!(drained.await.unwrap(), IntakeCounts { stored: 2, refused: 0 });
        assert_eq!(sum(&accounts, "a").await.as_deref(), Some("3"));
        assert!(left(&store, &keys::intake_taken(&name(), &dead)).await.is_empty());
    })
    .await;
}

#[tokio::test]
async fn several_at_one_list_take_in_each_entry_once() {
    on_every_store(async |store| {
        let accounts = Accounts::open(store.clone());
        let entries: Vec<String> = (0..60).map(|second| entry("a", second, second)).collect();
        for _ in 0..40 {
            push(&store, &keys::intake(&name()), &entries).await;
        }
        let takers = (0..4).map(|_| intake(&accounts)).collect::<Vec<_>>();
        let all = futures_util::future::join_all(takers.iter().map(Intake::drain)).await;
        let stored: u64 = all.into_iter().map(|taken| taken.unwrap().stored).sum();
        assert_eq!(stored, 2_400);
        assert_eq!(sum(&accounts, "a").await.as_deref(), Some("1770"));
    })
    .await;
}

#[tokio::test]
async fn an_intake_takes_in_what_comes_while_it_runs() {
    on_every_store(async |store| {
        let accounts = Accounts::open(store.clone());
        let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
        let (intake, stored) = (intake(&accounts), Arc::new(AtomicU64::new(0)));
        let counter = stored.clone();
        let running = tokio::spawn(async move {
            let stop = async { drop(stopped.await) };
            intake.run(stop, |taken| counter.store(taken.stored, Ordering::SeqCst)).await
        });
        for second in 0..5 {
            push(&store, &keys::intake(&name()), &[entry("a", 2, second)]).await;
        }
        wait_until_async("the events to be stored", async || stored.load(Ordering::SeqCst) == 5)
            .await;
        stop.send(()).unwrap();
        assert_eq!(running.await.unwrap().unwrap(), IntakeCounts { stored: 5, refused: 0 });
        assert_eq!(sum(&accounts, "a").await.as_deref(), Some("10"));
    })
    .await;
}

#[tokio::test]
async fn what_is_published_is_taken_in_while_somebody_listens() {
    on_every_store(async |store| {
        let accounts = Accounts::open(store.clone());
        let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
        let listener = accounts.clone();
        let listening = tokio::spawn(async move {
            let stop = async { drop(stopped.await) };
            listener.listen(&name(), stop, |_| {}).await
        });
        // A message before the subscription stands is heard by nobody, so it is sent until it is.
        wait_until_async("the event to be stored", async || {
            let message = format!("{}\nno event\n{}", entry("a", 2, 0), entry("a", 3, 1));
            store.publish(&keys::intake_channel(&name()), message).await.unwrap();
            sum(&accounts, "a").await.as_deref() == Some("5")
        })
        .await;
        stop.send(()).unwrap();
        let taken = listening.await.unwrap().unwrap();
        assert!(taken.stored >= 2 && taken.refused >= 1, "{taken:?}");
    })
    .await;
}
