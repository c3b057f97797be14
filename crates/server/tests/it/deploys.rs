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
async fn a_signed_push_to_the_main_branch_is_announced() {
    let site = Site::start().await;
    let channel = updates(&Repo::new("backend").expect("a name"));
    let mut heard = site.store.subscribe(&[channel]).await.expect("subscribed");
    let send = async |event: &str, body: serde_json::Value| {
        let body = body.to_string();
        let key = ring::hmac::Key::new(ring::hmac::HMAC_SHA256, DEPLOY_SECRET.as_bytes());
        let tag = ring::hmac::sign(&key, body.as_bytes());
        let hex: String = tag.as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
        let signature = format!("sha256={hex}");
        let headers = [("X-Hub-Signature-256", signature.as_str()), ("X-GitHub-Event", event)];
        assert_eq!(site.send("POST", PATH, &headers, &body).await.status, 202);
    };
    let push = |branch: &str| json!({"ref": format!("refs/heads/{branch}"), "repository": {"name": "backend", "default_branch": "main"}});
    send("ping", json!({"zen": "Keep it logically awesome."})).await;
    send("push", push("topic")).await;
    send("push", push("main")).await;
    let Some(Event::Message(message)) = heard.next().await else { panic!("a message") };
    assert_eq!(message.payload, b"1");
    assert!(
        futures_util::FutureExt::now_or_never(heard.next()).is_none(),
        "only one was announced"
    );
}

#[tokio::test]
async fn nobody_else_does_or_learns_anything() {
    let site = Site::start().await;
    let body = json!({"repo": "backend"}).to_string();
    site.send("POST", PATH, &[], &body).await.problem(401, "not_set");
    let basic = format!("Basic {DEPLOY_SECRET}");
    site.send("POST", PATH, &[("Authorization", &basic)], &body).await.problem(401, "bad_format");
    for wrong in ["", "sha256=00", &format!("sha256={}", "0".repeat(64))] {
        let signed = [("X-Hub-Signature-256", wrong)];
        site.send("POST", PATH, &signed, &body).await.problem(403, "invalid");
    }
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
