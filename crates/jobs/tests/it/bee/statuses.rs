//! The statuses of a job, and every way from one to another.

use keyrack_jobs::{
    Error,
    bee::{Checked, Status, keys::JobHash},
};

use super::rig::{
    FAILED_TTL_MS, LOCK_MS, Rig, TTL_MS, completed, everywhere, failed, failed_for_good, jid,
};

#[tokio::test]
async fn a_job_goes_through_the_documented_statuses() {
    everywhere(async |rig| {
        from_new_to_queued_to_running_to_completed_to_expired(&rig.on("q1")).await;
        a_failure_is_retried_until_it_is_final(&rig.on("q2")).await;
        a_lost_lock_requeues(&rig.on("q3")).await;
        a_duplicate_is_final(&rig.on("q4")).await;
        any_status_can_be_cancelled(&rig.on("q5")).await;
        what_failed_or_was_cancelled_or_expired_can_run_again(&rig.on("q6")).await;
    })
    .await;
}

async fn from_new_to_queued_to_running_to_completed_to_expired(rig: &Rig) {
    let jid = rig.submit(rig.job().id(jid("life")).delay_ms(1_000.0)).await;
    assert_eq!(rig.status(&jid).await, Status::New, "not due");
    rig.clock.advance_ms(1_000);
    rig.hive.claim(&rig.queue, &rig.worker, 0, super::rig::CARE.lock).await.expect("asked");
    assert_eq!(rig.status(&jid).await, Status::Queued, "due");
    let job = rig.claim_one().await;
    assert_eq!(rig.status(&jid).await, Status::Running);
    rig.settle(&job, completed("1")).await;
    assert_eq!(rig.status(&jid).await, Status::Completed);
    rig.clock.advance_ms(TTL_MS);
    rig.sweep().await;
    assert_eq!(rig.status(&jid).await, Status::Expired);
}

async fn a_failure_is_retried_until_it_is_final(rig: &Rig) {
    let jid = rig.submit(rig.job().retries(1).retry_delay_ms(1_000.0, false)).await;
    let job = rig.claim_one().await;
    rig.settle(&job, failed("first")).await;
    assert_eq!(rig.status(&jid).await, Status::Retried);
    rig.clock.advance_ms(1_000);
    let job = rig.claim_one().await;
    rig.settle(&job, failed("second")).await;
    assert_eq!(rig.status(&jid).await, Status::Failed);
    rig.clock.advance_ms(FAILED_TTL_MS);
    rig.sweep().await;
    assert_eq!(rig.status(&jid).await, Status::Expired);
}

async fn a_lost_lock_requeues(rig: &Rig) {
    let jid = rig.submit(rig.job().retries(1)).await;
    for status in [Status::Queued, Status::Failed] {
        rig.claim_one().await;
        rig.clock.advance_ms(LOCK_MS);
        rig.sweep().await;
        assert_eq!(rig.status(&jid).await, status);
    }
}

async fn a_duplicate_is_final(rig: &Rig) {
    rig.put("o").await;
    rig.put("d").await;
    let jobs = rig.claim(2).await;
    let hash = JobHash::new("same").expect("a hash");
    let both = [(&jobs[1], hash.clone()), (&jobs[0], hash)];
    let checked = rig.hive.check_duplicates(&rig.queue, &rig.worker, &both).await;
    let (first, second) = (jobs[1].jid().to_owned(), jobs[0].jid().to_owned());
    assert_eq!(checked.expect("checked"), [Checked::Original, Checked::DuplicateOf(first)]);
    assert_eq!(rig.status(&jid(&second)).await, Status::Duplicate);
    let refused = rig.hive.retry(&jid(&second)).await;
    assert!(matches!(refused, Err(Error::Conflict { .. })), "{refused:?}");
}

async fn any_status_can_be_cancelled(rig: &Rig) {
    let base = rig.put("base").await;
    let waiting = rig.submit(rig.job().after(base.clone())).await;
    let delayed = rig.submit(rig.job().delay_ms(60_000.0)).await;
    for jid in [&waiting, &delayed, &base, &base] {
        rig.hive.cancel(jid).await.expect("cancelled");
        assert_eq!(rig.status(jid).await, Status::Canceled);
    }
    let running = rig.put("running").await;
    rig.claim_one().await;
    let done = rig.run(rig.job(), completed("1")).await;
    let bad = rig.run(rig.job(), failed_for_good("no")).await;
    let retried = rig.run(rig.job(), failed("not yet")).await;
    for jid in [&running, &bad, &retried] {
        rig.hive.cancel(jid).await.expect("cancelled");
        assert_eq!(rig.status(jid).await, Status::Canceled);
    }
    let refused = rig.hive.cancel(&done).await;
    assert!(matches!(refused, Err(keyrack_jobs::Error::Conflict { .. })), "{refused:?}");
    assert_eq!(rig.status(&done).await, Status::Completed, "and it cannot be run again");
    assert!(rig.hive.retry(&done).await.is_err());
    rig.hive.cancel_even_completed(&done).await.expect("as Node hives do");
    assert_eq!(rig.status(&done).await, Status::Canceled);
    assert!(rig.claim(10).await.is_empty(), "nothing is left to do");
}

async fn what_failed_or_was_cancelled_or_expired_can_run_again(rig: &Rig) {
    let bad = rig.run(rig.job(), failed_for_good("no")).await;
    let canceled = rig.put("canceled").await;
    rig.hive.cancel(&canceled).await.expect("cancelled");
    for jid in [&bad, &canceled] {
        rig.hive.retry(jid).await.expect("again");
        assert_eq!(rig.status(jid).await, Status::Queued);
        rig.assert_stays(&keyrack_jobs::bee::keys::job(jid, &jid.group())).await;
        let refused = rig.hive.retry(jid).await;
        assert!(matches!(refused, Err(Error::Conflict { .. })), "{refused:?}");
        let job = rig.claim_one().await;
        rig.settle(&job, completed("2")).await;
        assert_eq!(rig.read(jid).await.failed_reason(), None);
    }
    rig.clock.advance_ms(TTL_MS);
    rig.sweep().await;
    rig.hive.retry(&bad).await.expect("again");
    assert_eq!(rig.status(&bad).await, Status::Queued);
    let refused = rig.hive.retry(&jid("nobody")).await;
    assert!(matches!(refused, Err(Error::NoSuchJob { .. })), "{refused:?}");
}
