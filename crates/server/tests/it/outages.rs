//! A store that is away, and a part of it that moves.

use std::time::Duration;

use keyrack_store::{Options, Store};
use keyrack_testkit::{RedisCluster, RedisServer, wait_until_async};
use serde_json::json;

use crate::site::Site;

#[tokio::test]
async fn a_store_that_is_away_is_told_with_the_time_to_come_back() {
    let mut server = RedisServer::start();
    let site = Site::on(&server.url(), Vec::new()).await;
    site.submit("emails", json!({})).await;
    server.kill();
    for (method, path, body) in [
        ("GET", "/api/1/queues", ""),
        ("POST", "/api/1/queues/emails/jobs", "{}"),
        ("POST", "/api/1/queues/emails/claim", r#"{"wait_s": 1}"#),
        ("GET", "/api/1/jobs/x/outcome", ""),
    ] {
        let answer = site.send(method, path, &[], body).await;
        answer.problem(503, "store_unavailable");
        assert_eq!(answer.header("retry-after"), Some("2"), "{path}");
    }
    server.restart();
    wait_until_async("the store to be back", async || {
        site.get("/api/1/queues").await.status == 200
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_slot_of_a_cluster_that_stays_open_is_told_with_the_time_to_come_back() {
    const JOBS: &str = "/api/1/queues/emails/jobs";
    let cluster = RedisCluster::start();
    let options = Options { slot_wait: Some(Duration::from_secs(1)), ..Options::default() };
    let url = cluster.url().parse().expect("the URL of a cluster");
    let store = Store::open_with(url, options).await.expect("a store");
    let site = Site::on_store(store, Vec::new()).await;
    let job = site.submit("emails", json!({"data": [1]})).await;

    let slot = cluster.key_slot("{bee}");
    let from = cluster.owner(slot);
    let to = (from + 1) % 3;
    let slot_move = cluster.begin_slot_move(slot, to);
    let queued = cluster.keys_in_slot(slot, from);
    assert!(queued.len() > 1, "nothing to cut in two: {queued:?}");
    slot_move.move_key(&queued[0]);
    let held = || [from, to].map(|node| cluster.keys_in_slot(slot, node));
    let before = held();

    for (path, body) in [
        (JOBS, json!({"data": [2]})),
        (JOBS, json!({"data": [3], "delay": 60_000, "tags": ["late"]})),
        ("/api/1/queues/emails/claim", json!({"worker": "mailer"})),
    ] {
        let answer = site.post(path, body).await;
        answer.problem(503, "store_unavailable");
        assert_eq!(answer.header("retry-after"), Some("2"), "{path}");
    }
    assert_eq!(held(), before, "calls that were refused have changed something");

    slot_move.move_keys();
    slot_move.finish();
    let later = site.submit("emails", json!({"data": [4]})).await;
    let mut claimed = site.claim("emails", "mailer", 10).await;
    claimed.sort_by_key(|job| job["data"][0].as_i64());
    let ids: Vec<_> = claimed.iter().map(|job| job["jid"].clone()).collect();
    assert_eq!(ids, [json!(job), json!(later)]);
}
