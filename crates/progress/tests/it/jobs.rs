//! The jobs of the hot queue.

use keyrack_jobs::hot::{
    HotWorker, Producer,
    keys::{JobUid, WorkerId},
};
use keyrack_progress::{CALC_PBAR_ETA, Error, HANDLE_COMPLETED_TRACE};
use serde_json::{Map, Value, json};

use crate::rig::{BAR, NOW, ProgressTest, TRACE, everywhere};

const LEGS: &[(&str, u64, f64)] = &[("open", 0, 2.0), ("read", 4, 6.0)];

#[tokio::test]
async fn jobs_of_the_hot_queue_are_done() {
    everywhere(async |rig| {
        a_completed_trace_is_counted_by_its_job(&rig.of("counted")).await;
        arguments_have_to_fit(&rig.of("arguments")).await;
        whoever_asks_for_times_hears_them(&rig.of("times")).await;
    })
    .await;
}

fn kwargs(value: Value) -> Map<String, Value> {
    let Value::Object(map) = value else { panic!("no object: {value}") };
    map
}

async fn a_completed_trace_is_counted_by_its_job(rig: &ProgressTest) {
    rig.report(TRACE, NOW, LEGS).await;
    let entry = rig.queued().await.pop().expect("the job is queued");
    let mut entry: Value = serde_json::from_str(&entry).expect("JSON");
    let mut arguments = kwargs(entry["kwargs"].take());
    // The original adds this when it queues the job again.
    arguments.insert("expected_pbar_version".into(), Value::Null);
    let name = entry["name"].as_str().expect("a name");
    assert_eq!(name, HANDLE_COMPLETED_TRACE);
    assert_eq!(rig.progress.handle(name, &arguments).await.expect("handled"), None);
    assert_eq!(rig.samples().await.traces.len(), 1);
}

async fn arguments_have_to_fit(rig: &ProgressTest) {
    for (name, arguments) in [
        (HANDLE_COMPLETED_TRACE, json!({ "user_sub": "a", "pbar_name": "b" })),
        (HANDLE_COMPLETED_TRACE, json!({ "user_sub": 1, "pbar_name": "b", "trace_uid": "c" })),
        (CALC_PBAR_ETA, json!({ "user_sub": "a", "pbar_name": "b", "job_uid": "c", "more": 1 })),
        ("runners.example", json!({})),
    ] {
        let refused = rig.progress.handle(name, &kwargs(arguments)).await;
        assert!(matches!(refused, Err(Error::BadJob { .. })), "{refused:?}");
    }
    let empty = json!({ "user_sub": "", "pbar_name": "b", "trace_uid": "c" });
    let refused = rig.progress.handle(HANDLE_COMPLETED_TRACE, &kwargs(empty)).await;
    assert!(matches!(refused, Err(Error::Part(_))), "{refused:?}");
}

async fn whoever_asks_for_times_hears_them(rig: &ProgressTest) {
    rig.run(TRACE, NOW, LEGS).await;
    rig.ask::<()>("DEL", &crate::rig::hot_queue(), &[]).await;
    let progress = rig.progress.clone();
    let id = WorkerId::new("worker").expect("an id");
    let worker = HotWorker::new(rig.store().clone(), id).on(CALC_PBAR_ETA, move |job| {
        let progress = progress.clone();
        async move { Ok(progress.handle(&job.name, &job.kwargs).await?) }
    });
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let worker = tokio::spawn(worker.run(async { drop(stopped.await) }));
    let producer = Producer::new(rig.store().clone());
    let uid = JobUid::new("ep_j_1").expect("an id");
    let arguments = json!({ "user_sub": rig.user.as_str(), "pbar_name": BAR });
    let limit = std::time::Duration::from_secs(30);
    let answer = producer.call_and_wait(CALC_PBAR_ETA, &arguments, &uid, limit).await;
    let expected = json!({
        "technique": "percentile", "percentile": 75.0, "eta": 8.0, "version": 0,
        "steps": [
            { "step_name": "open", "iterated": false, "technique": "percentile",
              "percentile": 75.0, "eta_a": 2.0, "eta_b": null },
            { "step_name": "read", "iterated": true, "technique": "best_fit.linear",
              "percentile": null, "eta_a": 0.0, "eta_b": 0.0 },
        ],
    });
    assert_eq!(answer.expect("an answer"), expected, "a line needs two runs");
    stop.send(()).expect("the worker runs");
    worker.await.expect("the worker stops");
}
