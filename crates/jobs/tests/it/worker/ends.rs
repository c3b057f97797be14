//! How the attempts of a worker end.

use std::{collections::HashMap, sync::Arc, time::Duration};

use keyrack_jobs::bee::{
    Failure, Hive, Limits, Status, Submission,
    keys::JobHash,
    worker::{Duplicates, Settings, Worker},
};
use keyrack_testkit::{on_every_store, wait_until_async};

use super::bench::{Calls, Running, count, queue, settings, submit, wait_for_status};

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_runs_what_waits_and_what_comes() {
    on_every_store(async |store| {
        let hive = Hive::open(store).await.expect("a hive");
        let calls = Calls::default();
        let mut jids = vec![submit(&hive, 0).await];
        let running = Running::start(Worker::new(&hive).on(queue(), settings(4), calls.handler()));
        wait_for_status(&hive, &jids[0], Status::Completed).await;
        for n in 1..20 {
            jids.push(submit(&hive, n).await);
        }
        for jid in &jids {
            let job = wait_for_status(&hive, jid, Status::Completed).await;
            assert_eq!((count(&job, "popped"), job.result()), (1, Some("null")));
        }
        assert_eq!(calls.all().len(), jids.len());
        running.stop().await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_job_and_then_its_queue_say_how_long_an_attempt_may_take() {
    let hive = super::bench::hive("embedded:memory").await;
    let limits = Limits { timeout_ms: Some(40), ..Limits::default() };
    hive.set_limits(&queue(), &limits).await.expect("set");
    let worker = Worker::new(&hive).on(queue(), settings(2), |_| async {
        std::future::pending::<Result<(), Failure>>().await
    });
    let running = Running::start(worker);
    for (timeout, reason) in [
        (None, "TimeoutError: Worker method timed out after 40 ms"),
        (Some(30), "TimeoutError: Worker method timed out after 30 ms"),
    ] {
        let mut job = Submission::to(queue()).retries(0);
        if let Some(ms) = timeout {
            job = job.timeout(Duration::from_millis(ms));
        }
        let jid = hive.submit(job).await.expect("submitted");
        let job = wait_for_status(&hive, &jid, Status::Failed).await;
        assert_eq!(job.failed_reason(), Some(reason));
    }
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_handler_snoozes_its_job_without_a_failure() {
    let hive = super::bench::hive("embedded:memory").await;
    let calls = Calls::default();
    let noted = calls.clone();
    let worker = Worker::new(&hive).on(queue(), settings(1), move |context| {
        noted.note(&context);
        let is_first = context.job().attempts() == 1;
        async move {
            match is_first {
                true => Err(Failure::snooze(Duration::from_millis(1))),
                false => Ok(7),
            }
        }
    });
    let running = Running::start(worker);
    let jid = hive.submit(Submission::to(queue()).retries(0)).await.expect("submitted");
    let job = wait_for_status(&hive, &jid, Status::Completed).await;
    assert_eq!((count(&job, "snoozed"), job.retries(), calls.all().len()), (1, 0, 2));
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_that_panics_or_overruns_its_time_fails_and_the_worker_goes_on() {
    let hive = super::bench::hive("embedded:memory").await;
    let worker = Worker::new(&hive).on(
        queue(),
        Settings { time_limit: Duration::from_millis(50), ..settings(2) },
        |context| async move {
            match context.job().args()[0].as_str() {
                Some("panic") => panic!("no more"),
                Some("sleep") => std::future::pending().await,
                Some("fatal") => Err(Failure::fatal("not a number")),
                Some("error") => {
                    let n: i32 = "x".parse()?;
                    Ok(n)
                }
                _ => Ok(7),
            }
        },
    );
    let running = Running::start(worker);
    let cases = [
        ("panic", Status::Failed, Some("the handler panicked: no more")),
        ("sleep", Status::Failed, Some("TimeoutError: Worker method timed out after 50 ms")),
        ("fatal", Status::Failed, Some("not a number")),
        ("error", Status::Failed, Some("invalid digit found in string")),
        ("fine", Status::Completed, None),
    ];
    for (what, status, reason) in cases {
        let jid =
            hive.submit(Submission::to(queue()).arg(what).retries(0)).await.expect("submitted");
        let job = wait_for_status(&hive, &jid, status).await;
        assert_eq!(job.failed_reason(), reason, "{what}");
    }
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_result_that_cannot_be_json_fails_the_job() {
    let hive = super::bench::hive("embedded:memory").await;
    let worker = Worker::new(&hive).on(queue(), settings(1), |_| async {
        // JSON has no keys but texts.
        Ok(HashMap::from([((1, 2), 3)]))
    });
    let running = Running::start(worker);
    let jid = submit(&hive, 1).await;
    let job = wait_for_status(&hive, &jid, Status::Failed).await;
    let reason = job.failed_reason().expect("a reason");
    assert!(reason.starts_with("the result cannot be written as JSON: "), "{reason}");
    assert_eq!(job.attempts(), 1, "another attempt would give the same");
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failed_job_is_tried_again_with_the_options_that_the_handler_set() {
    let hive = super::bench::hive("embedded:memory").await;
    let worker = Worker::new(&hive).on(queue(), settings(1), |context| async move {
        context.change_options(|options| (options.retry_delay, options.ttl) = (1.0, 60_000));
        if context.job().retries() < 2 { Err(Failure::new("not yet")) } else { Ok("done") }
    });
    let running = Running::start(worker);
    let jid = submit(&hive, 1).await;
    let job = wait_for_status(&hive, &jid, Status::Completed).await;
    assert_eq!((job.retries(), job.attempts(), job.options().ttl), (2, 3, 60_000));
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_that_is_the_same_as_an_earlier_one_is_left_out_if_so_set() {
    let hive = super::bench::hive("embedded:memory").await;
    let by_first_letter = Duplicates::By(Arc::new(|job| {
        let first =
            job.args()[0].as_str().and_then(|text| text.get(..1).map(|letter| letter.repeat(3)));
        JobHash::new(first.unwrap_or_default()).map_err(|error| error.to_string())
    }));
    let cases = [
        (Duplicates::Run, ["ab", "ab"], Status::Completed),
        (Duplicates::ByData, ["ab", "ab"], Status::Duplicate),
        (Duplicates::ByData, ["ac", "ad"], Status::Completed),
        (by_first_letter, ["xb", "xc"], Status::Duplicate),
    ];
    for (at, (duplicates, texts, status)) in cases.into_iter().enumerate() {
        let queue =
            format!("queue-{at}").parse::<keyrack_jobs::bee::keys::QueueName>().expect("a queue");
        let calls = Calls::default();
        let settings = Settings { duplicates, ..settings(1) };
        let running =
            Running::start(Worker::new(&hive).on(queue.clone(), settings, calls.handler()));
        let mut jids = Vec::new();
        for text in texts {
            jids.push(
                hive.submit(Submission::to(queue.clone()).arg(text)).await.expect("submitted"),
            );
        }
        wait_for_status(&hive, &jids[0], Status::Completed).await;
        let second = wait_for_status(&hive, &jids[1], status).await;
        let is_duplicate = status == Status::Duplicate;
        assert_eq!(second.duplicate_of(), is_duplicate.then_some(jids[0].as_str()), "case {at}");
        assert_eq!(calls.all().len(), if is_duplicate { 1 } else { 2 }, "case {at}");
        running.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn children_are_submitted_by_their_parent_and_progress_is_heard() {
    let hive = super::bench::hive("embedded:memory").await;
    let group = queue().group();
    let channel = keyrack_jobs::bee::keys::queue_events(&queue(), &group);
    let mut messages = hive.store().subscribe(&[channel]).await.expect("subscribed");
    let worker = Worker::new(&hive).on(queue(), settings(1), |context| async move {
        context.progress(40).await.map_err(|error| Failure::new(error.to_string()))?;
        let child = Submission::new("children").expect("a queue");
        let jid = context.submit(child).await.map_err(|error| Failure::new(error.to_string()))?;
        Ok(jid.to_string())
    });
    let running = Running::start(worker);
    let parent = submit(&hive, 1).await;
    let job = wait_for_status(&hive, &parent, Status::Completed).await;
    let child =
        job.result().and_then(|text| serde_json::from_str::<String>(text).ok()).expect("an id");
    let child = hive.job(&child.parse().expect("an id")).await.expect("the child");
    assert_eq!(child.parent(), Some(parent.as_str()));
    wait_until_async("the progress to be heard", async || match messages.next().await {
        Some(keyrack_store::Event::Message(message)) => {
            let event: serde_json::Value = serde_json::from_slice(&message.payload).expect("JSON");
            event["type"] == "progress"
                && event["progress"] == 40
                && event["jid"] == parent.as_str()
        }
        _ => false,
    })
    .await;
    running.stop().await;
}
