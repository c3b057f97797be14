//! Reporting traces, and what is retained of them.

use serde_json::{Value as Json, json};

use crate::site::{Answer, Site};

/// Merges what a test cares about into a request that is otherwise good.
fn with(mut base: Json, changes: Json) -> Json {
    for (field, value) in changes.as_object().expect("an object") {
        base[field] = value.clone();
    }
    base
}

struct Reporter {
    site: Site,
    token: String,
}

impl Reporter {
    async fn new() -> Reporter {
        let site = Site::start().await;
        let token = site.token("alice").await;
        Reporter { site, token }
    }

    fn now(&self) -> f64 {
        self.site.store.now_ms() as f64 / 1000.0
    }

    async fn begin(&self, changes: Json) -> Answer {
        let base =
            json!({"pbar_name": "import", "uid": "t", "step_name": "load", "now": self.now()});
        self.site.post_as(&self.token, "/api/1/progress_bars/traces/", with(base, changes)).await
    }

    async fn update(&self, changes: Json) -> Answer {
        let base = json!({"pbar_name": "import", "trace_uid": "t", "step_name": "load", "done": false, "now": self.now()});
        let path = "/api/1/progress_bars/traces/steps/";
        self.site.post_as(&self.token, path, with(base, changes)).await
    }

    async fn fail(&self, changes: Json) -> Answer {
        let base =
            json!({"pbar_name": "import", "trace_uid": "t", "now": self.now(), "exit_code": 3});
        let path = "/api/1/progress_bars/traces/failures/";
        self.site.post_as(&self.token, path, with(base, changes)).await
    }

    async fn search(&self, path: &str, body: Json) -> Vec<Json> {
        let path = format!("/api/1/progress_bars/{path}");
        let found = self.site.post_as(&self.token, &path, body).await.ok();
        found["items"].as_array().expect("items").clone()
    }
}

#[track_caller]
fn accepted(answer: &Answer) {
    assert_eq!((answer.status, answer.body.as_str()), (204, ""), "{answer:?}");
}

#[tokio::test]
async fn the_first_completed_trace_makes_the_bar_and_is_retained() {
    let reporter = Reporter::new().await;
    let begun = reporter.now();
    accepted(&reporter.begin(json!({"now": begun})).await);
    let copy = json!({"step_name": "copy", "iterations": 4, "iteration": 0, "now": begun + 2.0});
    accepted(&reporter.update(copy).await);
    let done = json!({"step_name": "copy", "iterations": 4, "iteration": 4, "done": true, "now": begun + 6.0});
    accepted(&reporter.update(done).await);
    assert_eq!(reporter.search("search", json!({})).await, [] as [Json; 0]);
    reporter.site.work().await;

    let bars = reporter.search("search", json!({})).await;
    assert_eq!(
        (bars.len(), &bars[0]["name"], &bars[0]["version"]),
        (1, &json!("import"), &json!(0))
    );
    let steps =
        reporter.search("steps/search", json!({"sort": [{"key": "position", "dir": "asc"}]})).await;
    let told: Vec<_> = steps.iter().map(|step| (&step["name"], &step["iterated"])).collect();
    assert_eq!(
        told,
        [
            (&json!("default"), &json!(false)),
            (&json!("load"), &json!(false)),
            (&json!("copy"), &json!(true))
        ]
    );
    let traces = reporter.search("traces/search", json!({})).await;
    assert_eq!((traces.len(), &traces[0]["progress_bar_name"]), (1, &json!("import")));
    let uid = traces[0]["uid"].as_str().expect("a uid");
    assert!(uid.starts_with("ep_pbt_"), "{uid}");

    let by_duration = json!({
        "sort": [{"key": "normalized_duration", "dir": "desc"}],
        "filters": {"duration": {"operator": "gt", "value": 1}, "progress_bar_trace_uid": {"operator": "eq", "value": uid}},
    });
    let steps = reporter.search("traces/steps/search", by_duration).await;
    let told: Vec<_> = steps
        .iter()
        .map(|step| (step["progress_bar_step_name"].as_str().expect("a name"), &step["iterations"]))
        .collect();
    assert_eq!(told, [("load", &Json::Null), ("copy", &json!(4))]);
    let seconds = |step: &Json, field: &str| step[field].as_f64().expect("a number").round();
    assert_eq!((seconds(&steps[0], "duration"), seconds(&steps[1], "duration")), (2.0, 4.0));
    assert_eq!(seconds(&steps[1], "normalized_duration"), 1.0);
    assert_eq!(steps[1]["progress_bar_step_position"], 2);

    let path = format!("/api/1/progress_bars/traces/?pbar_name=import&trace_uid={uid}");
    assert_eq!(
        reporter.site.send_as(&reporter.token, "DELETE", &path, json!({})).await.status,
        204
    );
    let again = reporter.site.send_as(&reporter.token, "DELETE", &path, json!({})).await;
    again.problem(404, "trace_not_found");
    let path = path.replace("import", "none");
    reporter
        .site
        .send_as(&reporter.token, "DELETE", &path, json!({}))
        .await
        .problem(404, "pbar_not_found");
    assert_eq!(reporter.search("traces/steps/search", json!({})).await, [] as [Json; 0]);
}

#[tokio::test]
async fn traces_are_counted_for_their_month() {
    let reporter = Reporter::new().await;
    for uid in ["a", "b", "c"] {
        accepted(&reporter.begin(json!({"uid": uid})).await);
    }
    let usage = reporter
        .site
        .send_as(&reporter.token, "GET", "/api/1/user_usages/get_current", json!({}))
        .await;
    let usage = usage.ok();
    assert_eq!(usage["traces"], 3);
    let start = usage["period_start_at"].as_f64().expect("a time");
    assert!(start <= reporter.now() && start % 86_400.0 == 0.0, "{usage}");
}

#[tokio::test]
async fn every_rule_refuses_by_its_documented_word() {
    let reporter = Reporter::new().await;
    reporter.update(json!({})).await.problem(404, "trace_not_found");
    accepted(&reporter.begin(json!({"iterations": 4})).await);
    let four = json!({"iterations": 4, "iteration": 2});
    accepted(&reporter.update(four.clone()).await);
    for (changes, status, word) in [
        (json!({"step_name": "copy", "done": true}), 409, "missing_start_time"),
        (json!({"step_name": "copy", "iterations": 9, "iteration": 1}), 409, "missing_start_time"),
        (json!({"iterations": 5, "iteration": 2}), 409, "step_changed"),
        (json!({}), 409, "step_changed"),
        (json!({"iterations": 4, "iteration": 1}), 409, "backwards_progress"),
        (json!({"step_name": "default"}), 409, "step_name_reserved"),
    ] {
        reporter.update(changes).await.problem(status, word);
    }
    accepted(&reporter.update(four).await);
    accepted(&reporter.update(json!({"step_name": "copy"})).await);
    reporter
        .update(json!({"step_name": "load", "iterations": 4, "iteration": 0}))
        .await
        .problem(409, "step_repeated");
    accepted(&reporter.update(json!({"step_name": "copy", "done": true})).await);
    reporter
        .update(json!({"step_name": "copy", "done": true}))
        .await
        .problem(409, "trace_completed");
    accepted(&reporter.begin(json!({})).await);
}

#[tokio::test]
async fn requests_that_make_no_sense_are_refused_by_their_field() {
    let reporter = Reporter::new().await;
    accepted(&reporter.begin(json!({})).await);
    for (changes, field) in [
        (json!({"pbar_name": "x".repeat(256)}), "pbar_name"),
        (json!({"uid": "a b"}), "uid"),
        (json!({"uid": "x".repeat(156)}), "uid"),
        (json!({"uid": ""}), "uid"),
        (json!({"iterations": 0}), "iterations"),
        (json!({"iterations": -1}), "iterations"),
        (json!({"iterations": 1.5}), "iterations"),
        (json!({"now": null}), "now"),
        (json!({"now": "noon"}), "now"),
        (json!({"step_name": ""}), "step_name"),
    ] {
        let answer = reporter.begin(changes.clone()).await;
        assert_eq!(answer.status, 422, "{changes}: {answer:?}");
        assert!(answer.body.contains(field), "{changes}: {answer:?}");
    }
    for changes in [
        json!({"iterations": 4}),
        json!({"iterations": 4, "iteration": 5}),
        json!({"iterations": 4, "iteration": 3, "done": true}),
        json!({"iteration": 3}),
        json!({"iteration": -1, "iterations": 4}),
        json!({"done": "yes"}),
        json!({"done": null}),
    ] {
        let answer = reporter.update(changes.clone()).await;
        assert_eq!(answer.status, 422, "{changes}: {answer:?}");
        assert!(answer.field().is_some(), "{changes}: {answer:?}");
    }
    accepted(&reporter.update(json!({"done": true})).await);
}

#[tokio::test]
async fn a_run_that_failed_is_told_to_watchers_and_teaches_nothing() {
    let reporter = Reporter::new().await;
    let unknown = reporter.fail(json!({})).await;
    assert_eq!((unknown.status, &unknown.json()["type"]), (404, &json!("trace_not_found")));
    accepted(&reporter.begin(json!({"reports_every": 5})).await);
    accepted(&reporter.fail(json!({})).await);
    accepted(&reporter.fail(json!({})).await);
    let path = "/api/1/progress_bars/traces/events?sub=alice&pbar_name=import&uid=t";
    let events = reporter.site.get(path).await.body;
    assert!(events.contains("failed with exit code 3"), "{events}");
    reporter.site.work().await;
    assert_eq!(reporter.search("search", json!({})).await, [] as [Json; 0]);

    accepted(&reporter.begin(json!({})).await);
    accepted(&reporter.update(json!({"done": true})).await);
    assert_eq!(reporter.fail(json!({})).await.status, 409, "what is completed has not failed");
}
