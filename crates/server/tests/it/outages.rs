//! A store that is away.

use keyrack_testkit::{RedisServer, wait_until_async};
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
