//! Events from lists and channels.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use keyrack_calculations::{
    Accounts, Intake, Taken, account,
    keys::{self, Calculation, IntakeName, Interval},
    project,
};
use keyrack_testkit::{on_every_store, wait_until_async};

use crate::rig::Rig;

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
    let rig = Rig { ledger, project: project("2").unwrap() };
    rig.result(Calculation::Sum, Interval::Days).await.remove("2014-10-01")
}

#[tokio::test]
async fn entries_of_a_list_are_stored_and_bad_ones_kept_aside() {
    on_every_store(async |store| {
        let accounts = Accounts::open(store.clone());
        let push = async |key: keyrack_keys::Key, entries: &[String]| {
            let mut cmd = redis::cmd("RPUSH");
            cmd.arg(&*store.place(&key)).arg(entries);
            let () = cmd.query_async(&mut store.connection()).await.unwrap();
        };
        // One that somebody had taken and not stored, and three that wait.
        push(keys::intake_taken(&name()), &[entry("a", 1, 0)]).await;
        let waiting = [entry("a", 2, 1), "no event".to_owned(), entry("b", 4, 2)];
        push(keys::intake(&name()), &waiting).await;
        let taken = Intake::new(accounts.clone(), name()).drain().await.unwrap();
        assert_eq!(taken, Taken { stored: 3, refused: 1 });
        assert_eq!(sum(&accounts, "a").await.as_deref(), Some("3"));
        assert_eq!(sum(&accounts, "b").await.as_deref(), Some("4"));
        let left = async |key: keyrack_keys::Key| -> Vec<String> {
            let mut cmd = redis::cmd("LRANGE");
            cmd.arg(&*store.place(&key)).arg(0).arg(-1);
            cmd.query_async(&mut store.connection()).await.unwrap()
        };
        assert!(left(keys::intake_taken(&name())).await.is_empty());
        let refused = left(keys::intake_refused(&name())).await;
        assert!(refused[0].contains("\"no event\""), "{refused:?}");
    })
    .await;
}

#[tokio::test]
async fn an_intake_takes_in_what_comes_while_it_runs() {
    on_every_store(async |store| {
        let accounts = Accounts::open(store.clone());
        let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
        let (intake, stored) = (Intake::new(accounts.clone(), name()), Arc::new(AtomicU64::new(0)));
        let counter = stored.clone();
        let running = tokio::spawn(async move {
            let stop = async { drop(stopped.await) };
            intake.run(stop, |taken| counter.store(taken.stored, Ordering::SeqCst)).await
        });
        for second in 0..5 {
            let mut cmd = redis::cmd("RPUSH");
            cmd.arg(&*store.place(&keys::intake(&name()))).arg(entry("a", 2, second));
            let () = cmd.query_async(&mut store.connection()).await.unwrap();
        }
        wait_until_async("the events to be stored", async || stored.load(Ordering::SeqCst) == 5)
            .await;
        stop.send(()).unwrap();
        assert_eq!(running.await.unwrap().unwrap(), Taken { stored: 5, refused: 0 });
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
