//! A job's way through the queue, on every store.

use keyrack_jobs::bee::{
    End, Failure, Hive, Outcome, Status, Submission, Verdict, WorkerTimeouts, keys::QueueName,
};
use keyrack_testkit::on_every_store;

const LOCK: std::time::Duration = WorkerTimeouts::KEYRACK.lock;

fn queue() -> QueueName {
    QueueName::new("emails").expect("a queue")
}

fn completed(result: &str) -> End {
    End::Completed { result: result.into(), ttl_ms: None }
}

#[tokio::test]
async fn a_job_is_submitted_claimed_and_completed() {
    on_every_store(async |store| {
        let hive = Hive::open(store).await.expect("a hive");
        let worker = hive.new_worker(&queue()).expect("a worker");
        let jid = hive.submit(Submission::to(queue()).arg("a").arg(1)).await.expect("submitted");
        assert_eq!(hive.job(&jid).await.expect("the job").status(), Status::Queued);

        let claimed = hive.claim(&queue(), &worker, 10, LOCK).await.expect("claimed");
        assert_eq!(claimed.jobs.len(), 1);
        let job = &claimed.jobs[0];
        assert_eq!(
            (job.jid(), job.data(), job.status()),
            (jid.as_str(), r#"["a",1]"#, Status::Running)
        );
        assert_eq!(job.worker(), worker.as_str());

        let outcome = Outcome::of(job, completed(r#"{"ok":true}"#));
        let settled = hive
            .settle(&queue(), &worker, std::slice::from_ref(&outcome), 1, LOCK)
            .await
            .expect("settled");
        assert_eq!(settled.verdicts, [Verdict::Ok]);
        let again = hive.settle(&queue(), &worker, &[outcome], 0, LOCK).await.expect("settled");
        assert_eq!(again.verdicts, [Verdict::Ok], "it is the end that counts");

        let job = hive.job(&jid).await.expect("the job");
        assert_eq!((job.status(), job.result()), (Status::Completed, Some(r#"{"ok":true}"#)));
        let events: Vec<String> = job.history().into_iter().map(|entry| entry.event).collect();
        assert_eq!(events, ["submitted", "queued", "popped", "completed"]);
    })
    .await;
}

#[tokio::test]
async fn dependants_of_another_queue_are_released_when_the_last_dependency_fails() {
    on_every_store(async |store| {
        let hive = Hive::open(store).await.expect("a hive");
        let reports = QueueName::new("reports").expect("a queue");
        let worker = hive.new_worker(&queue()).expect("a worker");
        let first = hive.submit(Submission::to(queue())).await.expect("submitted");
        let second = hive
            .submit(Submission::to(reports.clone()).after(first.clone()).arg(2))
            .await
            .expect("submitted");
        assert_eq!(hive.job(&second).await.expect("the job").status(), Status::New);

        let job = hive.claim(&queue(), &worker, 1, LOCK).await.expect("claimed").jobs.remove(0);
        let outcome = Outcome::of(&job, End::Failed(Failure::fatal("no such address")));
        hive.settle(&queue(), &worker, &[outcome], 0, LOCK).await.expect("settled");
        let failed = hive.job(&first).await.expect("the job");
        assert_eq!(
            (failed.status(), failed.failed_reason()),
            (Status::Failed, Some("no such address"))
        );
        assert_eq!(hive.job(&second).await.expect("the job").status(), Status::Queued);
    })
    .await;
}
