//! Single jobs, and looking through those of a queue.

use keyrack_jobs::bee::{End, Outcome, keys::QueueName};
use serde_json::json;

use crate::site::Site;

#[tokio::test]
async fn a_job_is_shown_with_all_its_digits() {
    let site = Site::start().await;
    let body = r#"{"data": [12345678901234567890123, {"b": 0.10, "a": []}], "tags": ["new"], "priority": 2.5}"#;
    let answer = site.send("POST", "/api/1/queues/emails/jobs", &[], body).await;
    let jid = answer.json()["jid"].as_str().expect("an id").to_owned();
    let shown = site.get(&format!("/api/1/jobs/{jid}")).await;
    assert!(shown.body.contains("\"data\":[12345678901234567890123,{"), "{}", shown.body);
    assert!(shown.body.contains("0.10"), "{}", shown.body);
    let shown = shown.ok();
    assert_eq!((&shown["jid"], &shown["queue"]), (&jid.into(), &"emails".into()));
    assert_eq!((&shown["status"], &shown["tags"]), (&"queued".into(), &json!(["new"])));
    assert_eq!(shown["options"]["priority"], 2.5);
    assert_eq!(shown["worker"], json!(null));
    assert_eq!(shown["history"][0]["event"], "submitted");
}

#[tokio::test]
async fn jobs_of_a_queue_are_looked_through() {
    let site = Site::start().await;
    for n in 0..5 {
        site.submit("emails", json!({"data": [format!("user{n}")], "tags": ["t"]})).await;
    }
    let path = "/api/1/queues/emails/jobs?place=queued&limit=2";
    let (mut found, mut next) = (Vec::new(), String::new());
    loop {
        let page = site.get(&format!("{path}{next}")).await.ok();
        found.extend(
            page["jobs"].as_array().expect("a list").iter().map(|job| job["data"][0].clone()),
        );
        match page["next"].as_str() {
            Some(cursor) => next = format!("&cursor={cursor}"),
            None => break,
        }
    }
    assert_eq!(found.len(), 5);
    let search = site.get("/api/1/queues/emails/jobs?place=queued&text=user3&tag=t").await.ok();
    assert_eq!(search["jobs"][0]["data"][0], "user3");
    assert_eq!(search["jobs"].as_array().map(Vec::len), Some(1));
    for (query, field) in [
        ("", "place"),
        ("?place=nowhere", "place"),
        ("?place=queued&limit=501", "limit"),
        ("?place=queued&cursor=zz", "cursor"),
    ] {
        let refused = site.get(&format!("/api/1/queues/emails/jobs{query}")).await;
        let detail = refused.problem(422, "invalid");
        assert!(detail.contains(field), "{detail}");
    }
}

#[tokio::test]
async fn a_job_is_cancelled_and_run_again() {
    let site = Site::start().await;
    let parent = site.submit("emails", json!({})).await;
    let child = site.submit("emails", json!({"parent": parent.as_str()})).await;
    let path = format!("/api/1/jobs/{parent}");
    let refused = site.post(&format!("{path}/retry"), json!({})).await;
    assert!(refused.problem(409, "job_conflict").contains("is queued"));
    let canceled = site.delete(&path).await.ok();
    assert_eq!(canceled, json!({"canceled": [child.as_str(), parent.as_str()]}));
    let retried = site.post(&format!("{path}/retry"), json!({})).await.ok();
    assert_eq!(retried["status"], "queued");
}

#[tokio::test]
async fn it_is_told_why_a_job_does_not_run() {
    let site = Site::start().await;
    let first = site.submit("emails", json!({})).await;
    let second = site.submit("emails", json!({"dependencies": [first.as_str()]})).await;
    let why = site.get(&format!("/api/1/jobs/{second}/why")).await.ok();
    assert_eq!(why["status"], "new");
    assert_eq!(why["reasons"][0]["reason"], "dependencies");
    assert_eq!(why["reasons"][0]["jobs"][0], json!({"jid": first.as_str(), "status": "queued"}));
    assert!(why["explanation"].as_str().is_some_and(|text| text.starts_with("it waits for 1 job")));
}

#[tokio::test]
async fn jobs_are_found_by_all_their_tags() {
    let site = Site::start().await;
    let jid = site.submit("emails", json!({"tags": ["a", "b"]})).await;
    site.submit("emails", json!({"tags": ["a"]})).await;
    let grouped = site.submit("mail%2Fsend", json!({"tags": ["a"]})).await;
    let found = site.get("/api/1/jobs/search?tag=a&tag=b").await.ok();
    assert_eq!(found, json!({"jids": [jid.as_str()], "total": 1}));
    let found = site.get("/api/1/jobs/search?tag=a&queue=mail/send").await.ok();
    assert_eq!(found["total"], 3);
    assert!(found["jids"].as_array().is_some_and(|jids| jids.contains(&grouped.as_str().into())));
    let path = format!("/api/1/jobs/{jid}/tags");
    assert_eq!(site.put(&path, json!({"tags": ["c"]})).await.ok(), json!({"tags": ["c"]}));
    assert_eq!(site.get("/api/1/jobs/search?tag=b").await.ok()["total"], 0);
    site.get("/api/1/jobs/search").await.problem(422, "invalid");
    let refused = site.put(&path, json!({"tags": [""]})).await;
    refused.problem(422, "bad_name");
    assert_eq!(refused.field().as_deref(), Some("tags"));
}

#[tokio::test]
async fn the_outcome_of_a_job_is_waited_for() {
    let site = Site::start().await;
    let jid = site.submit("emails", json!({"data": ["a"]})).await;
    let now = site.get(&format!("/api/1/jobs/{jid}/outcome")).await.ok();
    assert_eq!((&now["ended"], &now["job"]["status"]), (&false.into(), &"queued".into()));

    let (queue, worker) = {
        let queue = QueueName::new("emails").expect("a queue");
        let worker = site.hive.new_worker(&queue).expect("a worker");
        (queue, worker)
    };
    let path = format!("/api/1/jobs/{jid}/outcome?wait_s=60");
    let running = async {
        let lock = std::time::Duration::from_secs(10);
        let job = site.hive.claim(&queue, &worker, 1, lock).await.expect("claimed").jobs.remove(0);
        let end = End::Completed { result: "{\"sent\":true}".into(), ttl_ms: None };
        site.hive
            .settle(&queue, &worker, &[Outcome::of(&job, end)], 0, lock)
            .await
            .expect("settled");
    };
    let (answer, ()) = tokio::join!(site.get(&path), running);
    let answer = answer.ok();
    assert_eq!(
        (&answer["ended"], &answer["job"]["result"]),
        (&true.into(), &json!({"sent": true}))
    );
    let refused = site.get(&format!("/api/1/jobs/{jid}/outcome?wait_s=61")).await;
    assert!(refused.problem(422, "invalid").contains("give 0 to 60 seconds"));
}

#[tokio::test]
async fn jobs_that_wait_are_changed_one_by_one_or_by_a_filter() {
    let site = Site::start().await;
    let jid = site.submit("emails", json!({"data": [1], "timeout": 5000})).await;
    site.submit("other%2Femails", json!({})).await;
    let path = format!("/api/1/jobs/{jid}/change");
    let asked = json!({"priority": 3, "timeout": null, "data": [2], "delay": 60000});
    let job = site.post(&path, asked).await.ok();
    assert_eq!((&job["status"], &job["data"]), (&"new".into(), &json!([2])));
    let options = &job["options"];
    assert_eq!((&options["priority"], options.get("timeout")), (&3.into(), None));
    for (body, field) in [
        (json!({}), "change"),
        (json!({"priority": 11}), "priority"),
        (json!({"delay": -1}), "delay"),
        (json!({"queue": "other/emails"}), "queue"),
    ] {
        let refused = site.post(&path, body).await;
        assert_eq!((refused.status, refused.field().as_deref()), (422, Some(field)));
    }
    site.post(&path, json!({"queue": "nowhere"})).await.problem(404, "queue_not_found");

    let many = "/api/1/queues/emails/jobs/change";
    let dry = json!({"place": "delayed", "dry_run": true, "change": {"runNow": true}});
    assert_eq!(site.post(many, dry).await.ok(), json!({"matched": 1, "changed": 0, "next": null}));
    let wet = json!({"place": "delayed", "change": {"runNow": true}});
    assert_eq!(site.post(many, wet).await.ok(), json!({"matched": 1, "changed": 1, "next": null}));
    let refused = site.post(many, json!({"place": "failed", "change": {"runNow": true}})).await;
    assert!(refused.problem(422, "invalid").contains("only jobs that wait can be changed"));

    site.claim("emails", "mailer", 1).await;
    let refused = site.post(&path, json!({"priority": 1})).await;
    let detail = refused.problem(409, "job_conflict");
    assert!(detail.contains("is running; only a job that waits can be changed"), "{detail}");
}

#[tokio::test]
async fn many_jobs_are_canceled_or_retried_after_a_dry_run() {
    let site = Site::start().await;
    for n in 0..6 {
        site.submit("emails", json!({"data": [n], "tags": [if n < 4 { "old" } else { "new" }]}))
            .await;
    }
    let path = "/api/1/queues/emails/jobs/cancel";
    let dry = json!({"place": "queued", "tag": "old", "dry_run": true});
    assert_eq!(site.post(path, dry).await.ok(), json!({"matched": 4, "changed": 0, "next": null}));
    let wet = json!({"place": "queued", "tag": "old"});
    assert_eq!(site.post(path, wet).await.ok(), json!({"matched": 4, "changed": 4, "next": null}));

    for job in site.claim("emails", "mailer", 10).await {
        let path = format!("/api/1/jobs/{}/fail", job["jid"].as_str().expect("an id"));
        let failed = json!({"worker": "mailer", "attempt": 1, "message": "no", "retry": false});
        site.post(&path, failed).await.ok();
    }
    let retried =
        site.post("/api/1/queues/emails/jobs/retry", json!({"place": "failed"})).await.ok();
    assert_eq!(retried, json!({"matched": 2, "changed": 2, "next": null}));
    let refused = site.post("/api/1/queues/emails/jobs/retry", json!({"place": "queued"})).await;
    refused.problem(422, "invalid");
}
