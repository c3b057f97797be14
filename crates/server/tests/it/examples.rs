//! The example job, as far as the API goes.

use keyrack_jobs::hot::Producer;
use serde_json::{Value as Json, json};

use crate::site::Site;

#[tokio::test]
async fn an_example_is_queued_with_a_trace_to_watch() {
    let site = Site::start().await;
    let started = site.post("/api/1/examples/job", json!({"duration": 3, "stdev": 2})).await.ok();
    assert_eq!((&started["sub"], &started["pbar_name"]), (&json!("example"), &json!("example_2")));
    let uid = started["uid"].as_str().expect("a uid");
    assert!(uid.starts_with("ep_t_"), "{uid}");
    let sub = keyrack_keys::UserSub::new("example").expect("a subject");
    let trace = site.progress().trace(&sub, "example_2", uid).await.expect("a trace");
    assert_eq!(trace.expect("a trace").current().step_name, "queuing");
    assert_eq!(Producer::new(site.store.clone()).depth().await.expect("a depth"), 1);

    let path = format!("/api/1/examples/job?uid={uid}");
    assert_eq!(site.get(&path).await.ok(), json!({"data": null, "status": "incomplete"}));
    site.progress().put_example(uid, 7).await.expect("kept");
    assert_eq!(site.get(&path).await.ok(), json!({"data": {"number": 7}, "status": "complete"}));
}

#[tokio::test]
async fn examples_that_take_too_long_are_refused() {
    let site = Site::start().await;
    for (body, field) in [
        (json!({"duration": 0, "stdev": 1}), "duration"),
        (json!({"duration": 11, "stdev": 1}), "duration"),
        (json!({"duration": 1, "stdev": 4}), "stdev"),
        (json!({"duration": 1, "stdev": Json::Null}), "stdev"),
    ] {
        let answer = site.post("/api/1/examples/job", body.clone()).await;
        answer.problem(422, "invalid");
        assert_eq!(answer.field().as_deref(), Some(field), "{body}");
    }
    assert_eq!(Producer::new(site.store.clone()).depth().await.expect("a depth"), 0);
}
