//! What is logged about attempts: a line for each that failed, with the job that it is about.

use std::{
    io,
    sync::{Arc, Mutex},
    time::Duration,
};

use keyrack_jobs::bee::{
    Failure, Hive, Status, Submission, WorkerTimeouts,
    keys::Jid,
    worker::{Watch, Worker},
};
use tracing::subscriber::DefaultGuard;
use tracing_subscriber::fmt::MakeWriter;

use super::bench::{Running, hive, queue, settings, wait_for_status};

/// The lines that are logged in this thread, which runs the worker too.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().expect("no panic").extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl MakeWriter<'_> for Log {
    type Writer = Log;

    fn make_writer(&self) -> Log {
        self.clone()
    }
}

impl Log {
    fn listen() -> (Log, DefaultGuard) {
        let log = Log::default();
        let lines = tracing_subscriber::fmt().with_ansi(false).without_time();
        let lines = lines.with_max_level(tracing::Level::INFO).with_writer(log.clone());
        (log, tracing::subscriber::set_default(lines.finish()))
    }

    /// The lines about attempts of this job.
    fn attempts(&self, jid: &Jid) -> Vec<String> {
        let text = String::from_utf8(self.0.lock().expect("no panic").clone()).expect("text");
        let lines = text.lines().map(|line| line.trim().to_owned());
        lines.filter(|line| line.contains("attempts: ") && line.contains(jid.as_str())).collect()
    }
}

async fn submit(hive: &Hive, what: &str, retries: u32) -> Jid {
    let job = Submission::to(queue()).arg(what).retries(retries).retry_delay_ms(60_000.0, false);
    hive.submit(job).await.expect("submitted")
}

#[tokio::test]
async fn failed_attempts_are_warnings_and_jobs_that_failed_for_good_are_errors() {
    let (log, _listening) = Log::listen();
    let hive = hive("embedded:memory").await;
    let worker = Worker::new(&hive).on(queue(), settings(1), |context| async move {
        match context.job().args()[0].as_str() {
            Some("panic") => panic!("no more"),
            Some("fatal") => Err(Failure::fatal("never")),
            Some("error") => Err(Failure::new("not now")),
            _ => Ok(()),
        }
    });
    let running = Running::start(worker);
    let again = "the attempt failed and is made again";
    let for_good = "the job failed for good";
    for (what, retries, status, level, message, reason) in [
        ("error", 1, Status::Retried, "WARN", again, "not now"),
        ("panic", 1, Status::Retried, "WARN", again, "the handler panicked: no more"),
        ("fatal", 1, Status::Failed, "ERROR", for_good, "never"),
        ("error", 0, Status::Failed, "ERROR", for_good, "not now"),
        ("panic", 0, Status::Failed, "ERROR", for_good, "the handler panicked: no more"),
    ] {
        let jid = submit(&hive, what, retries).await;
        wait_for_status(&hive, &jid, status).await;
        let line = format!(
            "{level} job{{queue=\"emails\" jid=\"{jid}\" attempt=1}}: keyrack_jobs::attempts: {message} \
             reason=\"{reason}\""
        );
        assert_eq!(log.attempts(&jid), [line]);
    }
    let fine = submit(&hive, "fine", 0).await;
    wait_for_status(&hive, &fine, Status::Completed).await;
    assert_eq!(log.attempts(&fine), [""; 0]);
    running.stop().await;
}

#[tokio::test]
async fn the_attempt_of_a_canceled_job_is_no_failure() {
    let (log, _listening) = Log::listen();
    let hive = hive("embedded:memory").await;
    let worker = Worker::new(&hive).on(queue(), settings(1), |context| async move {
        context.stopped().await;
        Err::<(), _>(Failure::fatal("interrupted"))
    });
    let running = Running::start(worker);
    let jid = submit(&hive, "long", 0).await;
    wait_for_status(&hive, &jid, Status::Running).await;
    hive.cancel(&jid).await.expect("canceled");
    running.stop().await;
    assert_eq!(log.attempts(&jid), [""; 0]);
}

#[tokio::test]
async fn a_job_that_failed_because_its_worker_was_lost_is_an_error() {
    let (log, _listening) = Log::listen();
    let hive = hive("embedded:memory").await;
    let worker = hive.new_worker(&queue()).expect("a worker");
    let (last, first) = (submit(&hive, "x", 0).await, submit(&hive, "x", 1).await);
    // The locks are over at once.
    let claimed = hive.claim(&queue(), &worker, 2, Duration::ZERO).await.expect("claimed");
    assert_eq!(claimed.jobs.len(), 2);
    Watch::new(&hive, queue(), WorkerTimeouts::KEYRACK).sweep().await.expect("swept");
    assert_eq!(hive.job(&last).await.expect("the job").status(), Status::Failed);
    let lines = log.attempts(&last);
    assert_eq!(lines.len(), 1, "{lines:?}");
    assert!(
        lines[0].starts_with("ERROR keyrack_jobs::attempts: the job failed for good"),
        "{lines:?}"
    );
    assert_eq!(hive.job(&first).await.expect("the job").status(), Status::Queued);
    assert_eq!(log.attempts(&first), [""; 0]);
}
