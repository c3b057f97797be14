use std::time::Duration;

use futures_util::FutureExt as _;
use keyrack_testkit::{on_every_store, wait_until_async};

use super::*;
use crate::bee::{
    Failure, Job, Limits, Status, Submission, WorkerInfo, WorkerTimeouts,
    keys::Jid,
    test_support::{completed, queue, simulated_hive},
};

/// Longer than anything takes.
const PATIENCE: Duration = Duration::from_secs(60);

fn claim(hive: &Hive, max: usize) -> Claim {
    Claim { queue: queue(), worker: hive.worker(), max, lock: WorkerTimeouts::KEYRACK.lock }
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

/// How many commands the store has run, this question included.
async fn n_commands(hive: &Hive) -> u64 {
    let mut info = redis::cmd("INFO");
    info.arg("stats");
    let stats: String = info.query_async(&mut hive.store().connection()).await.expect("stats");
    let line = stats.lines().find_map(|line| line.strip_prefix("total_commands_processed:"));
    line.expect("a number of commands").trim().parse().expect("a number")
}

#[tokio::test(start_paused = true)]
async fn however_many_wait_one_of_them_asks_now_and_then() {
    const N_CLAIMS: u64 = 100;
    const N_ASKED: u32 = 6;
    let (hive, _) = simulated_hive().await;
    let waiters = Waiters::new(&hive);
    // The first call also tells the store the script.
    waiters.claim(&claim(&hive, 1), Duration::ZERO).await.expect("claimed").keep();
    let before = n_commands(&hive).await;
    waiters.claim(&claim(&hive, 1), Duration::ZERO).await.expect("claimed").keep();
    let of_one_claim = n_commands(&hive).await - before - 1;
    let mut tasks = Vec::new();
    for _ in 0..N_CLAIMS {
        tasks.push(waiting(&waiters, claim(&hive, 1)).await);
    }
    let mut last = 0;
    wait_until_async("all claims to wait", async || {
        let n = n_commands(&hive).await;
        std::mem::replace(&mut last, n) + 1 == n
    })
    .await;
    let before = n_commands(&hive).await;
    // The clock stands still but for this.
    tokio::time::sleep(N_ASKED * ASK_EVERY).await;
    let commands = n_commands(&hive).await - before - 1;
    assert!(tasks.iter().all(|task| !task.is_finished()), "all of them still wait");
    let asked = commands as f64 / of_one_claim as f64;
    let expected = f64::from(N_ASKED - 1)..=f64::from(N_ASKED + 1);
    assert!(expected.contains(&asked), "{asked} claims of {of_one_claim} commands each");
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

/// A claim of a new worker that has said what it is, as the HTTP API does.
async fn registered(hive: &Hive, max: usize) -> Claim {
    let claim = claim(hive, max);
    let info = WorkerInfo {
        started_at: hive.now_ms(),
        concurrency: max as u64,
        lock_ms: claim.lock.as_millis() as u64,
        listens: false,
        isolates: true,
        stop_ms: None,
        version: None,
    };
    let kept = hive.heartbeat(&claim.queue, &claim.worker, claim.lock, Some(&info)).await;
    kept.expect("registered");
    claim
}

/// What a claim brings without waiting, and what blocks more.
async fn take_now(waiters: &Waiters, claim: &Claim) -> (Vec<Job>, Option<Blocked>) {
    let claimed = waiters.claim(claim, Duration::ZERO).await.expect("claimed").keep();
    (claimed.jobs, claimed.blocked)
}

async fn bury(hive: &Hive, claim: &Claim) {
    let gone = std::slice::from_ref(&claim.worker);
    hive.sweep(&claim.queue, &WorkerTimeouts::KEYRACK, "", gone).await.expect("swept");
}

#[tokio::test]
async fn a_job_that_kills_workers_which_say_nothing_fails_and_its_neighbours_do_not() {
    on_every_store(async |store| {
        let hive = Hive::open(store).await.expect("a hive");
        let waiters = Waiters::new(&hive);
        for name in ["a", "b", "poison", "c", "d"] {
            hive.put(name).await;
        }
        let is_poison = |job: &Job| job.args()[0] == "poison";
        let (mut n_lost, mut ended) = (0, Vec::new());
        while ended.len() < 4 || n_lost < 3 {
            let claim = registered(&hive, 10).await;
            let (jobs, _) = take_now(&waiters, &claim).await;
            assert!(!jobs.is_empty(), "{n_lost} workers lost, {ended:?} ended");
            if jobs.iter().any(is_poison) {
                n_lost += 1;
                bury(&hive, &claim).await;
                continue;
            }
            for job in &jobs {
                assert_eq!(jobs.len(), 1, "all lost workers with it, so each is alone");
                ended.push(job.args()[0].to_string());
                hive.end(&claim.worker, job, completed("1")).await;
            }
        }
        assert_eq!(n_lost, 3);
        let stats = hive.stats(&queue()).await.expect("stats");
        assert_eq!((stats.failed, stats.queued, stats.running), (1, 0, 0));
    })
    .await;
}

#[tokio::test]
async fn a_job_that_has_lost_workers_waits_for_one_without_other_jobs_and_keeps_it_to_itself() {
    on_every_store(async |store| {
        let hive = Hive::open(store).await.expect("a hive");
        let waiters = Waiters::new(&hive);
        let suspect = hive.put("suspect").await;
        for _ in 0..2 {
            let claim = registered(&hive, 1).await;
            assert_eq!(take_now(&waiters, &claim).await.0.len(), 1);
            bury(&hive, &claim).await;
        }
        // A worker that has a job passes the suspect by.
        let tail = registered(&hive, 5).await;
        let busy = registered(&hive, 5).await;
        for name in ["a", "b", "c"] {
            hive.put(name).await;
        }
        hive.submit(Submission::to(queue()).arg("first").priority(10.0)).await.expect("submitted");
        let one = Claim { max: 1, ..busy.clone() };
        let (first, _) = take_now(&waiters, &one).await;
        assert_ne!(first[0].jid(), suspect.as_str());
        let (others, blocked) = take_now(&waiters, &busy).await;
        assert!(others.iter().all(|job| job.jid() != suspect.as_str()), "{others:?}");
        assert_eq!(blocked, Some(Blocked::Quarantine));
        // One without jobs gets it and nothing beside it, however much it asks for.
        let (alone, blocked) = take_now(&waiters, &tail).await;
        assert_eq!(alone.iter().map(Job::jid).collect::<Vec<_>>(), [suspect.as_str()]);
        assert_eq!(blocked, Some(Blocked::Quarantine));
        hive.put("d").await;
        assert_eq!(take_now(&waiters, &tail).await, (Vec::new(), Some(Blocked::Quarantine)));
        let outcome = Outcome::of(&alone[0], completed("1"));
        let (verdicts, next) = waiters.settle(vec![outcome], &tail).await.expect("settled");
        assert_eq!(verdicts, [Verdict::Ok]);
        assert!(!next.is_empty(), "the call that ends it brings others");
    })
    .await;
}

#[tokio::test]
async fn a_job_that_waits_long_to_run_alone_is_not_passed_by_forever() {
    let (hive, clock) = simulated_hive().await;
    let waiters = Waiters::new(&hive);
    let suspect = hive.put("suspect").await;
    for _ in 0..2 {
        let claim = registered(&hive, 1).await;
        assert_eq!(take_now(&waiters, &claim).await.0.len(), 1);
        bury(&hive, &claim).await;
    }
    let other = registered(&hive, 1).await;
    let busy = registered(&hive, 1).await;
    let first = hive.take(&other.worker, 1).await;
    assert_eq!(first[0].jid(), suspect.as_str(), "this one takes care itself");
    hive.put("held").await;
    let (held, _) = take_now(&waiters, &busy).await;
    assert_eq!(held.len(), 1);
    hive.end(&other.worker, &first[0], End::Released).await;
    for name in ["a", "b"] {
        hive.put(name).await;
    }
    let (passed, blocked) = take_now(&waiters, &busy).await;
    assert_eq!((passed.len(), blocked), (1, Some(Blocked::Quarantine)));
    clock.advance_ms(11_000);
    assert_eq!(take_now(&waiters, &busy).await, (Vec::new(), Some(Blocked::Quarantine)));
    // Free of other jobs, it gets that one before the others.
    hive.end(&busy.worker, &held[0], completed("1")).await;
    hive.end(&busy.worker, &passed[0], completed("1")).await;
    let (alone, _) = take_now(&waiters, &busy).await;
    assert_eq!(alone.iter().map(Job::jid).collect::<Vec<_>>(), [suspect.as_str()]);
}
