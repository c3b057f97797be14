//! What runs by the calendar.

use keyrack_jobs::{
    bee::keys::QueueName,
    recurring::{CronSchedule, Definition},
};
use serde_json::json;

use crate::site::Site;

fn definitions() -> Vec<Definition> {
    let cron = CronSchedule::new("Europe/Berlin", "30 6 * * MON").expect("a schedule");
    let queue = QueueName::new("mail/newsletter").expect("a queue");
    vec![
        Definition::new("send the newsletter", keyrack_jobs::recurring::Schedule::Cron(cron))
            .to_queue(queue),
    ]
}

#[tokio::test]
async fn recurring_jobs_are_listed_run_paused_and_resumed() {
    let site = Site::on("embedded:memory", definitions()).await;
    let listed = site.get("/api/1/recurring").await.ok();
    assert_eq!(listed["state"], "no_list");
    let job = &listed["jobs"][0];
    assert_eq!(
        (&job["name"], &job["cron"]),
        (&"send the newsletter".into(), &"30 6 * * MON".into())
    );
    assert_eq!((&job["queue"], &job["zone"]), (&"mail/newsletter".into(), &"Europe/Berlin".into()));
    assert!(job["next_run_at"].as_i64().is_some_and(|at| at > site.hive.now_ms() as i64), "{job}");

    let path = "/api/1/recurring/send%20the%20newsletter";
    let ran = site.post(&format!("{path}/run"), json!({})).await.ok();
    assert_eq!(ran, json!({"name": "send the newsletter", "queued": 1}));
    assert_eq!(site.claim("mail%2Fnewsletter", "mailer", 1).await.len(), 1);

    assert_eq!(site.post(&format!("{path}/pause"), json!({})).await.ok()["paused"], true);
    assert_eq!(site.get("/api/1/recurring").await.ok()["jobs"][0]["paused"], true);
    assert_eq!(site.post(&format!("{path}/resume"), json!({})).await.ok()["paused"], false);
    let unknown = site.post("/api/1/recurring/nobody/run", json!({})).await;
    assert!(unknown.problem(404, "recurring_job_not_found").contains("\"nobody\""));
}

#[tokio::test]
async fn without_definitions_the_list_is_empty() {
    let site = Site::start().await;
    assert_eq!(site.get("/api/1/recurring").await.ok(), json!({"state": "no_list", "jobs": []}));
}
