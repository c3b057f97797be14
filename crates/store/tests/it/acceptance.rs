//! What every store does alike, also for a user with no rights but those that `acl_user` gives.

use keyrack_store::{Error, Event, Script, Store, script};
use redis::AsyncCommands;

use crate::keys::{account, alice, moved, tasks};
use crate::users::on_every_store_and_as_acl_user;

static TRANSFER: Script = script!("transfer.lua", "amounts.lua");

async fn transfer(store: &Store, amount: i64) -> Result<i64, Error> {
    TRANSFER
        .call(store)
        .key("from", &account("giro"))
        .key("to", &account("savings"))
        .key("moved", &moved(&alice()))
        .arg("amount", amount)
        .run()
        .await
}

async fn balance(store: &Store, name: &str) -> i64 {
    store.connection().get(&*store.place(&account(name))).await.expect("an amount")
}

#[tokio::test]
async fn a_script_changes_keys_publishes_and_refuses_on_every_store() {
    on_every_store_and_as_acl_user(async |store| {
        let mut events = store.subscribe(&[moved(&alice())]).await.expect("a subscription");
        let giro = store.place(&account("giro")).into_owned();
        let _: () = store.connection().set(&giro, 100).await.expect("a first amount");

        assert_eq!(transfer(&store, 30).await.expect("a transfer"), 70);
        assert_eq!((balance(&store, "giro").await, balance(&store, "savings").await), (70, 30));

        let refused = transfer(&store, 80).await.expect_err("too much");
        let Error::Refused { word, detail } = refused else { panic!("{refused:?}") };
        assert_eq!((word.as_str(), detail.as_deref()), ("TOO_LITTLE", Some("10 are missing")));
        assert_eq!(balance(&store, "giro").await, 70);

        let Some(Event::Message(message)) = events.next().await else { panic!("no message") };
        assert_eq!(
            (&*message.channel, message.payload.as_slice()),
            ("test:moved:alice", &b"30"[..])
        );
    })
    .await;
}

#[tokio::test]
async fn a_script_is_loaded_again_after_the_server_forgot_it() {
    on_every_store_and_as_acl_user(async |store| {
        let giro = store.place(&account("giro")).into_owned();
        let _: () = store.connection().set(&giro, 100).await.expect("a first amount");
        transfer(&store, 1).await.expect("a transfer");
        let _: () = redis::cmd("SCRIPT")
            .arg("FLUSH")
            .query_async(&mut store.connection())
            .await
            .expect("scripts are forgotten");
        assert_eq!(transfer(&store, 1).await.expect("a transfer"), 98);
    })
    .await;
}

#[tokio::test]
async fn a_blocking_pop_wakes_for_a_push_and_holds_up_nobody() {
    on_every_store_and_as_acl_user(async |store| {
        let key = store.place(&tasks(&alice())).into_owned();
        let mut waiting = store.blocking();
        let popping = {
            let key = key.clone();
            tokio::spawn(async move { waiting.blpop::<_, (String, String)>(&key, 0.0).await })
        };
        // Commands go on meanwhile, and the push finds the waiter.
        for n in 0..10 {
            let _: () =
                store.connection().set(&*store.place(&account("giro")), n).await.expect("a write");
        }
        let _: () = store.connection().rpush(&key, "sweep").await.expect("a push");
        assert_eq!(popping.await.expect("the task").expect("a pop"), (key, "sweep".into()));
    })
    .await;
}

#[tokio::test]
async fn an_atomic_pipeline_runs_whole() {
    on_every_store_and_as_acl_user(async |store| {
        let (giro, savings) = (
            store.place(&account("giro")).into_owned(),
            store.place(&account("savings")).into_owned(),
        );
        let (a, b): (i64, i64) = redis::pipe()
            .atomic()
            .incr(&giro, 5)
            .incr(&savings, 7)
            .query_async(&mut store.connection())
            .await
            .expect("a transaction");
        assert_eq!((a, b), (5, 7));
    })
    .await;
}

#[tokio::test]
async fn databases_are_apart_where_there_are_several() {
    on_every_store_and_as_acl_user(async |store| {
        let other = match store.database(1).await {
            Ok(other) => other,
            Err(Error::NoSuchDatabase { reason, .. }) => {
                assert_eq!(reason, "a cluster has only database 0");
                return;
            }
            Err(error) => panic!("{error}"),
        };
        let key = store.place(&account("giro")).into_owned();
        let _: () = other.connection().set(&key, 1).await.expect("a write");
        let here: Option<i64> = store.connection().get(&key).await.expect("a read");
        assert_eq!((here, other.db()), (None, 1));
        assert!(store.database(5000).await.is_err());
    })
    .await;
}

#[tokio::test]
async fn a_subscription_ends_when_it_is_dropped() {
    on_every_store_and_as_acl_user(async |store| {
        let channel = moved(&alice());
        let mut first =
            store.subscribe(std::slice::from_ref(&channel)).await.expect("a subscription");
        drop(store.subscribe(std::slice::from_ref(&channel)).await.expect("another"));
        store.publish(&channel, "1").await.expect("published");
        assert!(matches!(first.next().await, Some(Event::Message(_))));
        drop(first);
        keyrack_testkit::wait_until_async("the channel to be left", async || {
            store.publish(&channel, "2").await.expect("published") == 0
        })
        .await;
    })
    .await;
}
