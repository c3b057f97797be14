//! Submitting jobs.

use serde_json::json;

use crate::site::Site;

const PATH: &str = "/api/1/queues/emails/jobs";

#[tokio::test]
async fn a_submitted_job_is_where_it_is_said_to_be() {
    let site = Site::start().await;
    let answer = site.post(PATH, json!({"data": ["alice"], "retries": 1, "ttl": 5000})).await;
    assert_eq!(answer.status, 201);
    let body = answer.json();
    assert_eq!((&body["queue"], &body["created"]), (&"emails".into(), &true.into()));
    let location = answer.header("location").expect("a location");
    let job = site.get(location).await.ok();
    assert_eq!((&job["jid"], &job["data"]), (&body["jid"], &json!(["alice"])));
    assert_eq!((&job["options"]["retries"], &job["options"]["ttl"]), (&1.into(), &5000.into()));
}

#[tokio::test]
async fn every_option_reaches_the_job() {
    let site = Site::start().await;
    let other = site.submit("emails", json!({"jid": "other"})).await;
    let job = json!({
        "jid": "mine", "data": [], "priority": -1, "delay": 1000, "dependencies": [other.as_str()],
        "dependenciesOnTags": true, "preferredHostname": "h", "retries": 0, "retryDelay": 7, "progressiveDelay": true,
        "ttl": 9, "failedTtl": 11, "tags": ["t"], "parent": other.as_str(), "tenant": "acme",
        "limits": ["gpu", "api.example.com"],
    });
    site.submit("emails", job).await;
    let shown = site.get("/api/1/jobs/mine").await.ok();
    let options = json!({
        "priority": -1, "delay": 1000, "dependencies": ["other"], "dependenciesOnTags": true, "preferredHostname": "h",
        "retries": 0, "retryDelay": 7, "progressiveDelay": true, "ttl": 9, "failedTtl": 11,
        "limits": ["gpu", "api.example.com"],
    });
    let too_high = site.post(PATH, json!({"priority": 11})).await;
    too_high.problem(422, "invalid");
    assert_eq!(too_high.field().as_deref(), Some("priority"));
    assert_eq!(shown["options"], options);
    assert_eq!((&shown["parent"], &shown["tenant"]), (&"other".into(), &"acme".into()));
    site.post(PATH, json!({"jid": "mine"})).await.problem(409, "job_exists");
}

#[tokio::test]
async fn a_job_tells_which_submissions_it_stands_for() {
    let site = Site::start().await;
    let burst = json!({"jid": "burst", "unique": {"key": "index", "debounce": 2_000}});
    site.submit("emails", burst).await;
    let told = json!({"key": "index", "debounce": 2_000, "debounceMax": 20_000});
    assert_eq!(site.get("/api/1/jobs/burst").await.ok()["unique"], told);
    let listed = site.get("/api/1/queues/emails/jobs?place=delayed").await.ok();
    assert_eq!(listed["jobs"][0]["unique"], told);
    site.submit("emails", json!({"jid": "args", "unique": {}})).await;
    let told = json!({"by": "args", "until": "ended"});
    assert_eq!(site.get("/api/1/jobs/args").await.ok()["unique"], told);
    site.submit("emails", json!({"jid": "plain"})).await;
    assert_eq!(site.get("/api/1/jobs/plain").await.ok()["unique"], json!(null));
}

#[tokio::test]
async fn a_list_is_submitted_as_a_whole_or_not_at_all() {
    let site = Site::start().await;
    let jobs = json!([{"data": [1]}, {"data": [2], "jid": "second"}]);
    let answer = site.post(PATH, jobs).await;
    assert_eq!(answer.status, 201);
    let jobs = answer.json()["jobs"].as_array().expect("a list").clone();
    assert_eq!((jobs.len(), &jobs[1]), (2, &json!({"jid": "second", "created": true})));

    let refused = site.post(PATH, json!([{"data": [3]}, {"delay": -1}])).await;
    let detail = refused.problem(422, "invalid");
    assert!(detail.starts_with("[1]: delay: -1 ms; give 0 to"), "{detail}");
    assert_eq!(refused.field().as_deref(), Some("[1].delay"));
    let refused = site.post(PATH, json!([{"data": [3]}, {"dalay": 1}])).await;
    refused.problem(422, "invalid");
    assert_eq!(site.get("/api/1/queues/emails").await.ok()["queued"], 2, "nothing was half done");

    let mixed = site.post(PATH, json!([{"jid": "third"}, {"jid": "second"}])).await;
    assert!(mixed.problem(409, "job_exists").starts_with("[1]: "));
    let twice = site.post(PATH, json!([{"jid": "third"}, {"jid": "third"}])).await;
    twice.problem(409, "job_exists");
    site.submit("emails", json!({"jid": "gone"})).await;
    site.delete("/api/1/jobs/gone").await.ok();
    let orphans = site.post(PATH, json!([{"jid": "third"}, {"parent": "gone"}])).await;
    assert!(orphans.problem(409, "parent_canceled").starts_with("[1]: "));
    site.get("/api/1/jobs/third").await.problem(404, "job_not_found");
    assert_eq!(site.post(PATH, json!([])).await.json(), json!({"jobs": []}));
}

#[tokio::test]
async fn the_same_key_gives_the_same_job() {
    let site = Site::start().await;
    let send = async |key: &str, body: &str| {
        site.send("POST", PATH, &[("Idempotency-Key", key)], body).await
    };
    let first = send("order 7", r#"{"data": ["a", 1.50]}"#).await;
    let again = send("order 7", r#"{"data": ["a", 1.5]}"#).await;
    assert_eq!((first.status, again.status), (201, 200));
    assert_eq!(first.json()["jid"], again.json()["jid"]);
    assert_eq!(again.json()["created"], false);
    let other = send("order 8", r#"{"data": ["a", 1.5]}"#).await;
    assert_eq!(other.status, 201);
    assert_ne!(first.json()["jid"], other.json()["jid"]);
    let reused = send("order 7", r#"{"data": ["b"]}"#).await;
    reused.problem(422, "idempotency_key_reused");
    for options in
        [r#""priority": 3"#, r#""delay": 5"#, r#""ttl": 1"#, r#""tags": ["t"]"#, r#""tenant": "a""#]
    {
        let reused = send("order 7", &format!(r#"{{"data": ["a", 1.5], {options}}}"#)).await;
        reused.problem(422, "idempotency_key_reused");
    }
    assert_eq!(site.get("/api/1/queues/emails").await.ok()["queued"], 2);
    // What a worker may change is compared with what was asked for, not with what it is now.
    assert_eq!(site.claim("emails", "mailer", 2).await.len(), 2);
    assert_eq!(send("order 7", r#"{"data": ["a", 1.5]}"#).await.status, 200);
    for options in [
        r#""retries": 1"#,
        r#""retryDelay": 1"#,
        r#""progressiveDelay": true"#,
        r#""ttl": 1"#,
        r#""failedTtl": 1"#,
        r#""tags": ["t"]"#,
    ] {
        let reused = send("order 7", &format!(r#"{{"data": ["a", 1.5], {options}}}"#)).await;
        reused.problem(422, "idempotency_key_reused");
    }

    let list = r#"[{"data": [1]}, {"data": [2]}]"#;
    let (first, again) = (send("batch", list).await.json(), send("batch", list).await.json());
    assert_eq!(first["jobs"][1]["jid"], again["jobs"][1]["jid"]);
    assert_ne!(first["jobs"][0]["jid"], first["jobs"][1]["jid"]);
    assert_eq!(again["jobs"][1]["created"], false);
    assert_eq!(site.get("/api/1/queues/emails").await.ok()["queued"], 2);
    let other = send("batch", r#"[{"data": [1]}, {"data": [3]}]"#).await;
    assert!(other.problem(422, "idempotency_key_reused").starts_with("[1]: "));
    let longer = send("batch", r#"[{"data": [1]}, {"data": [2]}, {"data": [3]}]"#).await.json();
    let created: Vec<_> = (0..3).map(|at| longer["jobs"][at]["created"].clone()).collect();
    assert_eq!(created, [false, false, true], "what was there is as good as new");
    for key in ["", &"x".repeat(256), "grüße"] {
        let refused = send(key, "{}").await;
        refused.problem(422, "invalid");
        assert_eq!(refused.field().as_deref(), Some("Idempotency-Key"));
    }
}

#[tokio::test]
async fn one_key_means_another_job_in_another_queue() {
    let site = Site::start().await;
    let key = [("Idempotency-Key", "k")];
    let one = site.send("POST", PATH, &key, "{}").await.json();
    let other = site.send("POST", "/api/1/queues/mail%2Fsend/jobs", &key, "{}").await;
    assert_eq!(other.status, 201);
    assert_ne!(one["jid"], other.json()["jid"]);
    let location = other.header("location").expect("a location");
    assert_eq!(site.get(location).await.ok()["queue"], "mail/send");
}
