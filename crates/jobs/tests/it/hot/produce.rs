//! Putting jobs into the queue, and waiting for their outcome.

use std::time::Duration;

use keyrack_jobs::hot::{Error, Job, Producer, keys, keys::JobUid};
use keyrack_testkit::{on_every_store, simulated_store};
use serde_json::json;

use super::workshop::{Running, command, list, worker};

#[tokio::test]
async fn jobs_are_pushed_to_the_right_as_documented() {
    let (store, _clock) = simulated_store(1_667_950_000_250, 1).await;
    let producer = Producer::new(store.clone());
    assert_eq!(producer.push("a", &json!({"x": 1})).await.expect("queued"), 1);
    let (none, text) = (json!({}), json!({"y": "é"}));
    let two = [("b", &none), ("c", &text)];
    assert_eq!(producer.push_many(two).await.expect("queued"), 3);
    assert_eq!(
        list(&store, &keys::hot()).await,
        [
            r#"{"name":"a","kwargs":{"x":1},"queued_at":1667950000.25}"#,
            r#"{"name":"b","kwargs":{},"queued_at":1667950000.25}"#,
            r#"{"name":"c","kwargs":{"y":"é"},"queued_at":1667950000.25}"#,
        ]
    );
}

#[tokio::test]
async fn nothing_is_queued_when_one_of_several_jobs_is_bad_on_every_store() {
    on_every_store(async |store| {
        let producer = Producer::new(store);
        let (good, bad) = (json!({}), json!("no object"));
        let error = producer.push_many([("a", &good), ("b", &bad)]).await.expect_err("one is bad");
        assert!(matches!(error, Error::KwargsNoObject { name } if name == "b"));
        assert_eq!(producer.depth().await.expect("a depth"), 0);
        let none: [(&str, &serde_json::Value); 0] = [];
        assert_eq!(producer.push_many(none).await.expect("nothing to do"), 0);
    })
    .await;
}

#[tokio::test]
async fn age_is_that_of_the_job_at_the_head() {
    let (store, clock) = simulated_store(1_667_950_000_000, 1).await;
    let producer = Producer::new(store.clone());
    assert_eq!(producer.oldest_age().await.expect("an answer"), None);
    producer.push("a", &json!({})).await.expect("queued");
    clock.advance_ms(1500);
    producer.push("b", &json!({})).await.expect("queued");
    assert_eq!(producer.oldest_age().await.expect("an age"), Some(Duration::from_millis(1500)));
    assert_eq!(producer.depth().await.expect("a depth"), 2);

    let _: i64 = command(&store, "LPUSH", &keys::hot(), "no job").await;
    assert_eq!(producer.oldest_age().await.expect("an answer"), None);
    let future = r#"{"name":"a","kwargs":{},"queued_at":1667959999.0}"#;
    let _: i64 = command(&store, "LPUSH", &keys::hot(), future).await;
    assert_eq!(producer.oldest_age().await.expect("an age"), Some(Duration::ZERO));
}

#[tokio::test]
async fn a_caller_gets_what_the_handler_returns_however_quick_it_is_on_every_store() {
    on_every_store(async |store| {
        let worker = worker(&store, "w").on("double", async |job: Job| {
            let n = job.kwargs["n"].as_i64().ok_or("no number")?;
            Ok(Some(json!({ "doubled": n * 2 })))
        });
        let running = Running::start(worker);
        let producer = Producer::new(store.clone());
        for n in 0..50 {
            let job_uid = JobUid::new(format!("ep_j_{n}")).expect("a good id");
            let answer = producer
                .call_and_wait("double", &json!({"n": n}), &job_uid, Duration::from_secs(30))
                .await
                .expect("an answer");
            assert_eq!(answer, json!({ "doubled": n * 2 }));
        }
        running.stop().await;
    })
    .await;
}

#[tokio::test]
async fn a_caller_gives_up_when_no_outcome_is_told_on_every_store() {
    on_every_store(async |store| {
        let worker = worker(&store, "w")
            .on("quiet", async |_: Job| Ok(None))
            .on("broken", async |_: Job| Err("broken".into()));
        let running = Running::start(worker);
        let producer = Producer::new(store.clone());
        for name in ["quiet", "broken"] {
            let job_uid = JobUid::new(format!("ep_j_{name}")).expect("a good id");
            let limit = Duration::from_millis(50);
            let error = producer.call_and_wait(name, &json!({}), &job_uid, limit).await;
            let error = error.expect_err("no outcome").to_string();
            assert_eq!(error, format!("the job \"{name}\" told no outcome within 0.05 s"));
        }
        running.stop().await;
    })
    .await;
}

#[tokio::test]
async fn an_outcome_of_any_program_is_taken() {
    let (store, _clock) = simulated_store(0, 1).await;
    let producer = Producer::new(store.clone());
    let job_uid = JobUid::new("ep_j_1").expect("a good id");
    let call = tokio::spawn({
        let (producer, job_uid) = (producer.clone(), job_uid.clone());
        async move {
            let limit = Duration::from_secs(30);
            producer.call_and_wait("x", &json!({"a": 1}), &job_uid, limit).await
        }
    });
    keyrack_testkit::wait_until_async("the job", async || {
        producer.depth().await.expect("a depth") == 1
    })
    .await;
    let entry = list(&store, &keys::hot()).await.remove(0);
    assert!(entry.contains(r#""kwargs":{"a":1,"job_uid":"ep_j_1"}"#), "{entry}");
    // The caller listens since before the job was queued.
    let heard = store.publish(&keys::job_events(&job_uid), r#"{"eta": 1.5}"#).await;
    assert_eq!(heard.expect("published"), 1);
    assert_eq!(call.await.expect("the task").expect("an answer"), json!({"eta": 1.5}));
}
