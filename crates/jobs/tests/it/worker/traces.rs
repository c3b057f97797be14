//! The trace of a job, as its handler sees it.

use std::sync::{Arc, Mutex};

use keyrack_jobs::bee::{
    Failure, Status, Submission,
    keys::{Jid, QueueName},
    worker::{Context, Worker},
};
use keyrack_trace::TraceContext;

use super::bench::{Running, hive, queue, settings, wait_for_status};

const PARENT: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

#[tokio::test]
async fn a_handler_is_in_the_trace_of_its_job_and_so_are_the_jobs_that_it_submits() {
    let hive = hive("embedded:memory").await;
    let children: Arc<Mutex<Vec<Jid>>> = Arc::default();
    let made = Arc::clone(&children);
    let handler = move |context: Context| {
        let made = Arc::clone(&made);
        async move {
            let seen = (context.trace(), keyrack_trace::current());
            let child = || Submission::to(QueueName::new("children").expect("a queue"));
            let plain = context.hive().submit(child()).await?;
            let of_parent = context.submit(child()).await?;
            // A task of its own knows the trace by the job only.
            let context = context.clone();
            let spawned = tokio::spawn(async move { context.submit(child()).await }).await??;
            made.lock().expect("no panic").extend([plain, of_parent, spawned]);
            let text = |trace: Option<TraceContext>| trace.map(|trace| trace.traceparent());
            Ok::<_, Failure>((text(seen.0), text(seen.1)))
        }
    };
    let worker = Running::start(Worker::new(&hive).on(queue(), settings(1), handler));
    let traced = TraceContext::parse(PARENT, None).expect("a context");
    for (trace, expected) in [(Some(traced), Some(PARENT)), (None, None)] {
        let mut job = Submission::to(queue());
        if let Some(trace) = trace {
            job = job.trace(trace);
        }
        let jid = hive.submit(job).await.expect("submitted");
        let ended = wait_for_status(&hive, &jid, Status::Completed).await;
        let expected_result = serde_json::json!([expected, expected]).to_string();
        assert_eq!(ended.result(), Some(expected_result.as_str()));
        let jids = std::mem::take(&mut *children.lock().expect("no panic"));
        assert_eq!(jids.len(), 3);
        for jid in jids {
            let trace = hive.job(&jid).await.expect("the child").trace();
            assert_eq!(trace.map(|trace| trace.traceparent()).as_deref(), expected);
        }
    }
    worker.stop().await;
}
