use keyrack_testkit::on_every_store;

use super::*;
use crate::bee::{
    End, Failure, Limits, Submission, WorkerTimeouts,
    keys::Tenant,
    queue::Rate,
    test_support::{NOW, completed, queue, simulated_hive},
};

fn job(status: &str, tenant: Option<&str>) -> Job {
    let snapshot =
        serde_json::json!({"jid": "j", "queue": "q", "status": status, "tenant": tenant});
    Job::from_snapshot(&snapshot).expect("a job")
}

/// A queue in which one worker starts a job each second.
fn facts() -> Facts {
    Facts { workers: 1, started: 300, started_ms: 300_000.0, rank: Some(0), ..Facts::default() }
}

#[track_caller]
fn check(status: &str, facts: Facts, expected: &str, wait_ms: Option<u64>) {
    let why = Why::of(&job(status, facts.tenant_rank.map(|_| "acme")), &facts, NOW);
    assert_eq!(why.explanation, expected);
    assert_eq!(why.estimate_start_ms, wait_ms.map(|wait| NOW + wait), "{}", why.explanation);
}

#[test]
fn a_job_with_nothing_in_its_way_starts_now() {
    check("queued", facts(), "it is first in the queue and the next free worker takes it", Some(0));
}

#[test]
fn the_place_in_the_queue_and_the_pace_give_the_time() {
    let second = Facts { rank: Some(1), ..facts() };
    check("queued", second, "1 job ahead of it; it is likely to start in 1 s", Some(1000));
    let far = Facts { rank: Some(120), ..facts() };
    check("queued", far, "120 jobs ahead of it; it is likely to start in 2 min", Some(120_000));
    let fresh = Facts { rank: Some(10), started: 0, started_ms: 0.0, ..facts() };
    check("queued", fresh, "10 jobs ahead of it; start time unknown", None);
    let sudden = Facts { rank: Some(10), started: 5, started_ms: 1.0, ..facts() };
    check("queued", sudden, "10 jobs ahead of it; it is likely to start in 2 s", Some(2000));
}

#[test]
fn a_pause_and_missing_workers_have_no_end_that_could_be_told() {
    let paused = Facts { paused: true, ..facts() };
    check("queued", paused, "the queue is paused; start time unknown", None);
    let alone = Facts { workers: 0, rank: Some(3), ..facts() };
    let expected = "no worker of the queue is alive; 3 jobs ahead of it; start time unknown";
    check("queued", alone, expected, None);
}

#[test]
fn limits_are_told_with_their_numbers() {
    let full = Facts { concurrency: Some(5), running: 5, rank: Some(2), ..facts() };
    let expected = "5 jobs of the queue run and 5 may at once; 2 jobs ahead of it; it is likely to start in 4 s";
    check("queued", full, expected, Some(3051));
    let room = Facts { concurrency: Some(5), running: 4, ..facts() };
    check("queued", room, "it is first in the queue and the next free worker takes it", Some(0));

    let rate = Facts {
        rate_max: Some(10),
        rate_ms: Some(60_000),
        rate_allows: Some(0.0),
        rate_again_at: Some(NOW as f64 + 2500.0),
        rank: Some(1),
        ..facts()
    };
    let expected = "10 may start in 1 min and have; the next may in 3 s; 1 job ahead of it; \
                    it is likely to start in 9 s";
    check("queued", rate.clone(), expected, Some(8500));
    let unused = Facts { rate_allows: Some(10.0), rate_again_at: Some(NOW as f64), ..rate };
    check("queued", unused, "1 job ahead of it; it is likely to start in 1 s", Some(1000));
}

#[test]
fn jobs_that_have_just_started_are_no_pace() {
    // Ten workers took a job each a moment ago; when the first will be through is not known.
    let begun = Facts { rank: Some(90), started: 10, running: 10, started_ms: 50.0, ..facts() };
    check("queued", begun, "90 jobs ahead of it; start time unknown", None);
    let limited = Facts {
        rank: Some(10_000),
        started: 20,
        started_ms: 6_000.0,
        rate_max: Some(10),
        rate_ms: Some(5_000),
        rate_allows: Some(0.0),
        rate_again_at: Some(NOW as f64),
        ..facts()
    };
    let why = Why::of(&job("queued", None), &limited, NOW);
    assert_eq!(why.estimate_start_ms, Some(NOW + 5_000_000), "1.4 hours at two a second");
}

#[test]
fn delays_end_at_their_time_or_later_when_much_is_queued() {
    let due = Some(NOW as f64 + 30_000.0);
    let delayed = Facts { rank: None, due, ..facts() };
    let expected = "it is not due for another 30 s; it is likely to start in 30 s";
    check("new", delayed.clone(), expected, Some(30_000));
    let expected = "it failed and is tried again in 30 s; it is likely to start in 30 s";
    check("retried", delayed.clone(), expected, Some(30_000));
    let busy = Facts { queued: 100, ..delayed };
    let expected = "it is not due for another 30 s; it is likely to start in 2 min";
    check("new", busy, expected, Some(100_000));
}

#[test]
fn dependencies_are_named() {
    let waits_for = |n: u64| {
        let job = |n| Dependency { jid: format!("d{n}"), status: "running".into() };
        (0..n.min(2)).map(job).collect::<Vec<_>>()
    };
    let one = Facts { rank: None, dependencies: 1, waits_for: waits_for(1), ..facts() };
    let expected = "it waits for 1 job: \"d0\" (running); start time unknown";
    check("new", one, expected, None);
    let many = Facts { rank: None, dependencies: 5, waits_for: waits_for(5), ..facts() };
    let expected = "it waits for 5 jobs: \"d0\" (running), \"d1\" (running) and 3 more; \
                    start time unknown";
    check("new", many, expected, None);
}

#[test]
fn tenants_wait_for_their_turn_or_for_their_limit() {
    let turn = Facts { rank: None, queued: 3, tenants: 3, tenant_rank: Some(1), ..facts() };
    let expected = "2 other jobs of its tenant \"acme\" come first; it is likely to start in 6 s";
    check("new", turn.clone(), expected, Some(6000));
    let full = Facts { tenant_concurrency: Some(2), tenant_running: 2, ..turn };
    let expected =
        "2 jobs of its tenant \"acme\" run and 2 may at once; it is likely to start in 7 s";
    check("new", full, expected, Some(7000));
}

#[test]
fn jobs_that_do_not_wait_are_told_so() {
    let why = |status| Why::of(&job(status, None), &facts(), NOW);
    for (status, expected) in [
        ("running", "it runs on \"\", attempt 1"),
        ("completed", "it has ended: completed"),
        ("canceled", "it has ended: canceled"),
        ("failed", "it has failed: no reason given; retry it to run it again"),
        ("duplicate", "it is a duplicate of \"\", whose outcome counts"),
    ] {
        let why = why(status);
        assert_eq!(why.explanation, expected);
        assert_eq!((why.reasons.len(), why.position, why.estimate_start_ms), (0, None, None));
    }
}

/// The words of a job's reasons.
async fn reasons(hive: &Hive, jid: &Jid) -> Vec<String> {
    let why = hive.why(jid).await.expect("told");
    let json = serde_json::to_value(&why.reasons).expect("JSON");
    let list = json.as_array().expect("a list").iter();
    list.map(|reason| reason["reason"].as_str().expect("a word").to_owned()).collect()
}

#[tokio::test]
async fn the_facts_are_those_of_the_queue() {
    on_every_store(async |store| {
        let hive = Hive::open(store).await.expect("a hive");
        let worker = hive.worker();
        let first = hive.put("a").await;
        assert_eq!(reasons(&hive, &first).await, ["no_workers"]);
        hive.heartbeat(&queue(), &worker, WorkerTimeouts::KEYRACK.lock, None).await.expect("alive");
        assert_eq!(reasons(&hive, &first).await, [""; 0]);

        let second = hive.put("b").await;
        let why = hive.why(&second).await.expect("told");
        assert_eq!((why.position, why.ahead), (Some(2), Some(1)));
        assert_eq!(why.reasons, [Reason::Position { ahead: 1 }]);
        let third = Submission::to(queue()).after(first.clone()).delay_ms(60_000.0);
        let third = hive.submit(third).await.expect("submitted");
        let waits_for = Dependency { jid: first.to_string(), status: "queued".into() };
        let expected = Reason::Dependencies { count: 1, jobs: vec![waits_for] };
        assert_eq!(hive.why(&third).await.expect("told").reasons, [expected]);

        hive.pause(&queue()).await.expect("paused");
        assert_eq!(reasons(&hive, &second).await, ["paused", "position"]);
        hive.resume(&queue()).await.expect("resumed");
        let rate = Some(Rate { max: 1, per_ms: 60_000 });
        let limits = Limits { concurrency: Some(1), rate, ..Limits::default() };
        hive.set_limits(&queue(), &limits).await.expect("set");
        let job = hive.take(&worker, 1).await.remove(0);
        assert_eq!(reasons(&hive, &second).await, ["concurrency", "rate"]);
        assert_eq!(hive.why(&first).await.expect("told").status, Status::Running);
        hive.end(&worker, &job, End::Failed(Failure::new("try again"))).await;
        assert_eq!(reasons(&hive, &first).await, ["delay", "rate"]);
        hive.cancel(&first).await.expect("canceled");
        assert_eq!(reasons(&hive, &third).await, ["delay", "rate"]);

        let nobody = Jid::new("nobody").expect("an id");
        let refused = hive.why(&nobody).await;
        assert!(matches!(refused, Err(Error::NoSuchJob { .. })), "{refused:?}");
    })
    .await;
}

#[tokio::test]
async fn the_estimate_follows_the_starts_of_the_last_minutes() {
    let (hive, clock) = simulated_hive().await;
    let worker = hive.worker();
    let mut last = hive.put("a").await;
    for _ in 0..199 {
        last = hive.put("a").await;
    }
    // Two jobs a second for a minute.
    for _ in 0..60 {
        for job in hive.take(&worker, 2).await {
            hive.end(&worker, &job, completed("1")).await;
        }
        clock.advance_ms(1000);
    }
    hive.heartbeat(&queue(), &worker, WorkerTimeouts::KEYRACK.lock, None).await.expect("alive");
    let why = hive.why(&last).await.expect("told");
    assert_eq!(why.ahead, Some(79));
    let wait = why.estimate_start_ms.expect("an estimate") - hive.now_ms();
    assert!(
        (35_000..=80_000).contains(&wait),
        "{wait} ms for 79 jobs, of which 2 start each second"
    );
}

#[tokio::test]
async fn a_parked_job_is_told_of_its_tenant() {
    let (hive, _clock) = simulated_hive().await;
    let worker = hive.worker();
    hive.heartbeat(&queue(), &worker, WorkerTimeouts::KEYRACK.lock, None).await.expect("alive");
    let limits = Limits { tenant_concurrency: Some(1), ..Limits::default() };
    hive.set_limits(&queue(), &limits).await.expect("set");
    let tenant = Tenant::new("ac:me").expect("a tenant");
    let mut jids = Vec::new();
    for _ in 0..3 {
        let job = Submission::to(queue()).tenant(tenant.clone());
        jids.push(hive.submit(job).await.expect("submitted"));
    }
    let turn = |ahead| Reason::TenantTurn { tenant: "ac:me".into(), ahead };
    assert_eq!(hive.why(&jids[1]).await.expect("told").reasons, [turn(1)]);
    assert_eq!(hive.why(&jids[2]).await.expect("told").reasons, [turn(2)]);
    hive.take(&worker, 1).await;
    let limit = Reason::TenantLimit { tenant: "ac:me".into(), limit: 1, running: 1 };
    assert_eq!(hive.why(&jids[1]).await.expect("told").reasons, [limit]);
}
