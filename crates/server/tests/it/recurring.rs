//! What runs by the calendar.

use keyrack_identity::Role;
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
    let listed = site.get("/api/1/recurring").await.ok();
    assert_eq!(listed, json!({"state": "no_list", "jobs": [], "unreadable": []}));
}

#[tokio::test]
async fn recurring_jobs_are_created_changed_and_deleted_at_run_time() {
    let site = Site::on("embedded:memory", definitions()).await;
    let digest = json!({
        "name": "a/digest", "cron": "30 6 * * MON", "zone": "Europe/Berlin", "queue": "mail/digest", "kwargs": {"z": 1, "a": 2},
    });
    let created = site.post("/api/1/recurring", digest.clone()).await;
    assert_eq!(created.status, 201, "{created:?}");
    let created = created.json();
    assert_eq!((&created["version"], &created["defined_in"]), (&json!(1), &json!("store")));
    site.post("/api/1/recurring", digest.clone()).await.problem(409, "recurring_job_exists");

    let path = "/api/1/recurring/a%2Fdigest";
    let mut definition = site.get(path).await.ok()["definition"].clone();
    assert_eq!(definition["cron"], "30 6 * * MON");
    definition["cron"] = json!("0 7 * * MON");
    let missing = site.put(path, definition.clone()).await;
    assert!(missing.problem(422, "invalid").contains("version"), "{missing:?}");
    let changed = site.put(&format!("{path}?version=1"), definition.clone()).await.ok();
    assert_eq!((&changed["version"], &changed["cron"]), (&json!(2), &json!("0 7 * * MON")));
    let conflict = site.put(&format!("{path}?version=1"), definition.clone()).await;
    assert!(
        conflict.problem(409, "other_version").contains("has version 2, not 1"),
        "{conflict:?}"
    );
    definition["name"] = json!("other");
    let renamed = site.put(&format!("{path}?version=2"), definition).await;
    assert_eq!((renamed.status, renamed.field().as_deref()), (422, Some("name")));

    assert_eq!(site.post(&format!("{path}/pause"), json!({})).await.ok()["paused"], true);
    assert_eq!(site.get(path).await.ok()["paused"], true);
    assert_eq!(site.post(&format!("{path}/resume"), json!({})).await.ok()["paused"], false);
    assert_eq!(site.post(&format!("{path}/run"), json!({})).await.ok()["queued"], 1);
    assert_eq!(site.claim("mail%2Fdigest", "mailer", 1).await.len(), 1);
    site.delete(&format!("{path}?version=2")).await.problem(409, "other_version");
    assert_eq!(site.delete(&format!("{path}?version=4")).await.status, 204);
    site.get(path).await.problem(404, "recurring_job_not_found");

    let admin = site.token_of("root", Role::Admin).await;
    let log = site.send_as(&admin, "GET", "/api/1/audit", json!({})).await.ok();
    let changes = log["changes"].as_array().expect("changes");
    for action in
        ["recurring_created", "recurring_changed", "recurring_paused", "recurring_deleted"]
    {
        let made =
            changes.iter().find(|change| change["action"] == action && change["failed"].is_null());
        assert_eq!(
            made.unwrap_or_else(|| panic!("{action}: {log}"))["subject"],
            "a/digest",
            "{log}"
        );
    }
}

#[tokio::test]
async fn a_job_of_the_settings_is_not_changed_over_http() {
    let site = Site::on("embedded:memory", definitions()).await;
    let job = json!({"name": "send the newsletter", "every": "1h"});
    let origin = "the server's settings ([[recurring]] in keyrack.toml)";
    let refused = site.post("/api/1/recurring", job.clone()).await;
    assert!(refused.problem(409, "recurring_job_fixed").contains(origin), "{refused:?}");
    let path = "/api/1/recurring/send%20the%20newsletter";
    site.put(&format!("{path}?version=1"), job).await.problem(409, "recurring_job_fixed");
    site.delete(path).await.problem(409, "recurring_job_fixed");
    assert_eq!(site.get(path).await.ok()["defined_in"], "settings");
}

#[tokio::test]
async fn bad_definitions_are_refused_with_the_field_and_not_stored() {
    let site = Site::start().await;
    for (job, field) in [
        (json!({"name": "x", "cron": "0 0 30 2 *", "zone": "UTC"}), Some("cron")),
        (json!({"name": "x", "cron": "* * * * *", "zone": "Mars"}), Some("zone")),
        (json!({"name": "x", "every": "0s"}), Some("every")),
        (json!({"name": "x", "at": "2020-01-01T00:00:00Z"}), Some("at")),
        (json!({"name": "n".repeat(257), "every": "1m"}), Some("name")),
        (json!({"name": "x", "every": "1m", "catch_up": -1}), Some("catch_up")),
        (json!({"name": "x", "every": "1m", "kwargs": 1}), Some("kwargs")),
        (json!({"name": "x"}), None),
    ] {
        let refused = site.post("/api/1/recurring", job.clone()).await;
        refused.problem(422, "invalid");
        assert_eq!(refused.field().as_deref(), field, "{job}: {refused:?}");
    }
    let unknown = site.post("/api/1/recurring", json!({"name": "x", "evry": "1m"})).await;
    assert!(unknown.problem(422, "invalid").contains("`evry`"), "{unknown:?}");
    assert_eq!(site.get("/api/1/recurring").await.ok()["jobs"], json!([]));
}

#[tokio::test]
async fn the_calendar_tells_the_next_runs_and_is_bounded() {
    let site = Site::on("embedded:memory", definitions()).await;
    let often = json!({"name": "often", "every": "6h"});
    assert_eq!(site.post("/api/1/recurring", often).await.status, 201);
    let calendar = site.get("/api/1/calendar").await.ok();
    let runs = calendar["runs"].as_array().expect("runs");
    assert_eq!(runs.iter().filter(|run| run["name"] == "often").count(), 28, "{calendar}");
    assert_eq!(calendar["more"], false);
    let at = |run: &serde_json::Value| run["at"].as_i64().expect("a time");
    assert!(runs.is_sorted_by_key(at), "{calendar}");
    let calendar = site.get("/api/1/calendar?days=1&limit=2").await.ok();
    assert_eq!(
        (calendar["runs"].as_array().map(Vec::len), &calendar["more"]),
        (Some(2), &json!(true))
    );
    for query in ["days=0", "days=367", "limit=0", "limit=5001", "hours=1"] {
        site.get(&format!("/api/1/calendar?{query}")).await.problem(422, "invalid");
    }
}

#[tokio::test]
async fn forms_create_change_and_delete_recurring_jobs() {
    let site = Site::on("embedded:memory", definitions()).await;
    let new = site.page("/recurring/new").await;
    assert!(new.contains("action=\"/recurring/new\""), "{new}");
    let bad = site.form("/recurring/new", "name=poll&kind=every&every=0s&queue=typed").await;
    assert_eq!(bad.status, 422, "{bad:?}");
    assert!(bad.body.contains("value=\"typed\"") && bad.body.contains("every"), "{bad:?}");
    let created = site.form("/recurring/new", "name=poll+it&kind=every&every=6h&queue=q").await;
    let page = site.follow(&created).await;
    assert!(page.contains("Created.") && page.contains("poll it"), "{page}");
    assert!(page.contains("Next seven days"), "{page}");

    let form = site.page("/recurring/poll%20it/change").await;
    assert!(
        form.contains("name=\"version\" value=\"1\"") && form.contains("value=\"6h\""),
        "{form}"
    );
    let change =
        "version=1&kind=cron&cron=0+7+*+*+*&zone=Europe%2FBerlin&queue=q&kwargs=%7B%22n%22%3A1%7D";
    let page = site.follow(&site.form("/recurring/poll%20it/change", change).await).await;
    assert!(page.contains("Changed.") && page.contains("0 7 * * *"), "{page}");
    let late = site.form("/recurring/poll%20it/change", change).await;
    assert_eq!(late.status, 422, "{late:?}");
    assert!(late.body.contains("has version 2, not 1"), "{late:?}");
    let late = site.form("/recurring/poll%20it/delete", "version=1").await;
    assert!(site.follow(&late).await.contains("has version 2, not 1"), "{late:?}");
    let deleted = site.form("/recurring/poll%20it/delete", "version=2").await;
    let page = site.follow(&deleted).await;
    assert!(page.contains("Deleted.") && !page.contains("poll it"), "{page}");
    let fixed = site.form("/recurring/send%20the%20newsletter/delete", "").await;
    assert!(site.follow(&fixed).await.contains("cannot be changed at run time"), "{fixed:?}");
}
