//! Announcing updates over HTTP.

use keyrack_store::Event;
use keyrack_updates::keys::{Repo, updates};
use serde_json::json;

use crate::site::{DEPLOY_SECRET, Site};

const PATH: &str = "/api/1/continuous_deployment/update";

#[tokio::test]
async fn whoever_knows_the_secret_announces_an_update() {
    let site = Site::start().await;
    let channel = updates(&Repo::new("backend").expect("a name"));
    let mut heard = site.store.subscribe(&[channel]).await.expect("subscribed");
    let answer = site.post_as(DEPLOY_SECRET, PATH, json!({"repo": "backend"})).await;
    assert_eq!((answer.status, &*answer.body), (202, ""));
    let Some(Event::Message(message)) = heard.next().await else { panic!("a message") };
    assert_eq!(message.payload, b"1");
}

#[tokio::test]
async fn nobody_else_does_or_learns_anything() {
    let site = Site::start().await;
    let body = json!({"repo": "backend"}).to_string();
    site.send("POST", PATH, &[], &body).await.problem(401, "not_set");
    let upper = format!("Bearer {DEPLOY_SECRET}");
    site.send("POST", PATH, &[("Authorization", &upper)], &body).await.problem(401, "bad_format");
    let token = site.token("alice").await;
    for wrong in ["x", &DEPLOY_SECRET[1..], &format!("{DEPLOY_SECRET}x"), &token] {
        for body in [json!({"repo": "backend"}), json!({"repo": "nonsense"}), json!([])] {
            let told = site.post_as(wrong, PATH, body).await.problem(403, "invalid");
            assert!(!told.contains("backend") && !told.contains(DEPLOY_SECRET), "{told}");
        }
    }
}

#[tokio::test]
async fn a_repository_that_is_not_known_is_named() {
    let site = Site::start().await;
    let answer = site.post_as(DEPLOY_SECRET, PATH, json!({"repo": "nonsense"})).await;
    let told = answer.problem(422, "invalid");
    assert_eq!(told, "repo: \"nonsense\" is none of backend, jobs");
    let answer = site.post_as(DEPLOY_SECRET, PATH, json!({})).await;
    answer.problem(422, "invalid");
}
