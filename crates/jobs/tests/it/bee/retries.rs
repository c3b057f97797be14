//! When a job is tried again, how long it may run, and until when it has to start.

use std::time::Duration;

use keyrack_jobs::{
    Error,
    bee::{
        Backoff, BackoffKind, End, Failure, Limits, Outcome, Status, Submission, Verdict,
        WorkerInfo, keys,
    },
};

use super::fixture::{Fixture, TIMEOUTS, TTL_MS, completed, everywhere, failed, jid};

const SECOND: Duration = Duration::from_secs(1);

/// Fails the only job that is ready, and returns how long it waits for its next attempt.
async fn fail_once(fixture: &Fixture, failure: Failure) -> u64 {
    let job = fixture.claim_one().await;
    assert_eq!(fixture.settle(&job, End::Failed(failure)).await, Verdict::Ok);
    let delayed = fixture.scores(&fixture.of_queue(keys::delayed)).await;
    let due: u64 = delayed[0].1.parse().expect("whole milliseconds");
    let wait = due - fixture.now();
    fixture.clock.advance_ms(wait);
    wait
}

async fn waits(fixture: &Fixture, job: Submission, n: usize) -> Vec<u64> {
    let jid = fixture.submit(job).await;
    let mut waits = Vec::new();
    for _ in 0..n {
        waits.push(fail_once(fixture, Failure::new("no")).await);
    }
    fixture.hive.cancel(&jid).await.expect("canceled");
    waits
}

#[tokio::test]
async fn waits_between_retries_are_the_jobs_own_or_its_queues() {
    everywhere(async |fixture| {
        let job = |backoff| fixture.job().backoff(backoff);
        let steep = Backoff::exponential(SECOND).longest(Duration::from_secs(5));
        assert_eq!(waits(&fixture, job(steep), 4).await, [1_000, 2_000, 4_000, 5_000]);
        assert_eq!(waits(&fixture, job(Backoff::linear(SECOND)), 3).await, [1_000, 2_000, 3_000]);
        assert_eq!(waits(&fixture, job(Backoff::fixed(SECOND)), 2).await, [1_000, 1_000]);

        let random = Backoff::exponential(SECOND).jitter(1.0);
        let told: Vec<u64> = (1..=3).map(|n| random.wait_ms("random", n) as u64).collect();
        let own = job(random).id(jid("random"));
        assert_eq!(waits(&fixture, own, 3).await, told, "chance that everybody can tell");

        let limits = Limits { backoff: Some(steep), retries: Some(2), ..Limits::default() };
        fixture.hive.set_limits(&fixture.queue, &limits).await.expect("set");
        assert_eq!(fixture.hive.limits(&fixture.queue).await.expect("read"), limits);
        assert_eq!(waits(&fixture, fixture.job(), 2).await, [1_000, 2_000], "its queue's");
        let by_choice = job(Backoff::default());
        assert_eq!(waits(&fixture, by_choice, 1).await, [30_000], "the default, by choice");
    })
    .await;
}

#[tokio::test]
async fn a_job_is_tried_as_often_as_it_says_or_its_queue_does() {
    everywhere(async |fixture| {
        let now = Backoff { delay_ms: 0.0, ..Backoff::default() };
        let limits = Limits { backoff: Some(now), retries: Some(1), ..Limits::default() };
        fixture.hive.set_limits(&fixture.queue, &limits).await.expect("set");
        for (job, tries) in [
            (fixture.job(), 2),
            (fixture.job().retries(3), 4),
            (fixture.job().retries(5), 6),
            (fixture.job().retries(0), 1),
        ] {
            let id = fixture.submit(job).await;
            for n in 1..=tries {
                let job = fixture.claim_one().await;
                fixture.settle(&job, failed("no")).await;
                let is_over = fixture.status(&id).await == Status::Failed;
                assert_eq!(is_over, n == tries, "attempt {n} of {tries}");
            }
        }
    })
    .await;
}

#[tokio::test]
async fn a_worker_says_when_to_try_again() {
    everywhere(async |fixture| {
        let id = fixture.submit(fixture.job().backoff(Backoff::exponential(SECOND))).await;
        fail_once(&fixture, Failure::new("no")).await;
        let later = Failure::new("busy").retry_in(Duration::from_secs(300));
        assert_eq!(fail_once(&fixture, later).await, 300_000, "whatever the job says");
        assert_eq!(fixture.read(&id).await.retries(), 2, "both count");
    })
    .await;
}

#[tokio::test]
async fn a_snoozed_job_runs_later_and_no_failure_counts() {
    everywhere(async |fixture| {
        let id = fixture.submit(fixture.job().retries(0)).await;
        for n in 1..=3 {
            let job = fixture.claim_one().await;
            let snoozed = End::Snoozed { delay_ms: 5_000.0 };
            assert_eq!(fixture.settle(&job, snoozed.clone()).await, Verdict::Ok);
            assert_eq!(fixture.settle(&job, snoozed).await, Verdict::Ok, "told twice");
            assert_eq!(fixture.settle(&job, completed("1")).await, Verdict::Lost);
            let stored = fixture.read(&id).await;
            assert_eq!((stored.status(), stored.retries()), (Status::New, 0), "snooze {n}");
            assert!(fixture.claim(1).await.is_empty(), "not yet");
            fixture.clock.advance_ms(5_000);
        }
        let job = fixture.claim_one().await;
        fixture.settle(&job, completed("1")).await;
        let events = fixture.events_of(&id).await;
        assert_eq!(events[2..6], ["popped", "snoozed", "delayed", "queued"]);
        let wrong = [Outcome::of(&job, End::Snoozed { delay_ms: -1.0 })];
        let (queue, worker) = (&fixture.queue, &fixture.worker);
        let refused = fixture.hive.settle(queue, worker, &wrong, 0, TIMEOUTS.lock).await;
        assert!(matches!(refused, Err(Error::Invalid { .. })), "{refused:?}");
    })
    .await;
}

#[tokio::test]
async fn an_attempt_that_takes_too_long_fails_whoever_runs_it() {
    everywhere(async |fixture| {
        let timeouts = fixture.of_queue(keys::timeouts);
        let id = fixture.submit(fixture.job().timeout(3 * SECOND)).await;
        let job = fixture.claim_one().await;
        let due = (fixture.now() + 3_000).to_string();
        assert_eq!(fixture.scores(&timeouts).await, [(id.to_string(), due)]);
        fixture.clock.advance_ms(2_999);
        assert_eq!(fixture.sweep().await.taken_away, 0);
        fixture.heartbeat().await;
        fixture.clock.advance_ms(1);
        assert_eq!(fixture.sweep().await.taken_away, 1, "a heartbeat buys no time");
        let stored = fixture.read(&id).await;
        assert_eq!((stored.status(), stored.retries()), (Status::Retried, 1));
        let history = serde_json::to_string(&stored.history()).expect("JSON");
        assert!(history.contains("timed out after 3000 ms"), "{history}");
        assert_eq!(fixture.settle(&job, completed("1")).await, Verdict::Lost);
        assert!(!fixture.exists(&timeouts).await);
        assert!(fixture.heartbeat().await.is_empty());

        // A worker that stops its jobs itself has the time that it needs.
        let info = WorkerInfo {
            started_at: 0,
            concurrency: 1,
            lock_ms: 60_000,
            listens: false,
            isolates: false,
            stop_ms: Some(2_000),
            version: None,
        };
        let lock = Duration::from_secs(60);
        let (queue, worker) = (&fixture.queue, &fixture.worker);
        fixture.hive.heartbeat(queue, worker, lock, Some(&info)).await.expect("a heartbeat");
        fixture.clock.advance_ms(30_000);
        fixture.claim_one().await;
        fixture.hive.heartbeat(queue, worker, lock, None).await.expect("a heartbeat");
        fixture.clock.advance_ms(4_999);
        assert_eq!(fixture.sweep().await.taken_away, 0);
        fixture.clock.advance_ms(1);
        assert_eq!(fixture.sweep().await.taken_away, 1);
    })
    .await;
}

#[tokio::test]
async fn a_queue_limits_the_attempts_of_jobs_that_say_nothing() {
    everywhere(async |fixture| {
        let limits = Limits { timeout_ms: Some(1_000), ..Limits::default() };
        fixture.hive.set_limits(&fixture.queue, &limits).await.expect("set");
        let (own, none) = (fixture.job().timeout(5 * SECOND), fixture.job());
        let own = fixture.submit(own).await;
        fixture.clock.advance_ms(1);
        let none = fixture.submit(none).await;
        let claimed = fixture
            .hive
            .claim(&fixture.queue, &fixture.worker, 2, TIMEOUTS.lock)
            .await
            .expect("two");
        assert_eq!((claimed.jobs.len(), claimed.timeout_ms), (2, Some(1_000)));
        fixture.clock.advance_ms(1_000);
        fixture.sweep().await;
        assert_eq!(fixture.status(&none).await, Status::Retried);
        assert_eq!(fixture.status(&own).await, Status::Running);
    })
    .await;
}

#[tokio::test]
async fn a_job_that_has_not_started_in_time_ends_as_expired() {
    everywhere(async |fixture| {
        let start_by = fixture.of_queue(keys::start_by);
        let job = |id: &str| fixture.job().id(jid(id)).start_within(3 * SECOND);
        let first = fixture.put("first").await;
        let late = [
            fixture.submit(job("queued")).await,
            fixture.submit(job("delayed").delay_ms(10_000.0)).await,
            fixture.submit(job("waiting").after(first.clone())).await,
        ];
        let dependant = fixture.submit(fixture.job().after(late[0].clone())).await;
        let running = fixture.claim(1).await.remove(0);
        assert_eq!(running.jid(), "first");
        fixture.clock.advance_ms(3_000);
        let next = fixture.claim(10).await;
        assert_eq!(next.len(), 1, "what waited for one of them");
        assert_eq!(next[0].jid(), dependant.as_str());
        for id in &late {
            let stored = fixture.read(id).await;
            assert_eq!(stored.status(), Status::Expired, "{id}");
            assert_eq!(stored.failed_reason(), Some("not started within 3000 ms"));
            assert_eq!(fixture.events_of(id).await.last().map(String::as_str), Some("expired"));
            fixture.assert_expires_in(&keys::job(id, &id.group()), TTL_MS).await;
            let why = fixture.hive.why(id).await.expect("a reason").explanation;
            assert_eq!(why, "it has ended: expired, not started within 3000 ms");
        }
        assert!(!fixture.exists(&start_by).await);
        assert!(!fixture.exists(&fixture.of_queue(keys::delayed)).await);
        assert!(!fixture.exists(&fixture.of_queue(keys::waiting)).await);
    })
    .await;
}

#[tokio::test]
async fn a_job_that_has_started_in_time_may_be_tried_again_later() {
    everywhere(async |fixture| {
        let start_by = fixture.of_queue(keys::start_by);
        let id = fixture.submit(fixture.job().start_within(SECOND)).await;
        let job = fixture.claim_one().await;
        assert!(!fixture.exists(&start_by).await);
        fixture.settle(&job, End::Released).await;
        assert!(fixture.exists(&start_by).await, "as if nobody had claimed it");
        let job = fixture.claim_one().await;
        fixture.settle(&job, failed("no")).await;
        fixture.clock.advance_ms(30_000);
        fixture.sweep().await;
        let job = fixture.claim_one().await;
        fixture.settle(&job, completed("1")).await;
        assert_eq!(fixture.status(&id).await, Status::Completed);
    })
    .await;
}

#[tokio::test]
async fn times_that_make_no_sense_are_refused_and_nothing_is_stored() {
    everywhere(async |fixture| {
        let long = Duration::from_secs(20 * 365 * 86_400);
        let wrong = [
            (fixture.job().timeout(Duration::ZERO), "timeout: 0 ms; give 1 to"),
            (fixture.job().timeout(long), "timeout: 630720000000 ms; give 1 to"),
            (fixture.job().timeout(Duration::MAX), "timeout: 18446744073709551615 ms; give 1 to"),
            (fixture.job().start_within(Duration::ZERO), "startWithin: 0 ms; give 1 to"),
            (
                fixture.job().backoff(Backoff::linear(SECOND).longest(Duration::ZERO)),
                "retryDelayMax: 0 ms; give at least the first wait, 1000 ms",
            ),
            (fixture.job().backoff(Backoff::default().jitter(-0.5)), "retryJitter: -0.5; give"),
        ];
        for (job, reason) in wrong {
            let refused = fixture.hive.submit(job).await.expect_err("no sense").to_string();
            assert!(refused.starts_with(reason), "{refused}");
        }
        let steep =
            Backoff { kind: BackoffKind::Exponential, delay_ms: -1.0, ..Backoff::default() };
        for (limits, reason) in [
            (Limits { backoff: Some(steep), ..Limits::default() }, "backoff.delay_ms: -1 ms"),
            (Limits { timeout_ms: Some(0), ..Limits::default() }, "timeout_ms: 0 ms; give 1 to"),
        ] {
            let refused = fixture.hive.set_limits(&fixture.queue, &limits).await;
            let refused = refused.expect_err("no sense").to_string();
            assert!(refused.starts_with(reason), "{refused}");
        }
        assert!(!fixture.exists(&fixture.of_queue(keys::queue)).await);
        assert!(!fixture.exists(&fixture.of_queue(keys::settings)).await);
    })
    .await;
}
