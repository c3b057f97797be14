//! Progress bars and their steps.

use serde_json::{Value as Json, json};

use crate::site::{Answer, Site};

struct ApiClient {
    site: Site,
    token: String,
}

impl ApiClient {
    async fn new() -> ApiClient {
        let site = Site::start().await;
        let token = site.token("alice").await;
        ApiClient { site, token }
    }

    async fn send(&self, method: &str, path: &str, body: Json) -> Answer {
        self.site.send_as(&self.token, method, &format!("/api/1/progress_bars/{path}"), body).await
    }

    async fn search(&self, path: &str, body: Json) -> Vec<Json> {
        let found = self.send("POST", path, body).await.ok();
        found["items"].as_array().expect("items").clone()
    }
}

#[tokio::test]
async fn a_bar_is_created_found_changed_and_deleted() {
    let desk = ApiClient::new().await;
    let created = desk.send("POST", "", json!({"name": "import"})).await;
    assert_eq!(created.status, 201, "{created:?}");
    let bar = created.json();
    assert!(bar["uid"].as_str().expect("a uid").starts_with("ep_pb_"));
    assert_eq!((&bar["name"], &bar["version"]), (&json!("import"), &json!(0)));
    assert_eq!(
        (&bar["sampling_max_count"], &bar["sampling_max_age_seconds"]),
        (&json!(100), &json!(604_800))
    );
    assert_eq!(bar["sampling_technique"], "systematic");
    let step = &bar["default_step_config"];
    assert_eq!(
        (&step["name"], &step["position"], &step["iterated"]),
        (&json!("default"), &json!(0), &json!(false))
    );
    assert_eq!(
        (&step["one_off_technique"], &step["one_off_percentile"]),
        (&json!("percentile"), &json!(75.0))
    );
    assert_eq!(step["iterated_technique"], "best_fit.linear");
    assert!(step["uid"].as_str().expect("a uid").starts_with("ep_pbs_"));
    assert_eq!(desk.search("search", json!({})).await, [bar]);

    let body = json!({
        "sampling_max_count": 10, "sampling_max_age_seconds": null, "sampling_technique": "simple_random",
        "default_step_config": {"one_off_technique": "harmonic_mean", "one_off_percentile": 97.5},
    });
    let changed = desk.send("PUT", "?name=import", body).await.ok();
    let expected = json!({
        "sampling_max_count": 10, "sampling_max_age_seconds": null, "sampling_technique": "simple_random",
        "default_step_config": {
            "one_off_technique": "harmonic_mean", "one_off_percentile": 97.5,
            "iterated_technique": "best_fit.linear", "iterated_percentile": 75.0,
        },
    });
    assert_eq!(changed, expected);
    let reset = desk.send("PUT", "?name=import", json!({})).await.ok();
    assert_eq!(
        (&reset["sampling_max_count"], &reset["sampling_max_age_seconds"]),
        (&json!(100), &json!(604_800))
    );

    assert_eq!(desk.send("DELETE", "?name=import", json!({})).await.status, 204);
    desk.send("DELETE", "?name=import", json!({})).await.problem(404, "not_found");
    desk.send("PUT", "?name=import", json!({})).await.problem(404, "not_found");
    assert_eq!(desk.search("search", json!({})).await, [] as [Json; 0]);
}

#[tokio::test]
async fn null_as_the_greatest_age_is_no_age_at_all() {
    let desk = ApiClient::new().await;
    let created =
        desk.send("POST", "", json!({"name": "x", "sampling_max_age_seconds": null})).await;
    assert_eq!((created.status, &created.json()["sampling_max_age_seconds"]), (201, &Json::Null));
}

#[tokio::test]
async fn names_may_have_any_characters() {
    let desk = ApiClient::new().await;
    for name in ["a:b", "{x}", "🐝 bee", "50% off?", "a/b&c=d"] {
        let created = desk.send("POST", "", json!({"name": name})).await;
        assert_eq!(created.status, 201, "{created:?}");
        desk.send("POST", "", json!({"name": name}))
            .await
            .problem(409, "progress_bar_name_already_exists");
        let filters = json!({"name": {"operator": "eq", "value": name}});
        assert_eq!(desk.search("search", json!({"filters": filters})).await.len(), 1, "{name}");
        let coded: String = name.bytes().map(|byte| format!("%{byte:02X}")).collect();
        assert_eq!(desk.send("DELETE", &format!("?name={coded}"), json!({})).await.status, 204);
    }
}

#[tokio::test]
async fn steps_are_added_changed_and_deleted_and_each_makes_a_version() {
    let desk = ApiClient::new().await;
    desk.send("POST", "", json!({"name": "import"})).await;
    let created = desk.send("POST", "steps/?pbar_name=import&step_name=load", json!({})).await;
    assert_eq!((created.status, &created.json()["position"]), (201, &json!(1)), "{created:?}");
    let body =
        json!({"iterated": true, "iterated_technique": "percentile", "iterated_percentile": 97.5});
    let created = desk.send("POST", "steps/?pbar_name=import&step_name=copy", body).await.json();
    assert_eq!(
        (&created["position"], &created["iterated"], &created["iterated_percentile"]),
        (&json!(2), &json!(true), &json!(97.5))
    );
    let version = |bars: Vec<Json>| bars[0]["version"].clone();
    assert_eq!(version(desk.search("search", json!({})).await), 2);

    let path = "steps/?pbar_name=import&step_name=load";
    let changed = desk.send("PUT", path, json!({"one_off_technique": "geometric_mean"})).await.ok();
    assert_eq!(changed["one_off_technique"], "geometric_mean");
    assert_eq!(version(desk.search("search", json!({})).await), 2, "techniques make no version");

    let sort = json!([{"key": "position", "dir": "desc"}]);
    let filters = json!({"progress_bar_name": {"operator": "eq", "value": "import"}});
    let steps = desk.search("steps/search", json!({"sort": sort, "filters": filters})).await;
    let names: Vec<_> = steps.iter().map(|step| step["name"].as_str().expect("a name")).collect();
    assert_eq!(names, ["copy", "load", "default"]);
    assert_eq!(steps[1]["one_off_technique"], "geometric_mean");

    assert_eq!(desk.send("DELETE", path, json!({})).await.status, 204);
    let steps = desk.search("steps/search", json!({"sort": sort})).await;
    assert_eq!((&steps[0]["name"], &steps[0]["position"]), (&json!("copy"), &json!(1)));
    assert_eq!(version(desk.search("search", json!({})).await), 3);
}

#[tokio::test]
async fn steps_are_refused_by_their_documented_words() {
    let desk = ApiClient::new().await;
    desk.send("POST", "", json!({"name": "import"})).await;
    desk.send("POST", "steps/?pbar_name=import&step_name=load", json!({})).await;
    for (method, bar, step, status, word) in [
        ("POST", "none", "x", 404, "not_found"),
        ("POST", "import", "load", 409, "step_name_already_exists"),
        ("POST", "import", "default", 409, "step_name_already_exists"),
        ("PUT", "none", "x", 404, "pbar_not_found"),
        ("PUT", "import", "x", 404, "step_not_found"),
        ("PUT", "import", "default", 409, "cannot_edit_default_step"),
        ("DELETE", "none", "x", 404, "pbar_not_found"),
        ("DELETE", "import", "x", 404, "step_not_found"),
        ("DELETE", "import", "default", 409, "cannot_delete_default_step"),
    ] {
        let path = format!("steps/?pbar_name={bar}&step_name={step}");
        let answer = desk.send(method, &path, json!({})).await;
        answer.problem(status, word);
    }
}

#[tokio::test]
async fn what_makes_no_sense_is_refused_by_its_field() {
    let desk = ApiClient::new().await;
    desk.send("POST", "", json!({"name": "import"})).await;
    for (body, field) in [
        (json!({}), "name"),
        (json!({"name": "x".repeat(256)}), "pbar_name"),
        (json!({"name": "x", "sampling_max_count": 9}), "sampling_max_count"),
        (json!({"name": "x", "sampling_max_count": -1}), "sampling_max_count"),
        (json!({"name": "x", "sampling_max_age_seconds": 59}), "sampling_max_age_seconds"),
        (json!({"name": "x", "sampling_technique": "best"}), "sampling_technique"),
        (
            json!({"name": "x", "default_step_config": {"one_off_percentile": 101}}),
            "one_off_percentile",
        ),
        (
            json!({"name": "x", "default_step_config": {"one_off_technique": "best_fit.linear"}}),
            "one_off_technique",
        ),
        (
            json!({"name": "x", "default_step_config": {"one_off_technique": 7}}),
            "default_step_config.one_off_technique",
        ),
    ] {
        let answer = desk.send("POST", "", body.clone()).await;
        let problem = answer.problem(422, "invalid");
        let named = answer.field().unwrap_or_default();
        assert!(named == field || problem.contains(field), "{body}: {answer:?}");
    }
    desk.send("POST", "", json!({"name": ""})).await.problem(422, "bad_name");
    for path in ["steps/?pbar_name=import", "?nam=x", "traces/?pbar_name=import"] {
        let answer = desk.send("DELETE", path, json!({})).await;
        assert_eq!(answer.status, 422, "{path}: {answer:?}");
    }
    assert_eq!(desk.search("search", json!({})).await.len(), 1);
}

#[tokio::test]
async fn trailing_slashes_count() {
    let desk = ApiClient::new().await;
    for path in ["steps?pbar_name=a&step_name=b", "traces", "search/", "steps/search/"] {
        desk.send("POST", path, json!({})).await.problem(404, "not_found");
    }
    let bare = desk.site.post_as(&desk.token, "/api/1/progress_bars", json!({"name": "x"})).await;
    bare.problem(404, "not_found");
}
