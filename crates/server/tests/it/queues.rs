//! Queues as a whole.

use std::collections::BTreeSet;

use keyrack_jobs::bee::keys::{self, QueueName};
use keyrack_testkit::wait_until_async;
use keyrack_web::MetricsQueues;
use serde_json::json;

use crate::site::Site;

#[tokio::test]
async fn queues_are_listed_page_by_page() {
    let site = Site::start().await;
    assert_eq!(site.get("/api/1/queues").await.ok(), json!({"queues": [], "next": null}));
    for queue in ["c", "a", "mail%2Fsend", "b"] {
        site.submit(queue, json!({"data": [1]})).await;
    }
    let (mut names, mut path) = (Vec::new(), "/api/1/queues?limit=3".to_owned());
    loop {
        let page = site.get(&path).await.ok();
        for queue in page["queues"].as_array().expect("a list") {
            assert_eq!(queue["queued"], 1);
            names.push(queue["queue"].as_str().expect("a name").to_owned());
        }
        match page["next"].as_str() {
            Some(next) => path = format!("/api/1/queues?limit=3&cursor={next}"),
            None => break,
        }
    }
    assert_eq!(names, ["a", "b", "c", "mail/send"]);
    for limit in ["0", "201", "many"] {
        let refused = site.get(&format!("/api/1/queues?limit={limit}")).await;
        refused.problem(422, "invalid");
        assert_eq!(refused.field().as_deref(), Some("limit"));
    }
}

#[tokio::test]
async fn a_queue_is_shown_with_its_workers_and_minutes() {
    let site = Site::start().await;
    site.submit("emails", json!({"data": ["a"]})).await;
    site.claim("emails", "mailer", 1).await;
    site.submit("emails", json!({"data": ["b"], "delay": 60000})).await;
    let shown = site.get("/api/1/queues/emails").await.ok();
    assert_eq!((&shown["running"], &shown["delayed"]), (&1.into(), &1.into()));
    assert_eq!(shown["workers"][0]["worker"], "mailer:0:http:emails");
    assert_eq!(shown["workers"][0]["info"]["listens"], false);
    assert_eq!(shown["minutes"].as_array().map(|minutes| !minutes.is_empty()), Some(true));
}

#[tokio::test]
async fn a_queue_tells_how_long_its_jobs_took() {
    let site = Site::start().await;
    let unknown = site.get("/api/1/queues/emails/times").await;
    unknown.problem(404, "queue_not_found");
    site.submit("emails", json!({"data": ["a"]})).await;
    let job = site.claim("emails", "mailer", 1).await.remove(0);
    let jid = job["jid"].as_str().expect("an id");
    let done = json!({"worker": "mailer", "attempt": 1, "result": 7});
    site.post(&format!("/api/1/jobs/{jid}/complete"), done).await.ok();
    let times = site.get("/api/1/queues/emails/times?resolution=minute").await.ok();
    assert_eq!(times["resolution"], "minute");
    let sum = &times["sum"];
    let counts = (&sum["submitted"], &sum["started"], &sum["completed"], &sum["error_rate"]);
    assert_eq!(counts, (&1.into(), &1.into(), &1.into(), &0.0.into()));
    assert_eq!((&sum["wait"]["count"], &sum["run"]["count"]), (&1.into(), &1.into()));
    assert_eq!(times["slowest"][0]["jid"], jid);
    for (query, field) in [("from=9999999999999", "from"), ("from=1", "from")] {
        let refused = site.get(&format!("/api/1/queues/emails/times?{query}")).await;
        refused.problem(422, "invalid");
        assert_eq!(refused.field().as_deref(), Some(field));
    }
    let refused = site.get("/api/1/queues/emails/times?resolution=day").await;
    refused.problem(422, "invalid");
}

#[tokio::test]
async fn a_queue_tells_why_its_jobs_failed_and_runs_them_again() {
    let site = Site::start().await;
    site.get("/api/1/queues/emails/errors").await.problem(404, "queue_not_found");
    for n in 0..3 {
        site.submit("emails", json!({"data": [n], "retries": 0})).await;
        let claim = json!({"worker": "mailer", "version": "1.4.0"});
        let claimed = site.post("/api/1/queues/emails/claim", claim).await.ok();
        let jid = claimed["jobs"][0]["jid"].as_str().expect("an id").to_owned();
        let failure = json!({"worker": "mailer", "message": format!("Refused: by host {n}")});
        site.post(&format!("/api/1/jobs/{jid}/fail"), failure).await.ok();
    }
    let errors = site.get("/api/1/queues/emails/errors?text=REFUSED").await.ok();
    let group = &errors["groups"][0];
    assert_eq!((&group["kind"], &group["text"]), (&"Refused".into(), &"by host #".into()));
    assert_eq!((&group["count"], &group["failed"]), (&3.into(), &3.into()));
    assert_eq!((&group["versions"], &group["hosts"]), (&json!(["1.4.0"]), &json!(["mailer"])));
    let id = group["id"].as_str().expect("an id");
    let path = format!("/api/1/queues/emails/errors/{id}");
    let shown = site.get(&path).await.ok();
    assert_eq!((&shown["id"], &shown["queues"]), (&id.into(), &json!(["emails"])));
    let listed = site.get(&format!("/api/1/queues/emails/jobs?place=failed&error={id}")).await;
    assert_eq!(listed.ok()["jobs"].as_array().map(Vec::len), Some(3));

    let muted = site.post(&format!("{path}/mute"), json!({"version": "1.5.0"})).await.ok();
    assert_eq!(muted["version"], "1.5.0");
    let unmuted = site.get("/api/1/queues/emails/errors?muted=false").await.ok();
    assert_eq!(unmuted["groups"], json!([]));
    for (body, field) in
        [(json!({}), "until"), (json!({"until": 1}), "until"), (json!({"version": ""}), "version")]
    {
        let refused = site.post(&format!("{path}/mute"), body).await;
        refused.problem(422, "invalid");
        assert_eq!(refused.field().as_deref(), Some(field));
    }
    assert_eq!(site.post(&format!("{path}/unmute"), json!({})).await.status, 204);

    let counted = site.post(&format!("{path}/retry"), json!({"dry_run": true})).await.ok();
    assert_eq!((&counted["matched"], &counted["changed"]), (&3.into(), &0.into()));
    let some = site.post(&format!("{path}/retry"), json!({"max": 2})).await.ok();
    assert_eq!(some["changed"], 2);
    let rest = site.post(&format!("{path}/retry"), json!({})).await.ok();
    assert_eq!(rest["changed"], 1);
    let refused = site.post(&format!("{path}/retry"), json!({"max": 0})).await;
    refused.problem(422, "invalid");
    for verb in ["", "/retry", "/mute", "/unmute"] {
        let unknown = format!("/api/1/queues/emails/errors/none{verb}");
        let answer = match verb {
            "" => site.get(&unknown).await,
            "/mute" => site.post(&unknown, json!({"version": "1"})).await,
            _ => site.post(&unknown, json!({})).await,
        };
        answer.problem(404, "error_group_not_found");
    }
}

#[tokio::test]
async fn a_paused_queue_says_so_to_its_workers() {
    let site = Site::start().await;
    site.submit("emails", json!({})).await;
    let paused = site.post("/api/1/queues/emails/pause", json!({})).await.ok();
    assert_eq!(paused, json!({"queue": "emails", "paused": true}));
    let claimed = site.post("/api/1/queues/emails/claim", json!({})).await.ok();
    assert_eq!((&claimed["jobs"], &claimed["blocked"]), (&json!([]), &json!("paused")));
    let resumed = site.send("POST", "/api/1/queues/emails/resume", &[], "").await.ok();
    assert_eq!(resumed["paused"], false, "no body is as good as an empty one");
    assert_eq!(site.claim("emails", "mailer", 1).await.len(), 1);
}

#[tokio::test]
async fn limits_are_set_before_the_first_job_and_shown() {
    let site = Site::start().await;
    let limits = json!({
        "concurrency": 2, "rate": {"max": 100, "per_ms": 1000}, "tenant_concurrency": 1, "tenants": {"acme": 2},
        "completed_max": 5_000, "failed_max": null, "failed_ttl_ms": 60_000,
        "retries": 3, "backoff": {"kind": "exponential", "delay_ms": 1000.0, "max_ms": 60_000.0, "jitter": 0.5},
        "timeout_ms": 30_000, "wait_target_ms": 5_000,
        "tenant_rate": null, "tenant_rates": {}, "tenant_weights": {}, "paused_tenants": [], "named": {},
    });
    let unknown = site.put("/api/1/queues/emails/limits", limits.clone()).await;
    unknown.problem(404, "queue_not_found");
    let created = site.put("/api/1/queues/emails/limits?create=true", limits.clone()).await;
    assert_eq!(created.ok(), limits);
    assert_eq!(site.put("/api/1/queues/emails/limits", limits.clone()).await.ok(), limits);
    assert_eq!(site.get("/api/1/queues/emails/limits").await.ok(), limits);
    assert_eq!(site.get("/api/1/queues/emails").await.ok()["limits"], limits);
    for _ in 0..3 {
        site.submit("emails", json!({})).await;
    }
    assert_eq!(site.claim("emails", "mailer", 10).await.len(), 2);

    for (limits, field) in [
        (json!({"concurrency": 0}), "concurrency"),
        (json!({"concurrency": -1}), "concurrency"),
        (json!({"rate": {"max": 1}}), "rate"),
        (json!({"rate": {"max": 1, "per_ms": "soon"}}), "rate.per_ms"),
        (json!({"backoff": {"delay_ms": 1000, "max_ms": 10}}), "backoff.max_ms"),
        (json!({"timeout_ms": 0}), "timeout_ms"),
        (json!({"wait_target_ms": 0}), "wait_target_ms"),
        (json!({"named": {"gpu": {"concurrency": 0}}}), "named.concurrency"),
        (json!({"named": {"gpu": {"rate": {"max": 1, "per_ms": 0}}}}), "named.rate.per_ms"),
        (json!({"named": {"gpu": {"at_once": 1}}}), "named.gpu.at_once"),
    ] {
        let refused = site.put("/api/1/queues/emails/limits", limits).await;
        refused.problem(422, "invalid");
        assert_eq!(refused.field().as_deref(), Some(field));
    }
    assert_eq!(site.get("/api/1/queues/emails/limits").await.ok(), limits, "nothing was changed");
}

#[tokio::test]
async fn only_an_empty_queue_is_deleted() {
    let site = Site::start().await;
    let jid = site.submit("emails", json!({})).await;
    let refused = site.delete("/api/1/queues/emails").await;
    assert!(refused.problem(409, "queue_not_empty").contains("still holds 1 jobs"));
    site.delete(&format!("/api/1/jobs/{jid}")).await.ok();
    assert_eq!(site.delete("/api/1/queues/emails").await.status, 204);
    site.get("/api/1/queues/emails").await.problem(404, "queue_not_found");
}

#[tokio::test]
async fn the_numbers_of_queues_are_metrics() {
    let site = Site::start().await;
    for _ in 0..3 {
        site.submit("emails", json!({})).await;
    }
    let job = site.claim("emails", "mailer", 1).await.remove(0);
    let done = json!({"worker": "mailer", "attempt": 1, "result": 7});
    let path = format!("/api/1/jobs/{}/complete", job["jid"].as_str().expect("an id"));
    site.post(&path, done).await.ok();
    let metrics = site.get("/metrics").await.body;
    for line in [
        "keyrack_jobs_queues 1\n",
        "keyrack_jobs_queues_left_out 0\n",
        "keyrack_jobs_held{queue=\"emails\",place=\"queued\"} 2\n",
        "keyrack_jobs_held{queue=\"emails\",place=\"ended\"} 1\n",
        "keyrack_jobs_submitted_total{queue=\"emails\"} 3\n",
        "keyrack_jobs_claimed_total{queue=\"emails\"} 1\n",
        "keyrack_jobs_completed_total{queue=\"emails\"} 1\n",
        "keyrack_jobs_failed_total{queue=\"emails\"} 0\n",
        "keyrack_jobs_workers{queue=\"emails\"} 1\n",
        "keyrack_jobs_paused{queue=\"emails\"} 0\n",
        "keyrack_jobs_oldest_seconds{queue=\"emails\"} ",
        "keyrack_jobs_canceled_total{queue=\"emails\"} 0\n",
        "# TYPE keyrack_jobs_wait_seconds histogram\n",
        "keyrack_jobs_wait_seconds_bucket{le=\"+Inf\",queue=\"emails\"} 1\n",
        "keyrack_jobs_run_seconds_count{queue=\"emails\"} 1\n",
    ] {
        assert!(metrics.contains(line), "no {line:?} in\n{metrics}");
    }
    // It was last heard of two minutes ago.
    let (store, queue) = (site.hive.store(), QueueName::new("emails").expect("a queue"));
    let mut cmd = redis::cmd("ZADD");
    cmd.arg(&*store.place(&keys::bees(&queue, &queue.group())));
    cmd.arg(site.hive.now_ms() - 120_000).arg("mailer:0:http:emails");
    let () = cmd.query_async(&mut store.connection()).await.expect("set back");
    let metrics = site.get("/metrics").await.body;
    assert!(metrics.contains("keyrack_jobs_workers{queue=\"emails\"} 0\n"), "{metrics}");
    assert_eq!(site.get("/api/1/queues").await.ok()["queues"][0]["workers"], 0);
}

/// The names of the labels of a metric, as they were scraped; nothing if it was not.
fn labels_of(metrics: &str, name: &str) -> Option<BTreeSet<String>> {
    let sample = metrics.lines().find(|line| {
        line.strip_prefix(name).is_some_and(|rest| rest.starts_with('{') || rest.starts_with(' '))
    })?;
    let labels = sample[name.len()..].strip_prefix('{').and_then(|rest| rest.split_once('}'));
    let pairs = labels.map_or("", |(labels, _)| labels).split(',');
    Some(pairs.filter_map(|pair| Some(pair.split_once('=')?.0.to_owned())).collect())
}

/// The name of the metric that an expression begins with.
fn metric_in(expression: &str) -> &str {
    let at = expression.find("keyrack_").expect("a metric");
    let rest = &expression[at..];
    &rest[..rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(rest.len())]
}

/// Prometheus matches two sides by all of their labels unless it is told otherwise.
#[tokio::test]
async fn both_sides_of_every_recommended_alert_can_match() {
    let site = Site::start().await;
    site.submit("emails", json!({})).await;
    let metrics = site.get("/metrics").await.body;
    let page = include_str!("../../../../docs/operating.md");
    let table = page.split("## Alerts").nth(1).expect("a table of alerts");
    let conditions: Vec<&str> = table.lines().filter_map(|line| line.split('`').nth(1)).collect();
    assert!(conditions.len() > 5, "{conditions:?}");
    let mut n_matched = 0;
    for condition in conditions {
        let Some((left, right)) = condition.split_once(" and ") else { continue };
        let ignored = right.strip_prefix("ignoring(").and_then(|rest| rest.split_once(')'));
        let ignored = ignored.map_or("", |(labels, _)| labels);
        let [left, right] = [left, right].map(|side| {
            let mut labels = labels_of(&metrics, metric_in(side)).expect("it was scraped");
            labels.retain(|label| !ignored.split(',').any(|name| name.trim() == label));
            labels
        });
        assert_eq!(left, right, "{condition}");
        n_matched += 1;
    }
    assert!(n_matched > 0, "the alert on missing workers has two sides");
}

#[tokio::test]
async fn queues_beyond_the_limit_of_metrics_are_summed() {
    let site = Site::measuring(MetricsQueues { max: 2, prefixes: Vec::new() }).await;
    for queue in ["a", "b", "c", "c", "d"] {
        site.submit(queue, json!({})).await;
    }
    let metrics = wait_for_others(&site).await;
    for line in [
        "keyrack_jobs_queues 4\n",
        "keyrack_jobs_queues_left_out 2\n",
        "keyrack_jobs_held{queue=\"c\",place=\"queued\"} 2\n",
        "keyrack_jobs_held{queue=\"(others)\",place=\"queued\"} 2\n",
        "keyrack_jobs_submitted_total{queue=\"(others)\"} 2\n",
        "keyrack_jobs_wait_seconds_count{queue=\"(others)\"} 0\n",
    ] {
        assert!(metrics.contains(line), "no {line:?} in\n{metrics}");
    }
    for (queue, is_shown) in [("a", true), ("b", false), ("c", true), ("d", false)] {
        assert_eq!(metrics.contains(&format!("queue=\"{queue}\"")), is_shown, "{queue}");
    }
}

/// The metrics, once the queues without metrics of their own are summed.
async fn wait_for_others(site: &Site) -> String {
    let mut metrics = String::new();
    wait_until_async("the other queues to be summed", async || {
        metrics = site.get("/metrics").await.body;
        metrics.contains("keyrack_jobs_others_age_seconds")
    })
    .await;
    metrics
}

#[tokio::test]
async fn an_unknown_queue_is_refused_with_the_name_that_was_meant() {
    let site = Site::start().await;
    site.submit("emails", json!({})).await;
    let refused = site.post("/api/1/queues/emials/pause", json!({})).await;
    let detail = refused.problem(404, "queue_not_found");
    assert!(detail.contains("did you mean \"emails\"?"), "{detail}");
    site.get("/api/1/queues/emials").await.problem(404, "queue_not_found");
    let refused = site.put("/api/1/queues/emials/limits", json!({"concurrency": 1})).await;
    let detail = refused.problem(404, "queue_not_found");
    assert!(detail.contains("did you mean \"emails\"?"), "{detail}");
    let created = site.post("/api/1/queues/letters/pause?create=true", json!({})).await;
    assert_eq!(created.ok()["paused"], true);
    let queues = site.get("/api/1/queues").await.ok();
    let names: Vec<_> = queues["queues"].as_array().expect("a list").iter().collect();
    assert_eq!(names.len(), 2, "{names:?}");
    assert_eq!((&names[0]["queue"], &names[1]["queue"]), (&"emails".into(), &"letters".into()));
}

#[tokio::test]
async fn a_queue_says_how_many_workers_it_needs() {
    let site = Site::start().await;
    for _ in 0..3 {
        site.submit("emails", json!({})).await;
    }
    let scaling = site.get("/api/1/queues/emails/scaling?wait_target_ms=5000").await.ok();
    assert_eq!((&scaling["workers"], &scaling["waiting"]), (&json!(3), &json!(3)));
    assert_eq!((&scaling["wait_target_ms"], &scaling["run_mean_ms"]), (&json!(5000), &json!(null)));
    let metrics = site.get("/metrics").await.body;
    let wanted = "keyrack_jobs_workers_wanted{queue=\"emails\"} 3";
    assert!(metrics.contains(wanted), "{metrics}");
    let refused = site.get("/api/1/queues/emails/scaling?wait_target_ms=0").await;
    refused.problem(422, "invalid");
    assert_eq!(site.get("/api/1/queues/nobodys/scaling").await.status, 404);
}

#[tokio::test]
async fn jobs_name_limits_and_are_told_which_holds_them() {
    let site = Site::start().await;
    let limits = json!({"named": {"gpu": {"concurrency": 1}, "api.example.com": {"rate": {"max": 5, "per_ms": 1000}}}});
    site.put("/api/1/queues/renders/limits?create=true", limits).await.ok();
    for n in 0..2 {
        let job = json!({"jid": format!("r{n}"), "limits": ["gpu", "api.example.com"]});
        site.submit("renders", job).await;
    }
    let claimed = site.claim("renders", "w", 10).await;
    assert_eq!(claimed.len(), 1);
    let why = site.get("/api/1/jobs/r1/why").await.ok();
    let expected = json!({"reason": "named_limit", "name": "gpu", "limit": 1, "running": 1});
    assert!(why["reasons"].as_array().expect("reasons").contains(&expected), "{why}");
    let page = site.page("/jobs/r1").await;
    assert!(page.contains("1 job with the limit &#34;gpu&#34; run"), "{page}");
    let done = json!({"worker": "w", "attempt": 1, "result": null});
    site.post("/api/1/jobs/r0/complete", done).await.ok();
    assert_eq!(site.claim("renders", "w", 10).await[0]["jid"], "r1");
    for (limits, expected) in [
        (json!(["a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k"]), "11 of them; at most 10"),
        (json!([""]), "limits"),
        (json!("gpu"), "limits"),
    ] {
        let refused = site.post("/api/1/queues/renders/jobs", json!({"limits": limits})).await;
        assert_eq!(refused.status, 422, "{refused:?}");
        assert!(refused.body.contains(expected), "{refused:?}");
    }
}
