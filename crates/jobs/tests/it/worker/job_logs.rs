//! What handlers log, and how far they are, on its way through a worker.

use std::time::Duration;

use keyrack_jobs::bee::{
    Failure, Hive, Status, Submission,
    logs::{LOG_LINES_MAX, LogLevel, LogPage},
    worker::Worker,
};
use keyrack_testkit::{on_every_store, wait_until_async};
use serde_json::json;

use super::bench::{Running, hive, queue, settings, submit, wait_for_status};

async fn log(hive: &Hive, jid: &keyrack_jobs::bee::keys::Jid) -> LogPage {
    hive.log(jid, 0, LOG_LINES_MAX).await.expect("a log")
}

#[tokio::test(flavor = "multi_thread")]
async fn who_hears_of_an_end_finds_all_lines_and_the_last_progress() {
    on_every_store(async |store| {
        let hive = Hive::open(store).await.expect("a hive");
        let worker = Worker::new(&hive).on(queue(), settings(8), |context| async move {
            for n in 0..50 {
                context.log(LogLevel::Warn, format!("line {n}"));
            }
            for n in 1..=20 {
                context.progress_with(n * 5, format!("step {n}")).await?;
            }
            Ok::<_, Failure>(())
        });
        let running = Running::start(worker);
        let mut jids = Vec::new();
        for n in 0..40 {
            jids.push(submit(&hive, n).await);
        }
        for jid in &jids {
            let job = wait_for_status(&hive, jid, Status::Completed).await;
            let page = log(&hive, jid).await;
            assert_eq!((page.lines.len(), page.dropped), (50, 0), "{jid}");
            for (n, line) in page.lines.iter().enumerate() {
                assert_eq!((line.n, line.attempt, line.level), (n as u64, 1, LogLevel::Warn));
                assert_eq!(line.text, format!("line {n}"));
            }
            let progress = job.progress().expect("stored");
            assert_eq!(
                (progress.value, progress.message.as_deref()),
                (json!(100), Some("step 20"))
            );
        }
        running.stop().await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn lines_of_a_job_that_runs_can_be_read_and_each_says_its_attempt() {
    let hive = hive("embedded:memory").await;
    let worker = Worker::new(&hive).on(queue(), settings(2), |context| async move {
        context.log(LogLevel::Info, format!("attempt {}", context.job().attempts()));
        match context.job().attempts() {
            1 => Err(Failure::new("once").retry_in(Duration::from_millis(1))),
            _ => {
                context.stopped().await;
                Ok(())
            }
        }
    });
    let running = Running::start(worker);
    let jid = submit(&hive, 1).await;
    wait_until_async("both attempts to be in the log", async || {
        log(&hive, &jid).await.lines.len() == 2
    })
    .await;
    let told: Vec<_> =
        log(&hive, &jid).await.lines.into_iter().map(|line| (line.attempt, line.text)).collect();
    assert_eq!(told, [(1, "attempt 1".to_owned()), (2, "attempt 2".to_owned())]);
    assert_eq!(hive.job(&jid).await.expect("the job").status(), Status::Running);
    hive.cancel(&jid).await.expect("canceled");
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_handler_that_logs_without_end_does_not_wait_and_what_is_lost_is_counted() {
    const LINES: u64 = 50_000;
    let hive = hive("embedded:memory").await;
    let worker = Worker::new(&hive).on(queue(), settings(1), |context| async move {
        for n in 0..LINES {
            context.log(LogLevel::Info, n.to_string());
        }
        Ok::<_, Failure>(())
    });
    let running = Running::start(worker);
    let jid = hive.submit(Submission::to(queue())).await.expect("submitted");
    wait_for_status(&hive, &jid, Status::Completed).await;
    wait_until_async("all lines to be stored or counted", async || {
        let page = log(&hive, &jid).await;
        page.lines.len() as u64 + page.dropped == LINES
    })
    .await;
    let page = log(&hive, &jid).await;
    assert_eq!(page.lines.last().map(|line| line.text.clone()), Some((LINES - 1).to_string()));
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn jobs_that_are_run_in_the_caller_log_too() {
    let hive = hive("embedded:memory").await;
    let worker = Worker::new(&hive).on(queue(), settings(1), |context| async move {
        context.log(LogLevel::Error, "a line");
        Ok::<_, Failure>(())
    });
    let jid = submit(&hive, 1).await;
    worker.run_due().await.expect("run");
    let page = log(&hive, &jid).await;
    assert_eq!(page.lines[0].text, "a line");
}
