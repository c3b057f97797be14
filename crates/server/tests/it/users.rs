//! Users, their tokens and what they use.

use serde_json::{Value as Json, json};

use crate::site::{Site, jwt};

async fn create(site: &Site, jwt: &str, body: Json) -> Json {
    let answer = site.post_as(jwt, "/api/1/users/tokens/", body).await;
    assert_eq!(answer.status, 201, "{answer:?}");
    answer.json()
}

#[tokio::test]
async fn tokens_are_created_used_renamed_listed_and_deleted() {
    let site = Site::start().await;
    let alice = jwt("alice");
    assert_eq!(site.post_as(&alice, "/api/1/users/", json!({})).await.status, 204);
    let created = create(&site, &alice, json!({"name": "laptop"})).await;
    let (uid, token) =
        (created["uid"].as_str().expect("a uid"), created["token"].as_str().expect("a token"));
    assert!(uid.starts_with("ep_ut_uid_") && token.starts_with("ep_ut_"), "{created}");
    assert_eq!((&created["name"], &created["expires_at"]), (&json!("laptop"), &Json::Null));
    assert!(created["created_at"].is_f64());
    let usage = site.send_as(token, "GET", "/api/1/user_usages/get_current", json!({})).await;
    assert_eq!(usage.ok()["traces"], 0);

    let path = format!("/api/1/users/tokens/{uid}");
    let renamed = site.send_as(&alice, "PUT", &path, json!({"name": "desktop"})).await;
    assert_eq!(renamed.ok(), json!({"name": "desktop"}));
    let found =
        site.post_as(&alice, "/api/1/users/tokens/search", json!({"filters": {}})).await.ok();
    assert_eq!(found["next_page_sort"], Json::Null);
    let [item] = &found["items"].as_array().expect("items")[..] else { panic!("{found}") };
    let expected = json!({
        "user_sub": "alice", "uid": uid, "name": "desktop", "role": "operator",
        "created_at": created["created_at"], "expires_at": null,
    });
    assert_eq!(item, &expected, "and no secret");

    assert_eq!(site.send_as(&alice, "DELETE", &path, json!({})).await.status, 204);
    site.send_as(&alice, "DELETE", &path, json!({})).await.problem(404, "not_found");
    site.send_as(&alice, "PUT", &path, json!({"name": "x"})).await.problem(404, "not_found");
    let usage = site.send_as(token, "GET", "/api/1/user_usages/get_current", json!({})).await;
    usage.problem(403, "invalid");
}

#[tokio::test]
async fn what_makes_no_sense_is_refused_by_its_field() {
    let site = Site::start().await;
    let alice = jwt("alice");
    for (body, field) in [
        (json!({}), "name"),
        (json!({"name": 7}), "name"),
        (json!({"name": "x".repeat(256)}), "name"),
        (json!({"name": "x", "expires_at": 1.0}), "expires_at"),
        (json!({"name": "x", "expires_at": "soon"}), "expires_at"),
        (json!({"name": "x", "role": "king"}), "role"),
        (json!({"name": "x", "role": "admin"}), "role"),
        (json!({"name": "x", "nmae": "y"}), "nmae"),
    ] {
        let answer = site.post_as(&alice, "/api/1/users/tokens/", body.clone()).await;
        let problem = answer.problem(422, "invalid");
        let named = answer.field().unwrap_or_default();
        assert!(named == field || problem.contains(field), "{body}: {answer:?}");
    }
    let found = site.post_as(&alice, "/api/1/users/tokens/search", json!({"limit": 1000})).await;
    assert_eq!(found.ok()["items"], json!([]));
    let refused = site.post_as(&alice, "/api/1/users/tokens/search", json!({"limit": 1001})).await;
    assert_eq!(refused.field().as_deref(), Some("limit"));
}

#[tokio::test]
async fn a_hundred_tokens_are_enough() {
    let site = Site::start().await;
    let alice = jwt("alice");
    for n in 0..100 {
        create(&site, &alice, json!({"name": n.to_string()})).await;
    }
    let refused = site.post_as(&alice, "/api/1/users/tokens/", json!({"name": "more"})).await;
    refused.problem(409, "too_many_unexpired_tokens");
    let search = json!({"sort": [{"key": "name", "dir": "asc"}], "limit": 60});
    let first = site.post_as(&alice, "/api/1/users/tokens/search", search).await.ok();
    let search = json!({"sort": first["next_page_sort"], "limit": 60});
    let second = site.post_as(&alice, "/api/1/users/tokens/search", search).await.ok();
    assert_eq!(second["items"].as_array().expect("items").len(), 40);
    assert_eq!(second["next_page_sort"], Json::Null);
}

#[tokio::test]
async fn the_price_list_is_searched_like_everything_else() {
    let site = Site::start().await;
    let token = site.token("alice").await;
    let search = json!({"sort": [{"key": "position", "dir": "desc"}], "filters": {"units": {"operator": "gtn", "value": 900}}});
    let found = site.post_as(&token, "/api/1/users/pricing_plans/tiers/search", search).await.ok();
    let told: Vec<_> = found["items"]
        .as_array()
        .expect("items")
        .iter()
        .map(|tier| &tier["unit_price_cents"])
        .collect();
    assert_eq!(told, [10, 25]);
    let usages = site.post_as(&token, "/api/1/user_usages/search", json!({})).await.ok();
    assert_eq!(usages["items"], json!([]));
}
