//! Small things that went wrong once.

use keyrack_identity::Role;
use keyrack_web::{Access, Auth};
use serde_json::json;

use crate::{
    calculations::project_token,
    site::{Site, jwt},
};

#[tokio::test]
async fn limits_of_different_users_are_never_the_same() {
    let site = Site::start().await;
    let (org, branch) = (site.token("org").await, site.token("org:7").await);
    let take = json!({"subject": "x", "max": 1, "period_seconds": 60});
    let used = async |token: &str, name: &str| {
        let path = format!("/api/1/limits/{name}/take");
        site.post_as(token, &path, take.clone()).await.status
    };
    assert_eq!(used(&org, "7:search").await, 200);
    assert_eq!(used(&branch, "search").await, 200);
    assert_eq!(used(&org, "7%3Asearch").await, 429, "the same one again");
}

#[tokio::test]
async fn a_key_for_a_list_is_no_key_for_one_of_its_jobs() {
    let site = Site::start().await;
    let path = "/api/1/queues/q/jobs";
    let list = json!([{"data": [1]}, {"data": [2]}]).to_string();
    let submitted = site.send("POST", path, &[("Idempotency-Key", "k")], &list).await;
    assert_eq!(submitted.status, 201, "{submitted:?}");
    let again = site.send("POST", path, &[("Idempotency-Key", "k")], &list).await.json();
    assert_eq!(again["jobs"][1]["created"], false, "{again}");
    let one = json!({"data": [2]}).to_string();
    let single = site.send("POST", path, &[("Idempotency-Key", "k#1")], &one).await;
    assert_eq!((single.status, &single.json()["created"]), (201, &json!(true)), "{single:?}");
}

#[tokio::test]
async fn limits_are_not_taken_away_by_sending_nothing() {
    let site = Site::start().await;
    let path = "/api/1/queues/q/limits";
    site.submit("q", json!({})).await;
    site.put(path, json!({"concurrency": 3})).await.ok();
    site.send("PUT", path, &[], "").await.problem(422, "invalid");
    assert_eq!(site.get(path).await.ok()["concurrency"], 3);
    site.put(path, json!({})).await.ok();
    assert_eq!(site.get(path).await.ok()["concurrency"], serde_json::Value::Null);
}

#[tokio::test]
async fn tokens_made_over_http_say_where_from() {
    let site = Site::start().await;
    let made = site.post_as(&jwt("alice"), "/api/1/users/tokens/", json!({"name": "laptop"})).await;
    assert_eq!(made.status, 201, "{made:?}");
    let admin = site.token_of("root", Role::Admin).await;
    let log = site.send_as(&admin, "GET", "/api/1/audit", json!({})).await.ok();
    let changes = log["changes"].as_array().expect("changes");
    let made = changes
        .iter()
        .find(|change| change["actor"] == "alice" && change["action"] == "token_created");
    assert_eq!(made.expect("on record")["from"], "127.0.0.1", "{log}");
}

#[tokio::test]
async fn the_word_bearer_may_begin_with_a_capital_everywhere() {
    let site = Site::start().await;
    let token = site.token("alice").await;
    for scheme in ["bearer", "Bearer", "BEARER"] {
        let value = format!("{scheme} {token}");
        let headers = [("Authorization", value.as_str())];
        let found = site.send("POST", "/api/1/progress_bars/search", &headers, "{}").await;
        assert_eq!(found.status, 200, "{found:?}");
        let value = format!("{scheme} {}", crate::site::DEPLOY_SECRET);
        let headers = [("Authorization", value.as_str())];
        let path = "/api/1/continuous_deployment/update";
        let told = site.send("POST", path, &headers, r#"{"repo": "backend"}"#).await;
        assert_eq!(told.status, 202, "{told:?}");
    }
}

#[tokio::test]
async fn tokens_of_projects_are_taken_from_urls_only_where_that_is_published() {
    let site = Site::start().await;
    let token = project_token(&site, "7", "2").await;
    let path = format!("/api/1/calculations/settings?access_token={token}");
    site.get(&path).await.problem(401, "token_missing");
    let published = format!("/api/1.0/event/d/k?access_token={token}");
    let read = site.get(&published).await;
    assert_ne!(read.status, 401, "{read:?}");

    for (url_tokens, is_taken) in [(None, false), (Some(true), true)] {
        let access = Access { auth: Auth::Required, url_tokens, ..Access::default() };
        let site = Site::letting_in(access).await;
        let token = project_token(&site, "7", "2").await;
        let path = format!("/api/1.0/event/d/k?access_token={token}");
        let read = site.get(&path).await;
        assert_eq!(read.status != 401, is_taken, "{url_tokens:?}: {read:?}");
        let headers = [("Access-Token", token.as_str())];
        let read = site.send("GET", "/api/1.0/event/d/k", &headers, "").await;
        assert_ne!(read.status, 401, "{read:?}");
    }
}

#[tokio::test]
async fn queues_whose_names_are_steps_in_a_path_are_refused() {
    let site = Site::start().await;
    for name in [".", "..", "%2E", "%2e%2E"] {
        let path = format!("/api/1/queues/{name}/jobs");
        site.post(&path, json!({})).await.problem(422, "invalid");
    }
    site.submit("...", json!({})).await;
}

#[tokio::test]
async fn viewers_learn_neither_the_names_of_tokens_nor_ids_at_those_who_sell() {
    let site = Site::start().await;
    let bob = keyrack_keys::UserSub::new("bob").expect("a subject");
    let key = keyrack_entitlements::keys::customer(&bob);
    let key = site.store.place(&key);
    let mut cmd = redis::cmd("HSET");
    cmd.arg(&*key).arg("revenue_cat_id").arg("rc-12345").arg("created_at").arg(1);
    cmd.exec_async(&mut site.store.connection()).await.expect("set");
    let (viewer, admin) =
        (site.token_of("eve", Role::Viewer).await, site.token_of("root", Role::Admin).await);
    let eve = keyrack_keys::UserSub::new("eve").expect("a subject");
    let token = site.identity.tokens(&eve).await.expect("tokens").remove(0).uid;
    for (path, shown) in [
        ("/key?name=entitlements:customer:bob", "rc-12345"),
        ("/keys/entitlements.customer", "customer:bob<"),
        ("/keys/identity.token", token.as_str()),
    ] {
        let seen = site.send_as(&admin, "GET", path, json!({})).await;
        assert!(seen.status == 200 && seen.body.contains(shown), "{path}: {seen:?}");
        let seen = site.send_as(&viewer, "GET", path, json!({})).await;
        assert!(!seen.body.contains(shown), "{path}: {seen:?}");
    }
}
