//! Accounts: apart from each other, and each with a database of its own.

use std::collections::BTreeSet;

use keyrack_calculations::{Accounts, Error, Grant, account, project};
use keyrack_store::Store;
use keyrack_testkit::{RedisServer, on_every_store};

use crate::rig::{LedgerTest, event};

fn grant(account_name: &str, project_name: &str) -> Grant {
    Grant { account: account(account_name).unwrap(), project: project(project_name).unwrap() }
}

#[tokio::test]
async fn accounts_never_see_each_other() {
    on_every_store(async |store| {
        let accounts = Accounts::open(store);
        let mut rigs = Vec::new();
        for name in ["a", "b"] {
            let ledger = accounts.ledger(&account(name).unwrap()).await.unwrap();
            rigs.push(LedgerTest { ledger, project: project("2").unwrap() });
        }
        let [a, b] = &rigs[..] else { unreachable!("two accounts") };
        a.record(vec![event("1", "2014-10-01 00:00:00 Z", &["days"])]).await;
        assert!(b.ledger.projects().await.unwrap().is_empty());
        assert!(b.results().await.is_empty());
        b.record(vec![event("5", "2014-10-01 00:00:00 Z", &["days"])]).await;
        let sum = |rig: &LedgerTest| {
            let (ledger, python) = (rig.ledger.clone(), rig.python());
            async move {
                use keyrack_calculations::keys::{Calculation, Interval};
                ledger.result(&python, Calculation::Sum, Interval::Days).await.unwrap()["2014-10-01"].clone()
            }
        };
        assert_eq!((sum(a).await, sum(b).await), ("1".to_owned(), "5".to_owned()));
    })
    .await;
}

#[tokio::test]
async fn accounts_that_come_at_once_get_different_databases() {
    let server = RedisServer::builder().config("databases", "200").start();
    for url in ["embedded:memory".to_owned(), server.url()] {
        let store = Store::open(&url).await.unwrap();
        let comers = (0..20).map(|n| {
            // Each with a view of its own, as in a process of its own; two come twice.
            let accounts = Accounts::open(store.clone());
            async move { accounts.ledger(&account(&(n % 18).to_string()).unwrap()).await.unwrap() }
        });
        futures_util::future::join_all(comers).await;
        let given = Accounts::open(store).list().await.unwrap();
        let numbers: BTreeSet<i64> = given.iter().map(|(_, db)| *db).collect();
        assert_eq!(numbers, (100..118).collect(), "on {url}");
    }
}

#[tokio::test]
async fn a_server_with_few_databases_keeps_accounts_apart_in_one() {
    let server = RedisServer::builder().config("databases", "101").start();
    let store = Store::open(&server.url()).await.unwrap();
    let accounts = Accounts::open(store.clone());
    for (name, value) in [("first", "1"), ("second", "2"), ("third", "3")] {
        let ledger = accounts.ledger(&account(name).unwrap()).await.unwrap();
        let rig = LedgerTest { ledger, project: project("2").unwrap() };
        rig.record(vec![event(value, "2014-10-01 00:00:00 Z", &["days"])]).await;
        rig.verify().await;
    }
    let given: Vec<i64> = accounts.list().await.unwrap().into_iter().map(|(_, db)| db).collect();
    assert_eq!(given, [100, 0, 0]);
    let mut cmd = redis::cmd("SMEMBERS");
    let projects: Vec<String> =
        cmd.arg("{second}set:projects").query_async(&mut store.connection()).await.unwrap();
    assert_eq!(projects, ["2"]);
}

#[tokio::test]
async fn tokens_speak_for_one_project_until_they_are_deleted() {
    on_every_store(async |store| {
        let accounts = Accounts::open(store);
        let token = accounts.create_token(&grant("7", "2")).await.unwrap();
        assert_eq!(accounts.grant(&token).await.unwrap(), grant("7", "2"));
        let again = accounts.create_token(&grant("7", "2")).await;
        assert!(matches!(again, Err(Error::TokenExists { .. })), "{again:?}");
        let taken = accounts.add_token(&grant("7", "3"), &token).await;
        assert!(matches!(taken, Err(Error::TokenExists { .. })), "{taken:?}");
        assert_eq!(accounts.grant(&token).await.unwrap(), grant("7", "2"));
        accounts.delete_token(&grant("7", "2")).await.unwrap();
        assert!(matches!(accounts.grant(&token).await, Err(Error::UnknownToken)));
        let gone = accounts.delete_token(&grant("7", "2")).await;
        assert!(matches!(gone, Err(Error::NotFound { .. })), "{gone:?}");
        assert!(accounts.list().await.unwrap().iter().any(|(name, _)| name.as_str() == "7"));
    })
    .await;
}

#[tokio::test]
async fn admins_are_those_who_were_made_so() {
    on_every_store(async |store| {
        let accounts = Accounts::open(store);
        let token = "correct horse battery";
        assert!(matches!(accounts.check_admin(token).await, Err(Error::NotAdmin)));
        accounts.add_admin(token).await.unwrap();
        accounts.check_admin(token).await.unwrap();
        assert!(accounts.remove_admin(token).await.unwrap());
        assert!(matches!(accounts.check_admin(token).await, Err(Error::NotAdmin)));
        assert!(matches!(accounts.add_admin("short").await, Err(Error::Invalid { .. })));
    })
    .await;
}

#[tokio::test]
async fn names_that_readers_could_confuse_are_refused() {
    for name in ["", "a:b", "a\nb", "\u{7f}"] {
        assert!(account(name).is_err(), "{name:?}");
        assert!(project(name).is_err(), "{name:?}");
    }
    assert!(project("set").unwrap_err().to_string().starts_with("project: "));
    assert!(account(&"x".repeat(257)).is_err());
    assert!(account("ümlaut 7").is_ok());
}
