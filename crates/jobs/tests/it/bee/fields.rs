//! The fields of a job's hash, and its options.

use keyrack_jobs::bee::{
    Outcome,
    keys::{self, Hostname, Tenant},
};
use serde_json::json;

use super::fixture::{
    Fixture, HIVE, LOCK_MS, NOW, TIMEOUTS, completed, everywhere, failed, failed_for_good, jid, tag,
};

#[tokio::test]
async fn a_jobs_hash_says_what_the_job_is_and_what_became_of_it() {
    everywhere(async |fixture| {
        a_new_job_has_these_fields_and_no_others(&fixture.on("q1")).await;
        a_submission_says_what_is_not_the_default(&fixture.on("q2")).await;
        the_worker_stays_in_the_job_after_it_lost_it(&fixture.on("q3")).await;
        results_are_json_and_reasons_are_plain_text(&fixture.on("q4")).await;
        dependants_are_appended_and_never_trimmed(&fixture.on("q5")).await;
        retries_count_failures_and_lost_workers(&fixture.on("q6")).await;
        options_that_a_worker_changes_are_stored_with_the_end(&fixture.on("q7")).await;
    })
    .await;
}

async fn a_new_job_has_these_fields_and_no_others(fixture: &Fixture) {
    let jid = fixture.submit(fixture.job().id(jid("plain")).arg("to").arg(7)).await;
    let mut fields = fixture.fields(&jid).await;
    let options = fields.remove("options").expect("options");
    let history = fields.remove("history").expect("a history");
    let expected = [
        ("data", r#"["to",7]"#),
        ("jid", "plain"),
        ("queue", "q1"),
        ("retries", "0"),
        ("status", "queued"),
        ("submitted", &NOW.to_string()),
        ("tags", "[]"),
        ("worker", ""),
    ];
    let fields: Vec<(&str, &str)> =
        fields.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
    assert_eq!(fields, expected);
    let all_nine = json!({
        "priority": 0, "delay": 0, "dependencies": [], "dependenciesOnTags": false, "preferredHostname": false,
        "retries": 5, "retryDelay": 30000, "progressiveDelay": false, "ttl": 1800000,
    });
    assert_eq!(serde_json::from_str::<serde_json::Value>(&options).expect("JSON"), all_nine);
    let entry = |event: &str| json!({"event": event, "timestamp": NOW, "hive": HIVE});
    let history: serde_json::Value = serde_json::from_str(&history).expect("JSON");
    assert_eq!(history, json!([entry("submitted"), entry("queued")]));
}

async fn a_submission_says_what_is_not_the_default(fixture: &Fixture) {
    let first = fixture.put("first").await;
    let job = fixture
        .job()
        .id(jid("full"))
        .priority(2.5)
        .delay_ms(10.0)
        .after(first)
        .tag(tag("red"))
        .after_tags()
        .preferred_host(&Hostname::new("worker-7").expect("a host"))
        .parent(jid("nobody"))
        .tenant(Tenant::new("acme").expect("a tenant"))
        .retries(2)
        .retry_delay_ms(500.0, true)
        .ttl_ms(60_000);
    let jid = fixture.submit(job).await;
    let expected = json!({
        "priority": 2.5, "delay": 10, "dependencies": ["first"], "dependenciesOnTags": true, "preferredHostname": "worker-7",
        "retries": 2, "retryDelay": 500, "progressiveDelay": true, "ttl": 60000,
    });
    assert_eq!(fixture.json(&jid, "options").await, expected);
    let fields = fixture.fields(&jid).await;
    assert_eq!((fields["parent"].as_str(), fields["tenant"].as_str()), ("nobody", "acme"));
    assert_eq!((fields["tags"].as_str(), fields["status"].as_str()), (r#"["red"]"#, "new"));
}

async fn the_worker_stays_in_the_job_after_it_lost_it(fixture: &Fixture) {
    let jid = fixture.put("lost").await;
    fixture.claim_one().await;
    let worker = fixture.worker.to_string();
    let has = async |status: &str, attempts: &str| {
        let fields = fixture.fields(&jid).await;
        assert_eq!((&fields["worker"], fields["status"].as_str()), (&worker, status));
        assert_eq!(fields["attempts"], attempts);
    };
    has("running", "1").await;
    fixture.clock.advance_ms(LOCK_MS);
    fixture.sweep().await;
    has("queued", "1").await;
    assert_eq!(fixture.fields(&jid).await["deaths"], "1");
    let job = fixture.claim_one().await;
    fixture.settle(&job, completed("1")).await;
    has("completed", "2").await;
}

async fn results_are_json_and_reasons_are_plain_text(fixture: &Fixture) {
    for result in ["null", r#"{"a":[1,"x/y"]}"#, "123456789012345678", "[]"] {
        let jid = fixture.run(fixture.job(), completed(result)).await;
        assert_eq!(fixture.fields(&jid).await["result"], result);
    }
    let jid = fixture.run(fixture.job(), failed_for_good("Error: \"no\" such/host\n")).await;
    assert_eq!(fixture.fields(&jid).await["failedReason"], "Error: \"no\" such/host\n");
    assert!(!fixture.fields(&jid).await.contains_key("result"));
}

async fn dependants_are_appended_and_never_trimmed(fixture: &Fixture) {
    let first = fixture.put("base").await;
    for id in ["d1", "d2"] {
        fixture.submit(fixture.job().id(jid(id)).after(first.clone())).await;
    }
    assert_eq!(fixture.fields(&first).await["dependants"], r#"["d1","d2"]"#);
    let job = fixture.claim_one().await;
    fixture.settle(&job, completed("1")).await;
    assert_eq!(fixture.fields(&first).await["dependants"], r#"["d1","d2"]"#);
    fixture.submit(fixture.job().id(jid("d3")).after(first.clone())).await;
    let listed = &fixture.fields(&first).await["dependants"];
    assert_eq!(listed, r#"["d1","d2"]"#, "nobody waits for what has ended");
}

async fn retries_count_failures_and_lost_workers(fixture: &Fixture) {
    let jid = fixture.submit(fixture.job().id(jid("often")).retry_delay_ms(0.0, false)).await;
    let job = fixture.claim_one().await;
    fixture.settle(&job, failed("once")).await;
    assert_eq!(fixture.fields(&jid).await["retries"], "1");
    fixture.claim_one().await;
    fixture.clock.advance_ms(LOCK_MS);
    fixture.sweep().await;
    assert_eq!(fixture.fields(&jid).await["retries"], "2");
    let job = fixture.claim_one().await;
    fixture.check_duplicate(&job, "some hash").await;
    assert_eq!(fixture.fields(&jid).await["hash"], "some hash");
}

async fn options_that_a_worker_changes_are_stored_with_the_end(fixture: &Fixture) {
    for end in [completed("1"), failed_for_good("no"), failed("not yet")] {
        let jid = fixture.submit(fixture.job().retries(1)).await;
        let job = fixture.claim_one().await;
        let mut options = fixture.json(&jid, "options").await;
        options["ttl"] = 1_000.into();
        options["mine"] = "kept".into();
        let outcome = Outcome { options: Some(options.to_string()), ..Outcome::of(&job, end) };
        let settled = fixture
            .hive
            .settle(&fixture.queue, &fixture.worker, &[outcome], 0, TIMEOUTS.lock)
            .await;
        settled.expect("settled");
        assert_eq!(fixture.json(&jid, "options").await, options);
        fixture.hive.cancel_even_completed(&jid).await.expect("canceled");
        let key = keys::job(&jid, &jid.group());
        fixture.assert_expires_in(&key, 1_000).await;
    }
}
