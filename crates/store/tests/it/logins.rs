//! Users who are locked out and let in again, and passwords that change.

use std::{fs, path::Path};

use keyrack_store::{Error, Event, Options, Store};
use keyrack_testkit::{RedisCluster, RedisServer, Sentinel, wait_until_async};
use redis::AsyncCommands;

use crate::keys::{account, alice, moved};

fn acl(servers: &[&RedisServer], rules: &[&str]) {
    for server in servers {
        let mut cmd = redis::cmd("ACL");
        cmd.arg("SETUSER").arg("app").arg(rules).exec(&mut server.connection()).expect("rules");
    }
}

/// Ends the connections of the user, so that it has to log in again.
fn kill_connections(servers: &[&RedisServer]) {
    for server in servers {
        let mut cmd = redis::cmd("CLIENT");
        cmd.arg("KILL").arg("USER").arg("app");
        let _: i64 = cmd.query(&mut server.connection()).expect("connections are ended");
    }
}

async fn write(store: &Store) -> Result<i64, Error> {
    Ok(store.connection().incr(&*store.place(&account("giro")), 1).await?)
}

async fn open(url: &str, password_file: Option<&Path>) -> Store {
    let options = Options { password_file: password_file.map(Into::into), ..Options::default() };
    let store = Store::open_with(url.parse().expect("a good URL"), options).await;
    store.unwrap_or_else(|error| panic!("could not open \"{url}\": {error}"))
}

const ALLOWED: [&str; 5] = ["on", ">old", "~*", "&*", "+@all"];

async fn is_let_in_again(servers: &[&RedisServer], url: &str) {
    acl(servers, &ALLOWED);
    let store = open(url, None).await;
    let mut events = store.subscribe(&[moved(&alice())]).await.expect("a subscription");
    write(&store).await.expect("a write");

    acl(servers, &["off"]);
    kill_connections(servers);
    wait_until_async("the refusal to be told", async || {
        matches!(write(&store).await, Err(Error::Auth { .. }))
    })
    .await;
    assert!(write(&store).await.expect_err("still locked out").is_transient());

    acl(servers, &["on"]);
    wait_until_async("writes to work again", async || write(&store).await.is_ok()).await;
    wait_until_async("messages to arrive again", async || {
        let _ = store.publish(&moved(&alice()), "1").await;
        let next = tokio::time::timeout(std::time::Duration::from_millis(50), events.next());
        matches!(next.await, Ok(Some(Event::Message(_))))
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_user_who_was_switched_off_gets_in_again_when_switched_on() {
    let server = RedisServer::start();
    let url = format!("redis://app:old@{}", server.addr());
    is_let_in_again(&[&server], &url).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_user_of_a_cluster_who_was_switched_off_gets_in_again_when_switched_on() {
    let cluster = RedisCluster::start();
    let url = cluster.url().replace("://", "://app:old@");
    is_let_in_again(&cluster.nodes().iter().collect::<Vec<_>>(), &url).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_user_behind_sentinels_who_was_switched_off_gets_in_again_when_switched_on() {
    let group = Sentinel::start();
    let url = group.url().replace("://", "://app:old@");
    is_let_in_again(&[group.master(), group.other()], &url).await;
}

async fn follows_its_password_file(servers: &[&RedisServer], url: &str) {
    acl(servers, &ALLOWED);
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("password");
    fs::write(&file, "old\n").expect("a password file");
    let store = open(url, Some(&file)).await;
    write(&store).await.expect("a write");

    acl(servers, &["resetpass", ">new"]);
    kill_connections(servers);
    wait_until_async("the refusal to be told", async || {
        matches!(write(&store).await, Err(Error::Auth { .. }))
    })
    .await;
    fs::write(&file, "new\n").expect("a password file");
    wait_until_async("writes to work again", async || write(&store).await.is_ok()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_password_that_changed_is_read_from_its_file() {
    let server = RedisServer::start();
    let url = format!("redis://app@{}", server.addr());
    follows_its_password_file(&[&server], &url).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_password_of_a_cluster_that_changed_is_read_from_its_file() {
    let cluster = RedisCluster::start();
    let url = cluster.url().replace("://", "://app@");
    follows_its_password_file(&cluster.nodes().iter().collect::<Vec<_>>(), &url).await;
}

#[tokio::test]
async fn a_password_file_that_cannot_be_read_is_named() {
    let server = RedisServer::start();
    let options = Options { password_file: Some("/nonexistent/file".into()), ..Options::default() };
    let opened = Store::open_with(server.url().parse().expect("a good URL"), options).await;
    let error = opened.expect_err("no password");
    assert!(matches!(error, Error::Auth { .. }), "{error:?}");
    assert!(error.to_string().contains("/nonexistent/file"), "{error}");
}
