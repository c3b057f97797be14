//! The description of the API.

use std::collections::HashSet;

use crate::site::Site;

const COMMITTED: &str = include_str!("../../../../docs/openapi.json");

#[test]
fn the_committed_description_is_current() {
    assert!(
        keyrack_api::openapi() == COMMITTED,
        "docs/openapi.json is out of date; run `cargo xtask docs` and commit the result"
    );
}

#[tokio::test]
async fn the_description_is_served() {
    let site = Site::start().await;
    let answer = site.get("/openapi.json").await;
    assert_eq!(answer.header("content-type"), Some("application/json"));
    assert_eq!(answer.body, COMMITTED);
    assert_eq!(answer.ok()["openapi"], "3.1.0");
}

#[tokio::test]
async fn every_operation_that_is_described_exists_and_has_a_name_of_its_own() {
    let site = Site::start().await;
    let description: serde_json::Value = serde_json::from_str(COMMITTED).expect("JSON");
    let mut names = HashSet::new();
    for (path, operations) in description["paths"].as_object().expect("paths") {
        let path = path.replace("{queue}", "q").replace("{jid}", "j").replace("{name}", "n");
        for (method, operation) in operations.as_object().expect("operations") {
            let name = operation["operationId"].as_str().expect("a name");
            assert!(names.insert(name.to_owned()), "{name} is there twice");
            assert!(operation["summary"].is_string(), "{name} has no summary");
            if path.ends_with("/events") {
                continue;
            }
            let answer = site.send(&method.to_uppercase(), &path, &[], "").await;
            let is_missing = answer.status == 405
                || (answer.status == 404 && answer.json()["type"] == "not_found");
            assert!(!is_missing, "{method} {path} is described but not served: {answer:?}");
        }
    }
    assert!(names.len() >= 30, "{} operations", names.len());
}

#[tokio::test]
async fn what_is_described_with_a_token_refuses_whoever_has_none() {
    let site = Site::start().await;
    let description: serde_json::Value = serde_json::from_str(COMMITTED).expect("JSON");
    let mut asked = 0;
    for (path, operations) in description["paths"].as_object().expect("paths") {
        for (method, operation) in operations.as_object().expect("operations") {
            if operation["security"].is_array() {
                let answer = site.send(&method.to_uppercase(), path, &[], "").await;
                assert!(matches!(answer.status, 401 | 403), "{method} {path}: {answer:?}");
                asked += 1;
            }
        }
    }
    assert!(asked >= 40, "{asked} operations");
}
