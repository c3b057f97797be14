//! How far jobs are: the last that their workers said is stored.

use keyrack_jobs::bee::{Job, PROGRESS_BYTES_MAX, Progress};
use serde_json::json;

use super::fixture::{Fixture, everywhere};

async fn report(fixture: &Fixture, job: &Job, value: u64, message: Option<&str>) {
    let message = message.map(str::to_owned);
    let progress = Progress::of(job, json!(value), message, fixture.now()).expect("small");
    fixture.hive.report_progress(job, &progress).await.expect("told");
}

#[tokio::test]
async fn who_comes_late_sees_the_last_progress_of_the_running_attempt() {
    everywhere(async |fixture| {
        let jid = fixture.put("j").await;
        assert_eq!(fixture.read(&jid).await.progress(), None);
        let first = fixture.claim_one().await;
        report(&fixture, &first, 10, None).await;
        fixture.clock.advance_ms(5);
        report(&fixture, &first, 40, Some("nearly half")).await;
        let progress = fixture.read(&jid).await.progress().expect("stored");
        let expected = Progress {
            value: json!(40),
            message: Some("nearly half".into()),
            at: fixture.now(),
            attempt: 1,
        };
        assert_eq!(progress, expected);
        let told = serde_json::to_value(fixture.read(&jid).await).expect("JSON");
        assert_eq!(told["progress"]["message"], "nearly half");

        // The worker is lost, and says so much later that it goes on.
        fixture.sweep_with(&super::fixture::TIMEOUTS, std::slice::from_ref(&fixture.worker)).await;
        let second = fixture.with_worker("w2").claim_one().await;
        report(&fixture, &first, 99, None).await;
        assert_eq!(fixture.read(&jid).await.progress(), Some(expected));
        report(&fixture, &second, 5, None).await;
        let progress = fixture.read(&jid).await.progress().expect("stored");
        assert_eq!((progress.value, progress.attempt), (json!(5), 2));
    })
    .await;
}

#[tokio::test]
async fn progress_that_would_not_fit_into_a_job_is_refused() {
    everywhere(async |fixture| {
        fixture.put("j").await;
        let job = fixture.claim_one().await;
        let long = json!("x".repeat(PROGRESS_BYTES_MAX));
        let refused = Progress::of(&job, long, None, fixture.now()).expect_err("too long");
        assert!(refused.to_string().contains("at most 4096"), "{refused}");
    })
    .await;
}
