//! Reading jobs and queues, and what a job's history tells.

use keyrack_jobs::{
    Error,
    bee::{End, Failure, Status, keys},
};
use serde_json::{Value as Json, json};

use super::fixture::{Fixture, HIVE, LOCK_MS, completed, everywhere, failed, jid};

#[tokio::test]
async fn jobs_are_read_as_they_are_stored_by_whomever() {
    everywhere(async |fixture| {
        a_job_is_found_by_its_id_or_not_at_all(&fixture.on("q1")).await;
        what_lua_makes_of_empty_lists_is_read_as_empty(&fixture.on("q2")).await;
        the_size_of_a_queue_is_what_waits_and_what_is_not_due(&fixture.on("q3")).await;
    })
    .await;
}

async fn a_job_is_found_by_its_id_or_not_at_all(fixture: &Fixture) {
    let jid1 = fixture.submit(fixture.job().id(jid("found")).arg("x")).await;
    assert_eq!(fixture.read(&jid1).await.data(), r#"["x"]"#);
    let none = fixture.hive.job(&jid("nobody")).await;
    assert!(matches!(none, Err(Error::NoSuchJob { .. })), "{none:?}");
    let junk = jid("junk");
    fixture.ask::<()>("HSET", &keys::job(&junk, &junk.group()), &["tags", "[]"]).await;
    let none = fixture.hive.job(&junk).await;
    assert!(matches!(none, Err(Error::NoSuchJob { .. })), "without an id it is no job: {none:?}");
    let both = fixture.hive.jobs(&[junk, jid1]).await.expect("read");
    assert_eq!(both.iter().map(Option::is_some).collect::<Vec<_>>(), [false, true]);
}

/// A job as a Node hive leaves it.
async fn what_lua_makes_of_empty_lists_is_read_as_empty(fixture: &Fixture) {
    let id = fixture.put("node").await;
    let key = keys::job(&id, &id.group());
    let options = r#"{"dependencies":{},"delay":0,"priority":0,"retries":5,"retryDelay":30000,"ttl":1800000,"progressiveDelay":false,"dependenciesOnTags":false,"preferredHostname":false}"#;
    let fields = ["data", "{}", "tags", "{}", "dependants", "{}", "history", "{}"];
    fixture.ask::<()>("HSET", &key, &[&fields[..], &["options", options]].concat()).await;
    let job = fixture.read(&id).await;
    assert!(job.args().is_empty() && job.tags().is_empty() && job.dependants().is_empty());
    assert!(job.history().is_empty() && job.options().dependencies.is_empty());
    fixture.submit(fixture.job().id(jid("waits")).after(id.clone())).await;
    let job = fixture.claim_one().await;
    fixture.settle(&job, completed("1")).await;
    assert_eq!(fixture.events_of(&id).await, ["popped", "completed"]);
    assert_eq!(fixture.status(&jid("waits")).await, Status::Queued);
}

async fn the_size_of_a_queue_is_what_waits_and_what_is_not_due(fixture: &Fixture) {
    let base = fixture.put("s1").await;
    fixture.put("s2").await;
    fixture.submit(fixture.job().delay_ms(1_000.0)).await;
    fixture.submit(fixture.job().after(base)).await;
    fixture.claim(1).await;
    let stats = fixture.hive.stats(&fixture.queue).await.expect("stats");
    assert_eq!((stats.queued, stats.delayed, stats.waiting, stats.running), (1, 1, 1, 1));
}

#[tokio::test]
async fn a_history_tells_everything_that_happened_in_order() {
    everywhere(async |fixture| {
        let extra = async |id: &str| -> Vec<Json> {
            let history = fixture.json(&jid(id), "history").await;
            let mut entries = history.as_array().expect("a list").clone();
            for entry in &mut entries {
                let entry = entry.as_object_mut().expect("an object");
                assert_eq!(entry.remove("hive"), Some(json!(HIVE)));
                assert!(entry.remove("timestamp").is_some_and(|at| at.is_number()));
            }
            entries
        };
        let base = fixture.put("base").await;
        let job = fixture.job().id(jid("long")).after(base).delay_ms(1_000.0).retries(2);
        fixture.submit(job.retry_delay_ms(500.0, false)).await;
        let job = fixture.claim_one().await;
        fixture.settle(&job, completed("1")).await;
        let released = fixture.now();
        fixture.clock.advance_ms(1_000);
        let job = fixture.claim_one().await;
        fixture.settle(&job, failed("Error: boo")).await;
        let tried = fixture.now();
        fixture.clock.advance_ms(500);
        fixture.claim_one().await;
        fixture.clock.advance_ms(LOCK_MS);
        fixture.sweep().await;
        let job = fixture.claim_one().await;
        fixture.settle(&job, End::Released).await;
        let job = fixture.claim_one().await;
        fixture.settle(&job, End::Failed(Failure::new("Error: again"))).await;
        fixture.hive.cancel(&jid("long")).await.expect("canceled");
        assert_eq!(
            extra("base").await,
            [
                json!({"event": "submitted"}),
                json!({"event": "queued"}),
                json!({"event": "popped"}),
                json!({"event": "completed"}),
            ]
        );
        assert_eq!(
            extra("long").await,
            [
                json!({"event": "submitted"}),
                json!({"event": "dependancyWaiting"}),
                json!({"event": "delayed", "till": released + 1_000}),
                json!({"event": "queued"}),
                json!({"event": "popped"}),
                json!({"event": "exception", "message": "Error: boo"}),
                json!({"event": "delayed", "till": tried + 500}),
                json!({"event": "queued"}),
                json!({"event": "popped"}),
                json!({"event": "expiredLock", "old_worker": fixture.worker.as_str()}),
                json!({"event": "queued"}),
                json!({"event": "popped"}),
                json!({"event": "released"}),
                json!({"event": "popped"}),
                json!({"event": "exception", "message": "Error: again"}),
                json!({"event": "failed", "message": "No more retries available"}),
                json!({"event": "canceled"}),
            ]
        );
        fixture.put("first").await;
        let first = fixture.claim_one().await;
        fixture.check_duplicate(&first, "same").await;
        fixture.put("second").await;
        let second = fixture.claim_one().await;
        fixture.check_duplicate(&second, "same").await;
        let worker = fixture.worker.as_str();
        let last = extra("second").await.pop();
        let duplicate = json!({"event": "duplicate", "worker": worker, "duplicateJid": "first"});
        assert_eq!(last, Some(duplicate));
    })
    .await;
}
