//! Logs of jobs and stored progress over HTTP.

use serde_json::{Value as Json, json};

use crate::site::Site;

async fn claimed(site: &Site) -> String {
    let jid = site.submit("emails", json!({})).await;
    site.claim("emails", "mailer", 1).await;
    format!("/api/1/jobs/{jid}")
}

fn texts(page: &Json) -> Vec<&str> {
    let lines = page["lines"].as_array().expect("lines");
    lines.iter().map(|line| line["text"].as_str().expect("a text")).collect()
}

#[tokio::test]
async fn lines_of_a_worker_are_read_from_a_cursor_on() {
    let site = Site::start().await;
    let path = claimed(&site).await;
    let body = json!({"attempt": 1, "lines": [
        {"text": "one", "at": 7}, {"text": "two", "level": "warn"}, {"text": "\u{1b}[31mthree"},
    ]});
    assert_eq!(site.post(&format!("{path}/logs"), body).await.status, 204);
    let page = site.get(&format!("{path}/logs?limit=2")).await.ok();
    assert_eq!(texts(&page), ["one", "two"]);
    let first = json!({"n": 0, "at": 7, "level": "info", "attempt": 1, "text": "one"});
    assert_eq!((&page["lines"][0], &page["lines"][1]["level"]), (&first, &json!("warn")));
    assert_eq!(
        (&page["next"], &page["more"], &page["dropped"]),
        (&json!(2), &json!(true), &json!(0))
    );
    let page = site.get(&format!("{path}/logs?from=2")).await.ok();
    assert_eq!(texts(&page), ["\u{1b}[31mthree"]);
    assert_eq!(page["more"], false);
}

#[tokio::test]
async fn lines_that_make_no_sense_are_refused_and_nothing_is_stored() {
    let site = Site::start().await;
    let path = format!("{}/logs", claimed(&site).await);
    let many: Vec<Json> = (0..1001).map(|n| json!({"text": n.to_string()})).collect();
    for (body, field) in [
        (json!({"attempt": 2, "lines": [{"text": "early"}]}), "attempt"),
        (json!({"attempt": 0, "lines": [{"text": "a"}]}), "attempt"),
        (json!({"attempt": 1, "lines": []}), "lines"),
        (json!({"attempt": 1, "lines": many}), "lines"),
        (json!({"attempt": 1, "lines": [{"text": "a", "level": "loud"}]}), "loud"),
        (json!({"lines": [{"text": "a"}]}), "attempt"),
    ] {
        let answer = site.post(&path, body).await;
        assert_eq!(answer.status, 422, "{answer:?}");
        assert!(answer.body.contains(field), "{field}: {answer:?}");
    }
    assert_eq!(site.get(&path).await.ok()["next"], 0);
    assert_eq!(site.get(&format!("{path}?limit=1001")).await.status, 422);
    let body = json!({"attempt": 1, "lines": [{"text": "a"}]});
    site.post("/api/1/jobs/nobody/logs", body).await.problem(404, "job_not_found");
    site.get("/api/1/jobs/nobody/logs").await.problem(404, "job_not_found");
}

#[tokio::test]
async fn a_log_is_followed_until_the_job_has_ended() {
    let site = Site::start().await;
    let path = claimed(&site).await;
    let write = async |text: &str| {
        let body = json!({"attempt": 1, "lines": [{"text": text}]});
        assert_eq!(site.post(&format!("{path}/logs"), body).await.status, 204);
    };
    write("one").await;
    let mut events = site.stream(&format!("{path}/logs/events"), &[]).await;
    let first = events.next().await;
    assert_eq!((first.kind.as_str(), texts(&first.data)), ("lines", vec!["one"]));
    write("two").await;
    assert_eq!(texts(&events.next().await.data), ["two"]);
    let mut later = site.stream(&format!("{path}/logs/events?from=1"), &[]).await;
    assert_eq!(texts(&later.next().await.data), ["two"]);
}

#[tokio::test]
async fn the_last_progress_is_stored_for_the_attempt_that_runs() {
    let site = Site::start().await;
    let path = claimed(&site).await;
    let progress = format!("{path}/progress");
    let body = json!({"progress": 40, "message": "nearly half", "attempt": 1});
    assert_eq!(site.post(&progress, body).await.status, 204);
    let stored = site.get(&path).await.ok()["progress"].clone();
    assert_eq!((&stored["value"], &stored["message"]), (&json!(40), &json!("nearly half")));
    assert_eq!(stored["attempt"], 1);
    let other = json!({"progress": 90, "attempt": 2});
    site.post(&progress, other).await.problem(409, "job_lost");
    let long = json!({"progress": "x".repeat(5000)});
    assert_eq!(site.post(&progress, long).await.status, 422);
    assert_eq!(site.get(&path).await.ok()["progress"], stored);
}
