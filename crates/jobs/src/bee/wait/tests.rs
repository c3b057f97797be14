use std::time::Duration;

use futures_util::FutureExt as _;
use keyrack_testkit::{on_every_store, wait_until_async};

use super::*;
use crate::bee::{
    Care, Failure, Limits, Status, Submission,
    keys::Jid,
    test_support::{completed, queue},
};

/// Longer than anything takes.
const PATIENCE: Duration = Duration::from_secs(60);

fn claim(hive: &Hive, max: usize) -> Claim {
    Claim { queue: queue(), worker: hive.worker(), max, lock: Care::KEYRACK.lock }
}

async fn hive() -> Hive {
    let store = keyrack_store::Store::open("embedded:memory").await.expect("a store");
    Hive::open(store).await.expect("a hive")
}

fn ids(caught: ClaimGuard) -> Vec<String> {
    caught.keep().jobs.iter().map(|job| job.jid().to_owned()).collect()
}

/// Starts a claim and lets it come to wait.
async fn waiting(waiters: &Waiters, claim: Claim) -> tokio::task::JoinHandle<Vec<String>> {
    let its = waiters.clone();
    let task =
        tokio::spawn(async move { ids(its.claim(&claim, PATIENCE).await.expect("claimed")) });
    wait_until_async("the claim to wait", async || lobby_of(waiters).is_some()).await;
    task
}

fn lobby_of(waiters: &Waiters) -> Option<Arc<QueueWaiters>> {
    waiters.queues.lock().get(&queue()).and_then(Weak::upgrade)
}

#[tokio::test]
async fn a_claim_waits_for_the_next_job() {
    on_every_store(async |store| {
        let hive = Hive::open(store).await.expect("a hive");
        let waiters = Waiters::new(&hive);
        let task = waiting(&waiters, claim(&hive, 5)).await;
        let jid = hive.put("a").await;
        assert_eq!(task.await.expect("no panic"), [jid.as_str()]);
        assert_eq!(hive.job(&jid).await.expect("the job").status(), Status::Running);
        wait_until_async("the empty queue_waiters to close", async || lobby_of(&waiters).is_none())
            .await;
    })
    .await;
}

#[tokio::test]
async fn jobs_that_are_there_are_had_without_waiting_and_none_come_back_empty() {
    let hive = hive().await;
    let waiters = Waiters::new(&hive);
    let nothing = waiters.claim(&claim(&hive, 1), Duration::ZERO).await.expect("claimed");
    assert!(nothing.keep().jobs.is_empty());
    let jid = hive.put("a").await;
    let caught = waiters.claim(&claim(&hive, 1), PATIENCE).await.expect("claimed");
    assert_eq!(ids(caught), [jid.as_str()]);
    let late = waiters.claim(&claim(&hive, 1), Duration::from_millis(20)).await.expect("claimed");
    assert!(late.keep().jobs.is_empty());
}

#[tokio::test]
async fn each_of_many_that_wait_gets_a_job() {
    let hive = hive().await;
    let waiters = Waiters::new(&hive);
    let mut tasks = Vec::new();
    for _ in 0..20 {
        tasks.push(waiting(&waiters, claim(&hive, 1)).await);
    }
    let jobs = (0..20).map(|n| Submission::to(queue()).arg(n)).collect();
    let jids = hive.submit_many(jobs).await.expect("submitted");
    let mut jids: Vec<String> =
        jids.into_iter().map(|jid| jid.expect("submitted").to_string()).collect();
    let mut caught = Vec::new();
    for task in tasks {
        caught.extend(task.await.expect("no panic"));
    }
    jids.sort();
    caught.sort();
    assert_eq!(caught, jids);
}

#[tokio::test]
async fn a_claim_that_is_given_up_swallows_no_job() {
    on_every_store(async |store| {
        let hive = Hive::open(store).await.expect("a hive");
        let waiters = Waiters::new(&hive);
        let gone = waiting(&waiters, claim(&hive, 1)).await;
        gone.abort();
        let stays = waiting(&waiters, claim(&hive, 1)).await;
        let jid = hive.put("a").await;
        assert_eq!(stays.await.expect("no panic"), [jid.as_str()]);
    })
    .await;
}

async fn is_back(hive: &Hive, jid: &Jid) {
    wait_until_async("the job to come back", async || {
        let job = hive.job(jid).await.expect("the job");
        let was_released = job.history().iter().any(|entry| entry.event == "released");
        was_released && job.status() == Status::Queued
    })
    .await;
    let stats = hive.stats(&queue()).await.expect("stats");
    assert_eq!((stats.queued, stats.running), (1, 0));
}

#[tokio::test]
async fn a_claim_given_up_while_the_store_answers_gives_the_job_back() {
    on_every_store(async |store| {
        let hive = Hive::open(store).await.expect("a hive");
        let waiters = Waiters::new(&hive);
        let jid = hive.put("a").await;
        // Polled once, so that the call is on its way, and dropped.
        let claim = claim(&hive, 1);
        assert!(waiters.claim(&claim, PATIENCE).now_or_never().is_none());
        is_back(&hive, &jid).await;
    })
    .await;
}

#[tokio::test]
async fn what_was_to_be_settled_is_although_nobody_waits_for_the_next() {
    on_every_store(async |store| {
        let hive = Hive::open(store).await.expect("a hive");
        let waiters = Waiters::new(&hive);
        let claim = claim(&hive, 1);
        let first = hive.put("a").await;
        let job = hive.take(&claim.worker, 1).await.remove(0);
        let next = hive.put("b").await;
        let outcome = Outcome::of(&job, completed("7"));
        assert!(waiters.settle(vec![outcome.clone()], &claim).now_or_never().is_none());
        is_back(&hive, &next).await;
        assert_eq!(hive.job(&first).await.expect("the job").result(), Some("7"));

        let (verdicts, caught) = waiters.settle(vec![outcome], &claim).await.expect("settled");
        assert_eq!(verdicts, [Verdict::Ok], "it is the end that counts");
        assert_eq!(ids(caught), [next.as_str()]);
    })
    .await;
}

#[tokio::test]
async fn jobs_that_nobody_keeps_go_back() {
    let hive = hive().await;
    let jid = hive.put("a").await;
    let caught = Waiters::new(&hive).claim(&claim(&hive, 1), PATIENCE).await.expect("claimed");
    assert_eq!(caught.claimed().jobs.len(), 1);
    drop(caught);
    is_back(&hive, &jid).await;
}

#[tokio::test]
async fn a_claim_wakes_when_a_delayed_job_is_due() {
    let hive = hive().await;
    let job = Submission::to(queue()).delay_ms(50.0);
    let jid = hive.submit(job).await.expect("submitted");
    let caught = Waiters::new(&hive).claim(&claim(&hive, 1), PATIENCE).await.expect("claimed");
    assert_eq!(ids(caught), [jid.as_str()]);
}

#[tokio::test]
async fn a_claim_that_waits_wakes_when_a_job_is_due_that_was_submitted_later() {
    let hive = hive().await;
    let waiters = Waiters::new(&hive);
    let task = waiting(&waiters, claim(&hive, 1)).await;
    let begun = Instant::now();
    let job = Submission::to(queue()).delay_ms(50.0);
    let jid = hive.submit(job).await.expect("submitted");
    assert_eq!(task.await.expect("no panic"), [jid.as_str()]);
    assert!(begun.elapsed() < ASK_EVERY / 2, "it was not told when to ask");
}

#[tokio::test]
async fn a_claim_wakes_when_a_failed_attempt_leaves_room_under_a_limit() {
    let hive = hive().await;
    let waiters = Waiters::new(&hive);
    let limits = Limits { concurrency: Some(1), ..Limits::default() };
    hive.set_limits(&queue(), &limits).await.expect("set");
    let (first, second) = (hive.put("a").await, hive.put("b").await);
    let its = claim(&hive, 1);
    let running = hive.take(&its.worker, 1).await.remove(0);
    assert_eq!(running.jid(), first.as_str());
    let task = waiting(&waiters, claim(&hive, 1)).await;
    let begun = Instant::now();
    hive.end(&its.worker, &running, End::Failed(Failure::new("not yet"))).await;
    assert_eq!(task.await.expect("no panic"), [second.as_str()]);
    assert!(begun.elapsed() < ASK_EVERY / 2, "it was not told that there is room");
}

#[tokio::test]
async fn a_claim_wakes_when_the_queue_is_resumed_and_when_a_limit_has_room() {
    let hive = hive().await;
    let waiters = Waiters::new(&hive);
    hive.pause(&queue()).await.expect("paused");
    let (first, second) = (hive.put("a").await, hive.put("b").await);
    let limits = Limits { concurrency: Some(1), ..Limits::default() };
    hive.set_limits(&queue(), &limits).await.expect("set");
    let its = claim(&hive, 5);
    let task = waiting(&waiters, its.clone()).await;
    hive.resume(&queue()).await.expect("resumed");
    assert_eq!(task.await.expect("no panic"), [first.as_str()]);

    let task = waiting(&waiters, claim(&hive, 5)).await;
    let job = hive.job(&first).await.expect("the job");
    hive.end(&its.worker, &job, completed("1")).await;
    assert_eq!(task.await.expect("no panic"), [second.as_str()]);
}
