//! Reading jobs and queues, and what a job's history tells.

use keyrack_jobs::{
    Error,
    bee::{End, Failure, Status, keys},
};
use serde_json::{Value as Json, json};

use super::rig::{HIVE, LOCK_MS, Rig, completed, everywhere, failed, jid};

#[tokio::test]
async fn jobs_are_read_as_they_are_stored_by_whomever() {
    everywhere(async |rig| {
        a_job_is_found_by_its_id_or_not_at_all(&rig.on("q1")).await;
        what_lua_makes_of_empty_lists_is_read_as_empty(&rig.on("q2")).await;
        the_size_of_a_queue_is_what_waits_and_what_is_not_due(&rig.on("q3")).await;
    })
    .await;
}

async fn a_job_is_found_by_its_id_or_not_at_all(rig: &Rig) {
    let jid1 = rig.submit(rig.job().id(jid("found")).arg("x")).await;
    assert_eq!(rig.read(&jid1).await.data(), r#"["x"]"#);
    let none = rig.hive.job(&jid("nobody")).await;
    assert!(matches!(none, Err(Error::NoSuchJob { .. })), "{none:?}");
    let junk = jid("junk");
    rig.ask::<()>("HSET", &keys::job(&junk, &junk.group()), &["tags", "[]"]).await;
    let none = rig.hive.job(&junk).await;
    assert!(matches!(none, Err(Error::NoSuchJob { .. })), "without an id it is no job: {none:?}");
    let both = rig.hive.jobs(&[junk, jid1]).await.expect("read");
    assert_eq!(both.iter().map(Option::is_some).collect::<Vec<_>>(), [false, true]);
}

/// A job as a Node hive leaves it.
async fn what_lua_makes_of_empty_lists_is_read_as_empty(rig: &Rig) {
    let id = rig.put("node").await;
    let key = keys::job(&id, &id.group());
    let options = r#"{"dependencies":{},"delay":0,"priority":0,"retries":5,"retryDelay":30000,"ttl":1800000,"progressiveDelay":false,"dependenciesOnTags":false,"preferredHostname":false}"#;
    let fields = ["data", "{}", "tags", "{}", "dependants", "{}", "history", "{}"];
    rig.ask::<()>("HSET", &key, &[&fields[..], &["options", options]].concat()).await;
    let job = rig.read(&id).await;
    assert!(job.args().is_empty() && job.tags().is_empty() && job.dependants().is_empty());
    assert!(job.history().is_empty() && job.options().dependencies.is_empty());
    rig.submit(rig.job().id(jid("waits")).after(id.clone())).await;
    let job = rig.claim_one().await;
    rig.settle(&job, completed("1")).await;
    assert_eq!(rig.events_of(&id).await, ["popped", "completed"]);
    assert_eq!(rig.status(&jid("waits")).await, Status::Queued);
}

async fn the_size_of_a_queue_is_what_waits_and_what_is_not_due(rig: &Rig) {
    let base = rig.put("s1").await;
    rig.put("s2").await;
    rig.submit(rig.job().delay_ms(1_000.0)).await;
    rig.submit(rig.job().after(base)).await;
    rig.claim(1).await;
    let stats = rig.hive.stats(&rig.queue).await.expect("stats");
    assert_eq!((stats.queued, stats.delayed, stats.waiting, stats.running), (1, 1, 1, 1));
}

#[tokio::test]
async fn a_history_tells_everything_that_happened_in_order() {
    everywhere(async |rig| {
        let extra = async |id: &str| -> Vec<Json> {
            let history = rig.json(&jid(id), "history").await;
            let mut entries = history.as_array().expect("a list").clone();
            for entry in &mut entries {
                let entry = entry.as_object_mut().expect("an object");
                assert_eq!(entry.remove("hive"), Some(json!(HIVE)));
                assert!(entry.remove("timestamp").is_some_and(|at| at.is_number()));
            }
            entries
        };
        let base = rig.put("base").await;
        let job = rig.job().id(jid("long")).after(base).delay_ms(1_000.0).retries(2);
        rig.submit(job.retry_delay_ms(500.0, false)).await;
        let job = rig.claim_one().await;
        rig.settle(&job, completed("1")).await;
        let released = rig.now();
        rig.clock.advance_ms(1_000);
        let job = rig.claim_one().await;
        rig.settle(&job, failed("Error: boo")).await;
        let tried = rig.now();
        rig.clock.advance_ms(500);
        rig.claim_one().await;
        rig.clock.advance_ms(LOCK_MS);
        rig.sweep().await;
        let job = rig.claim_one().await;
        rig.settle(&job, End::Released).await;
        let job = rig.claim_one().await;
        rig.settle(&job, End::Failed(Failure::new("Error: again"))).await;
        rig.hive.cancel(&jid("long")).await.expect("cancelled");
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
                json!({"event": "expiredLock", "old_worker": rig.worker.as_str()}),
                json!({"event": "queued"}),
                json!({"event": "popped"}),
                json!({"event": "released"}),
                json!({"event": "popped"}),
                json!({"event": "exception", "message": "Error: again"}),
                json!({"event": "failed", "message": "No more retries available"}),
                json!({"event": "canceled"}),
            ]
        );
        rig.put("first").await;
        let first = rig.claim_one().await;
        rig.check_duplicate(&first, "same").await;
        rig.put("second").await;
        let second = rig.claim_one().await;
        rig.check_duplicate(&second, "same").await;
        let worker = rig.worker.as_str();
        let last = extra("second").await.pop();
        let duplicate = json!({"event": "duplicate", "worker": worker, "duplicateJid": "first"});
        assert_eq!(last, Some(duplicate));
    })
    .await;
}
