//! Requests that make no sense get a clear answer, and change nothing.

use serde_json::json;

use crate::site::Site;

const JOBS: &str = "/api/1/queues/emails/jobs";

#[tokio::test]
async fn a_dependency_that_is_not_there_counts_as_ended() {
    let site = Site::start().await;
    let jid = site.submit("emails", json!({"dependencies": ["nobody"]})).await;
    assert_eq!(site.get(&format!("/api/1/jobs/{jid}")).await.ok()["status"], "queued");
    let refused = site.post(JOBS, json!({"dependencies": ["mail~1"]})).await;
    assert!(refused.problem(422, "invalid").contains("belongs to the group \"mail\""));
    assert_eq!(refused.field().as_deref(), Some("dependencies"));
}

#[tokio::test]
async fn a_negative_delay_is_refused_by_name() {
    let site = Site::start().await;
    let refused = site.post(JOBS, json!({"delay": -5})).await;
    assert!(refused.problem(422, "invalid").starts_with("delay: -5 ms; give 0 to"));
    assert_eq!(refused.field().as_deref(), Some("delay"));
    site.get("/api/1/queues/emails").await.problem(404, "queue_not_found");
}

#[tokio::test]
async fn a_body_of_two_megabytes_is_refused() {
    let site = Site::start().await;
    let body = json!({"data": ["x".repeat(2 * 1024 * 1024)]});
    let refused = site.post(JOBS, body).await;
    assert!(refused.problem(413, "body_too_large").contains("at most 1048576 bytes"));
    site.get("/api/1/queues/emails").await.problem(404, "queue_not_found");
}

#[tokio::test]
async fn a_result_that_is_not_json_leaves_the_job_running() {
    let site = Site::start().await;
    let jid = site.submit("emails", json!({})).await;
    site.claim("emails", "mailer", 1).await;
    let path = format!("/api/1/jobs/{jid}/complete");
    for (body, status, kind) in [
        (r#"{"worker": "mailer", "result": {oops}}"#, 400, "bad_json"),
        (r#"{"worker": "mailer", "result": "#, 400, "bad_json"),
        (r#"{"worker": "mailer", "result": 1} trailing"#, 400, "bad_json"),
        (r#"["mailer"]"#, 422, "invalid"),
        (r#"{"worker": 7}"#, 422, "invalid"),
        (r#"{"worker": "mailer", "resutl": 1}"#, 422, "invalid"),
        (r#"{"worker": "a:b", "result": 1}"#, 422, "bad_name"),
        (r#"{"worker": "", "result": 1}"#, 422, "bad_name"),
        (r#"{"worker": "mailer", "result": 1, "ttl": 99999999999999999}"#, 422, "invalid"),
    ] {
        site.send("POST", &path, &[], body).await.problem(status, kind);
    }
    let job = site.get(&format!("/api/1/jobs/{jid}")).await.ok();
    assert_eq!((&job["status"], &job["result"]), (&"running".into(), &json!(null)));
}

#[tokio::test]
async fn a_queue_that_is_not_there_is_told_so() {
    let site = Site::start().await;
    for (method, path, body) in [
        ("GET", "", ""),
        ("DELETE", "", ""),
        ("POST", "/pause", ""),
        ("POST", "/resume", ""),
        ("GET", "/limits", ""),
        ("GET", "/jobs?place=queued", ""),
        ("POST", "/jobs/cancel", r#"{"place": "queued"}"#),
        ("POST", "/jobs/retry", r#"{"place": "failed"}"#),
        ("POST", "/jobs/change", r#"{"place": "queued", "change": {"priority": 1}}"#),
    ] {
        let answer = site.send(method, &format!("/api/1/queues/nowhere{path}"), &[], body).await;
        let detail = answer.problem(404, "queue_not_found");
        assert!(detail.starts_with("there is no queue \"nowhere\""), "{detail}");
    }
    assert_eq!(site.get("/api/1/queues").await.ok()["queues"], json!([]));
}

#[tokio::test]
async fn a_completed_job_cannot_be_canceled() {
    let site = Site::start().await;
    let jid = site.submit("emails", json!({})).await;
    site.claim("emails", "mailer", 1).await;
    let done = json!({"worker": "mailer", "attempt": 1, "result": 7});
    site.post(&format!("/api/1/jobs/{jid}/complete"), done).await.ok();
    let path = format!("/api/1/jobs/{jid}");
    assert_eq!(site.delete(&path).await.status, 409);
    assert_eq!(site.get(&path).await.ok()["status"], "completed");
    assert_eq!(site.get("/api/1/queues/emails").await.ok()["ended"], 1);
}

#[tokio::test]
async fn a_job_that_is_not_there_is_told_so() {
    let site = Site::start().await;
    for (method, path, body) in [
        ("GET", "", ""),
        ("DELETE", "", ""),
        ("POST", "/retry", ""),
        ("POST", "/change", r#"{"priority": 1}"#),
        ("GET", "/why", ""),
        ("GET", "/outcome?wait_s=60", ""),
        ("PUT", "/tags", r#"{"tags": ["a"]}"#),
        ("POST", "/progress", r#"{"progress": 1}"#),
        ("POST", "/complete", r#"{"worker": "w"}"#),
        ("POST", "/fail", r#"{"worker": "w", "message": "m"}"#),
        ("POST", "/release", r#"{"worker": "w"}"#),
    ] {
        let answer = site.send(method, &format!("/api/1/jobs/nobody{path}"), &[], body).await;
        let detail = answer.problem(404, "job_not_found");
        assert!(detail.starts_with("there is no job \"nobody\""), "{detail}");
    }
}

#[tokio::test]
async fn names_and_numbers_out_of_bounds_are_refused_by_field() {
    let site = Site::start().await;
    let long = "x".repeat(257);
    let claim = "/api/1/queues/emails/claim";
    let cases = [
        ("POST", format!("/api/1/queues/{long}/jobs"), "{}".to_owned(), "queue"),
        ("GET", format!("/api/1/jobs/{long}"), String::new(), "jid"),
        ("POST", JOBS.into(), json!({"jid": "a b"}).to_string(), "jid"),
        ("POST", JOBS.into(), json!({"tags": [long]}).to_string(), "tags"),
        ("POST", JOBS.into(), json!({"tenant": ""}).to_string(), "tenant"),
        ("POST", JOBS.into(), json!({"data": {"a": 1}}).to_string(), "data"),
        ("POST", JOBS.into(), json!({"priority": "high"}).to_string(), "priority"),
        ("POST", JOBS.into(), json!({"retries": -1}).to_string(), "retries"),
        ("POST", JOBS.into(), json!({"backoff": "steep"}).to_string(), "backoff"),
        ("POST", JOBS.into(), json!({"retryDelayMax": 1}).to_string(), "retryDelayMax"),
        ("POST", JOBS.into(), json!({"retryJitter": 2}).to_string(), "retryJitter"),
        ("POST", JOBS.into(), json!({"timeout": 0}).to_string(), "timeout"),
        ("POST", JOBS.into(), json!({"startWithin": 0}).to_string(), "startWithin"),
        ("POST", JOBS.into(), unique(json!({"key": "x".repeat(10_240)})), "unique.key"),
        ("POST", JOBS.into(), unique(json!({"key": "k", "by": "args"})), "unique.by"),
        ("POST", JOBS.into(), unique(json!({"by": "id"})), "unique.by"),
        ("POST", JOBS.into(), unique(json!({"for": 0})), "unique.for"),
        ("POST", JOBS.into(), unique(json!({"for": -1})), "unique.for"),
        ("POST", JOBS.into(), unique(json!({"until": "then"})), "unique.until"),
        (
            "POST",
            JOBS.into(),
            unique(json!({"debounce": 9, "debounceMax": 8})),
            "unique.debounceMax",
        ),
        ("POST", JOBS.into(), unique(json!({"debounce": 9, "throttle": 8})), "unique.throttle"),
        ("POST", JOBS.into(), unique(json!({"fold": true})), "unique.fold"),
        ("POST", JOBS.into(), json!({"ttl": 1e300}).to_string(), "ttl"),
        (
            "POST",
            JOBS.into(),
            json!({"dependenciesOnTags": true}).to_string(),
            "dependenciesOnTags",
        ),
        ("POST", claim.into(), json!({"max": 0}).to_string(), "max"),
        ("POST", claim.into(), json!({"max": 1001}).to_string(), "max"),
        ("POST", claim.into(), json!({"wait_s": -1}).to_string(), "wait_s"),
        ("POST", claim.into(), json!({"lock_s": 0}).to_string(), "lock_s"),
        ("POST", claim.into(), json!({"worker": "a:b"}).to_string(), "worker"),
    ];
    for (method, path, body, field) in cases {
        let refused = site.send(method, &path, &[], &body).await;
        assert_eq!(refused.status, 422, "{body} {refused:?}");
        assert_eq!(refused.field().as_deref(), Some(field), "{body} {refused:?}");
    }
    let refused = site.send("POST", JOBS, &[], "{\"data\": [1").await;
    refused.problem(400, "bad_json");
    site.get("/api/1/nothing").await.problem(404, "not_found");
    site.send("PUT", JOBS, &[], "").await.problem(405, "method_not_allowed");
}

#[tokio::test]
async fn pages_of_other_sites_are_kept_out() {
    let site = Site::start().await;
    let origin = [("Origin", "https://example.com")];
    site.send("POST", JOBS, &origin, "{}").await.problem(403, "foreign_page");
    let own = format!("http://{}", site.addr);
    assert_eq!(site.send("POST", JOBS, &[("Origin", &own)], "{}").await.status, 201);
}

/// A job with this under `unique`.
fn unique(unique: serde_json::Value) -> String {
    json!({ "unique": unique }).to_string()
}
