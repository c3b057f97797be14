//! The statuses of a job, and every way from one to another.

use keyrack_jobs::{
    Error,
    bee::{Checked, Status, keys::JobHash},
};

use super::fixture::{
    FAILED_TTL_MS, Fixture, LOCK_MS, TTL_MS, completed, everywhere, failed, failed_for_good, jid,
};

#[tokio::test]
async fn a_job_goes_through_the_documented_statuses() {
    everywhere(async |fixture| {
        from_new_to_queued_to_running_to_completed_to_expired(&fixture.on("q1")).await;
        a_failure_is_retried_until_it_is_final(&fixture.on("q2")).await;
        a_lost_lock_requeues(&fixture.on("q3")).await;
        a_duplicate_is_final(&fixture.on("q4")).await;
        any_status_can_be_canceled(&fixture.on("q5")).await;
        what_failed_or_was_canceled_or_expired_can_run_again(&fixture.on("q6")).await;
    })
    .await;
}

async fn from_new_to_queued_to_running_to_completed_to_expired(fixture: &Fixture) {
    let jid = fixture.submit(fixture.job().id(jid("life")).delay_ms(1_000.0)).await;
    assert_eq!(fixture.status(&jid).await, Status::New, "not due");
    fixture.clock.advance_ms(1_000);
    fixture
        .hive
        .claim(&fixture.queue, &fixture.worker, 0, super::fixture::TIMEOUTS.lock)
        .await
        .expect("asked");
    assert_eq!(fixture.status(&jid).await, Status::Queued, "due");
    let job = fixture.claim_one().await;
    assert_eq!(fixture.status(&jid).await, Status::Running);
    fixture.settle(&job, completed("1")).await;
    assert_eq!(fixture.status(&jid).await, Status::Completed);
    fixture.clock.advance_ms(TTL_MS);
    fixture.sweep().await;
    assert_eq!(fixture.status(&jid).await, Status::Expired);
}

async fn a_failure_is_retried_until_it_is_final(fixture: &Fixture) {
    let jid = fixture.submit(fixture.job().retries(1).retry_delay_ms(1_000.0, false)).await;
    let job = fixture.claim_one().await;
    fixture.settle(&job, failed("first")).await;
    assert_eq!(fixture.status(&jid).await, Status::Retried);
    fixture.clock.advance_ms(1_000);
    let job = fixture.claim_one().await;
    fixture.settle(&job, failed("second")).await;
    assert_eq!(fixture.status(&jid).await, Status::Failed);
    fixture.clock.advance_ms(FAILED_TTL_MS);
    fixture.sweep().await;
    assert_eq!(fixture.status(&jid).await, Status::Expired);
}

async fn a_lost_lock_requeues(fixture: &Fixture) {
    let jid = fixture.submit(fixture.job().retries(1)).await;
    for status in [Status::Queued, Status::Failed] {
        fixture.claim_one().await;
        fixture.clock.advance_ms(LOCK_MS);
        fixture.sweep().await;
        assert_eq!(fixture.status(&jid).await, status);
    }
}

async fn a_duplicate_is_final(fixture: &Fixture) {
    fixture.put("o").await;
    fixture.put("d").await;
    let jobs = fixture.claim(2).await;
    let hash = JobHash::new("same").expect("a hash");
    let both = [(&jobs[1], hash.clone()), (&jobs[0], hash)];
    let checked = fixture.hive.check_duplicates(&fixture.queue, &fixture.worker, &both).await;
    let (first, second) = (jobs[1].jid().to_owned(), jobs[0].jid().to_owned());
    assert_eq!(checked.expect("checked"), [Checked::Original, Checked::DuplicateOf(first)]);
    assert_eq!(fixture.status(&jid(&second)).await, Status::Duplicate);
    let refused = fixture.hive.retry(&jid(&second)).await;
    assert!(matches!(refused, Err(Error::Conflict { .. })), "{refused:?}");
}

async fn any_status_can_be_canceled(fixture: &Fixture) {
    let base = fixture.put("base").await;
    let waiting = fixture.submit(fixture.job().after(base.clone())).await;
    let delayed = fixture.submit(fixture.job().delay_ms(60_000.0)).await;
    for jid in [&waiting, &delayed, &base, &base] {
        fixture.hive.cancel(jid).await.expect("canceled");
        assert_eq!(fixture.status(jid).await, Status::Canceled);
    }
    let running = fixture.put("running").await;
    fixture.claim_one().await;
    let done = fixture.run(fixture.job(), completed("1")).await;
    let bad = fixture.run(fixture.job(), failed_for_good("no")).await;
    let retried = fixture.run(fixture.job(), failed("not yet")).await;
    for jid in [&running, &bad, &retried] {
        fixture.hive.cancel(jid).await.expect("canceled");
        assert_eq!(fixture.status(jid).await, Status::Canceled);
    }
    let refused = fixture.hive.cancel(&done).await;
    assert!(matches!(refused, Err(keyrack_jobs::Error::Conflict { .. })), "{refused:?}");
    assert_eq!(fixture.status(&done).await, Status::Completed, "and it cannot be run again");
    assert!(fixture.hive.retry(&done).await.is_err());
    fixture.hive.cancel_even_completed(&done).await.expect("as Node hives do");
    assert_eq!(fixture.status(&done).await, Status::Canceled);
    assert!(fixture.claim(10).await.is_empty(), "nothing is left to do");
}

async fn what_failed_or_was_canceled_or_expired_can_run_again(fixture: &Fixture) {
    let bad = fixture.run(fixture.job(), failed_for_good("no")).await;
    let canceled = fixture.put("canceled").await;
    fixture.hive.cancel(&canceled).await.expect("canceled");
    for jid in [&bad, &canceled] {
        fixture.hive.retry(jid).await.expect("again");
        assert_eq!(fixture.status(jid).await, Status::Queued);
        fixture.assert_stays(&keyrack_jobs::bee::keys::job(jid, &jid.group())).await;
        let refused = fixture.hive.retry(jid).await;
        assert!(matches!(refused, Err(Error::Conflict { .. })), "{refused:?}");
        let job = fixture.claim_one().await;
        fixture.settle(&job, completed("2")).await;
        assert_eq!(fixture.read(jid).await.failed_reason(), None);
    }
    fixture.clock.advance_ms(TTL_MS);
    fixture.sweep().await;
    fixture.hive.retry(&bad).await.expect("again");
    assert_eq!(fixture.status(&bad).await, Status::Queued);
    let refused = fixture.hive.retry(&jid("nobody")).await;
    assert!(matches!(refused, Err(Error::NoSuchJob { .. })), "{refused:?}");
}
