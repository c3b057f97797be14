//! What limits the jobs of a queue, and how tenants share it.

use keyrack_jobs::{
    Error,
    bee::{
        Blocked, Claimed, End, Job, Limits, Rate, Status, Verdict, WorkerInfo,
        keys::{self, Tenant},
    },
};

use super::fixture::{Fixture, NOW, TIMEOUTS, completed, everywhere, jid};

async fn claim(fixture: &Fixture, max: usize) -> Claimed {
    fixture.hive.claim(&fixture.queue, &fixture.worker, max, TIMEOUTS.lock).await.expect("claimed")
}

async fn put_many(fixture: &Fixture, n: usize) {
    let jobs = (0..n).map(|_| fixture.job()).collect();
    fixture.hive.submit_many(jobs).await.expect("submitted");
}

async fn limit(fixture: &Fixture, limits: Limits) {
    fixture.hive.set_limits(&fixture.queue, &limits).await.expect("limits");
}

#[tokio::test]
async fn limits_of_a_queue_hold_for_all_its_workers() {
    everywhere(async |fixture| {
        a_paused_queue_starts_nothing_and_ends_what_runs(&fixture.on("q1")).await;
        no_more_run_at_once_than_may(&fixture.on("q2")).await;
        no_more_start_in_a_time_than_may(&fixture.on("q3")).await;
        limits_that_make_no_sense_are_refused(&fixture.on("q4")).await;
        a_canceled_job_counts_until_its_worker_has_stopped_it(&fixture.on("q5")).await;
    })
    .await;
}

async fn a_paused_queue_starts_nothing_and_ends_what_runs(fixture: &Fixture) {
    put_many(fixture, 2).await;
    let job = fixture.claim(1).await.remove(0);
    fixture.hive.pause(&fixture.queue).await.expect("paused");
    let nothing = claim(fixture, 10).await;
    assert_eq!((nothing.jobs.len(), nothing.blocked), (0, Some(Blocked::Paused)));
    assert_eq!(fixture.settle(&job, completed("1")).await, Verdict::Ok);
    put_many(fixture, 1).await;
    assert!(claim(fixture, 10).await.jobs.is_empty());
    fixture.hive.resume(&fixture.queue).await.expect("resumed");
    assert_eq!(claim(fixture, 10).await.jobs.len(), 2);
    assert!(!fixture.exists(&fixture.of_queue(keys::settings)).await, "nothing is set");
}

async fn no_more_run_at_once_than_may(fixture: &Fixture) {
    put_many(fixture, 6).await;
    limit(fixture, Limits { concurrency: Some(3), ..Limits::default() }).await;
    let first = claim(fixture, 2).await;
    assert_eq!((first.jobs.len(), first.blocked), (2, None));
    let other = fixture.with_worker("w2");
    let second = claim(&other, 10).await;
    assert_eq!((second.jobs.len(), second.blocked), (1, Some(Blocked::Concurrency)));
    let full = claim(fixture, 1).await;
    assert_eq!((full.jobs.len(), full.blocked), (0, Some(Blocked::Concurrency)));
    fixture.settle(&first.jobs[0], completed("1")).await;
    assert_eq!(claim(fixture, 10).await.jobs.len(), 1, "one for one");
    limit(fixture, Limits { concurrency: Some(1), ..Limits::default() }).await;
    fixture.settle(&first.jobs[1], completed("1")).await;
    assert!(claim(fixture, 10).await.jobs.is_empty(), "two are still too many");
    limit(fixture, Limits::default()).await;
    assert_eq!(claim(fixture, 10).await.jobs.len(), 2);
}

async fn a_canceled_job_counts_until_its_worker_has_stopped_it(fixture: &Fixture) {
    limit(fixture, Limits { concurrency: Some(1), ..Limits::default() }).await;
    put_many(fixture, 4).await;
    let info = WorkerInfo {
        started_at: NOW,
        concurrency: 1,
        lock_ms: 10_000,
        listens: false,
        isolates: false,
        stop_ms: Some(30_000),
        version: None,
    };
    let beat =
        fixture.hive.heartbeat(&fixture.queue, &fixture.worker, TIMEOUTS.lock, Some(&info)).await;
    beat.expect("alive");
    let first = claim(fixture, 1).await.jobs.remove(0);
    fixture.hive.cancel(&jid(first.jid())).await.expect("canceled");
    let until = fixture.now() + 30_000;
    let full = claim(fixture, 1).await;
    assert_eq!((full.jobs.len(), full.blocked), (0, Some(Blocked::Concurrency)));
    assert_eq!(full.again_at, Some(until), "when nobody waits for it any longer");
    assert_eq!(fixture.settle(&first, End::Released).await, Verdict::Canceled);
    let second = claim(fixture, 1).await.jobs.remove(0);

    fixture.hive.cancel(&jid(second.jid())).await.expect("canceled");
    fixture.clock.advance_ms(29_999);
    assert!(claim(fixture, 1).await.jobs.is_empty());
    fixture.clock.advance_ms(1);
    let third = claim(fixture, 1).await.jobs.remove(0);
    fixture.sweep().await;
    assert!(!fixture.exists(&fixture.of_queue(keys::stopping)).await);

    // A worker that has told nothing about itself is a Node worker: it does not stop.
    fixture.settle(&third, completed("1")).await;
    let node = fixture.with_worker("node");
    let fourth = claim(&node, 1).await.jobs.remove(0);
    fixture.hive.cancel(&jid(fourth.jid())).await.expect("canceled");
    put_many(fixture, 1).await;
    assert_eq!(claim(fixture, 1).await.jobs.len(), 1);
}

async fn no_more_start_in_a_time_than_may(fixture: &Fixture) {
    limit(fixture, Limits { rate: Some(Rate { max: 4, per_ms: 1_000 }), ..Limits::default() })
        .await;
    put_many(fixture, 20).await;
    let begun = fixture.now();
    assert_eq!(claim(fixture, 3).await.jobs.len(), 3);
    let rest = claim(fixture, 3).await;
    assert_eq!((rest.jobs.len(), rest.blocked), (1, Some(Blocked::Rate)));
    assert_eq!(rest.again_at, Some(begun + 1_000), "when the first is a second ago");
    fixture.clock.advance_ms(400);
    assert!(claim(fixture, 3).await.jobs.is_empty());
    fixture.clock.advance_ms(599);
    assert!(claim(fixture, 3).await.jobs.is_empty(), "999 ms after the first");
    fixture.clock.advance_ms(1);
    assert_eq!(claim(fixture, 3).await.jobs.len(), 3);
    fixture.clock.advance_ms(500);
    assert_eq!(claim(fixture, 3).await.jobs.len(), 1, "4 in any second");
    fixture.clock.advance_ms(500);
    let rest = claim(fixture, 10).await;
    assert_eq!((rest.jobs.len(), rest.again_at), (3, Some(fixture.now() + 500)));
    fixture.assert_expires_in(&fixture.of_queue(keys::rate), 1_001).await;
    fixture.clock.advance_ms(60_000);
    assert_eq!(claim(fixture, 10).await.jobs.len(), 4, "a long rest is not saved up");
}

async fn limits_that_make_no_sense_are_refused(fixture: &Fixture) {
    let zero_tenant = [("acme".to_owned(), 0)].into();
    for limits in [
        Limits { concurrency: Some(0), ..Limits::default() },
        Limits { tenant_concurrency: Some(0), ..Limits::default() },
        Limits { rate: Some(Rate { max: 0, per_ms: 1 }), ..Limits::default() },
        Limits { rate: Some(Rate { max: 1, per_ms: 0 }), ..Limits::default() },
        Limits { tenants: zero_tenant, ..Limits::default() },
        Limits { tenant_rate: Some(Rate { max: 0, per_ms: 1 }), ..Limits::default() },
        Limits { tenant_weights: [("acme".to_owned(), 0)].into(), ..Limits::default() },
        Limits { tenant_weights: [("acme".to_owned(), 101)].into(), ..Limits::default() },
        Limits { paused_tenants: [String::new()].into(), ..Limits::default() },
    ] {
        let refused = fixture.hive.set_limits(&fixture.queue, &limits).await;
        let is_named = matches!(refused, Err(Error::Invalid { .. } | Error::Name { .. }));
        assert!(is_named, "{limits:?}: {refused:?}");
    }
    assert!(!fixture.exists(&fixture.of_queue(keys::settings)).await);
}

#[tokio::test]
async fn tenants_take_turns_and_keep_to_their_limits() {
    everywhere(async |fixture| {
        a_busy_tenant_does_not_keep_others_waiting(&fixture.on("q1")).await;
        a_tenant_runs_no_more_than_it_may(&fixture.on("q2")).await;
        priorities_count_among_the_jobs_of_a_tenant(&fixture.on("q3")).await;
        a_job_given_back_is_its_tenants_next(&fixture.on("q4")).await;
        turns_go_by_weight(&fixture.on("q5")).await;
        a_paused_tenant_starts_nothing(&fixture.on("q6")).await;
        a_tenant_starts_no_more_than_its_rate_in_any_time(&fixture.on("q7")).await;
    })
    .await;
}

async fn put_for(fixture: &Fixture, tenant: &str, id: &str, priority: f64) {
    let tenant = Tenant::new(tenant).expect("a tenant");
    fixture.submit(fixture.job().id(jid(id)).tenant(tenant).priority(priority)).await;
}

fn ids(jobs: &[Job]) -> Vec<&str> {
    jobs.iter().map(Job::jid).collect()
}

async fn a_busy_tenant_does_not_keep_others_waiting(fixture: &Fixture) {
    for n in 1..=4 {
        put_for(fixture, "a", &format!("a{n}"), 0.0).await;
        fixture.clock.advance_ms(1);
    }
    for n in 1..=2 {
        put_for(fixture, "b", &format!("b{n}"), 0.0).await;
        fixture.clock.advance_ms(1);
    }
    fixture.put("nobodys").await;
    let order = fixture.claim(100).await;
    assert_eq!(ids(&order), ["a1", "b1", "nobodys", "a2", "b2", "a3", "a4"], "in one claim");
}

async fn a_tenant_runs_no_more_than_it_may(fixture: &Fixture) {
    let tenants = [("big".to_owned(), 3)].into();
    limit(fixture, Limits { tenant_concurrency: Some(1), tenants, ..Limits::default() }).await;
    for (tenant, n) in [("big", 5), ("small", 3)] {
        for n in 1..=n {
            put_for(fixture, tenant, &format!("{tenant}{n}"), 0.0).await;
        }
    }
    let running = fixture.claim(100).await;
    let of =
        |jobs: &[Job], tenant: &str| jobs.iter().filter(|job| job.tenant() == Some(tenant)).count();
    assert_eq!((of(&running, "big"), of(&running, "small")), (3, 1));
    assert!(fixture.claim(100).await.is_empty());
    let small = running.iter().find(|job| job.tenant() == Some("small")).expect("one");
    fixture.settle(small, completed("1")).await;
    assert_eq!(ids(&fixture.claim(100).await), ["small2"]);
    limit(fixture, Limits { tenant_concurrency: Some(2), ..Limits::default() }).await;
    assert_eq!(ids(&fixture.claim(100).await), ["small3"], "a raised limit counts at once");
    fixture.clock.advance_ms(TIMEOUTS.lock.as_millis() as u64);
    assert_eq!(fixture.sweep().await.taken_away, 5, "the dead do not count");
    let again = fixture.claim(100).await;
    assert_eq!((of(&again, "big"), of(&again, "small")), (2, 2));
}

async fn turns_go_by_weight(fixture: &Fixture) {
    let tenant_weights = [("heavy".to_owned(), 3)].into();
    limit(fixture, Limits { tenant_weights, ..Limits::default() }).await;
    for n in 0..60 {
        for tenant in ["heavy", "light"] {
            put_for(fixture, tenant, &format!("{tenant}{n}"), 0.0).await;
        }
        fixture.clock.advance_ms(1);
    }
    let mut turns = Vec::new();
    for _ in 0..40 {
        let job = fixture.claim(1).await.remove(0);
        turns.push(job.tenant().expect("a tenant").to_owned());
        fixture.settle(&job, completed("1")).await;
        fixture.clock.advance_ms(1);
    }
    // The first turns are from before the queue had filled.
    for turns in turns[4..].chunks(4) {
        let heavy = turns.iter().filter(|tenant| *tenant == "heavy").count();
        assert_eq!(heavy, 3, "three of four turns: {turns:?}");
    }
}

async fn a_paused_tenant_starts_nothing(fixture: &Fixture) {
    for tenant in ["x", "y"] {
        put_for(fixture, tenant, &format!("{tenant}1"), 0.0).await;
        put_for(fixture, tenant, &format!("{tenant}2"), 0.0).await;
    }
    let paused_tenants = ["x".to_owned()].into();
    limit(fixture, Limits { paused_tenants, ..Limits::default() }).await;
    assert_eq!(ids(&fixture.claim(10).await), ["y1", "y2"], "also what stood in the queue waits");
    put_for(fixture, "x", "x3", 10.0).await;
    assert!(fixture.claim(10).await.is_empty());
    let why = fixture.hive.why(&jid("x1")).await.expect("why");
    assert!(why.explanation.contains("its tenant \"x\" is paused"), "{}", why.explanation);
    limit(fixture, Limits::default()).await;
    let mut jobs = fixture.claim(10).await;
    jobs.sort_by(|a, b| a.jid().cmp(b.jid()));
    assert_eq!(ids(&jobs), ["x1", "x2", "x3"]);
}

async fn a_tenant_starts_no_more_than_its_rate_in_any_time(fixture: &Fixture) {
    let tenant_rates = [("fast".to_owned(), Rate { max: 4, per_ms: 1_000 })].into();
    let tenant_rate = Some(Rate { max: 2, per_ms: 1_000 });
    limit(fixture, Limits { tenant_rate, tenant_rates, ..Limits::default() }).await;
    for n in 0..6 {
        put_for(fixture, "slow", &format!("slow{n}"), 0.0).await;
        put_for(fixture, "fast", &format!("fast{n}"), 0.0).await;
    }
    // Equal scores go by id, and a tenant's is to be the first.
    fixture.clock.advance_ms(1);
    fixture.put("nobodys-either").await;
    let of = |jobs: &[Job], tenant| jobs.iter().filter(|job| job.tenant() == Some(tenant)).count();
    let first = claim(fixture, 1).await.jobs;
    fixture.clock.advance_ms(400);
    let more = claim(fixture, 100).await;
    let n_slow = of(&first, "slow") + of(&more.jobs, "slow");
    let n_fast = of(&first, "fast") + of(&more.jobs, "fast");
    assert_eq!((n_slow, n_fast, first.len() + more.jobs.len()), (2, 4, 7));
    assert_eq!(more.again_at, Some(fixture.now() + 600), "when the first may start its next");
    let why = fixture.hive.why(&jid("slow5")).await.expect("why");
    let told = "2 of its tenant \"slow\" may start in 1 s and have; the next may in";
    assert!(why.explanation.contains(told), "{}", why.explanation);
    fixture.clock.advance_ms(599);
    assert!(claim(fixture, 100).await.jobs.is_empty(), "999 ms after the first");
    fixture.clock.advance_ms(1);
    assert_eq!(claim(fixture, 100).await.jobs.len(), 1, "one start is over");
    fixture.clock.advance_ms(400);
    assert_eq!(claim(fixture, 100).await.jobs.len(), 3, "and those after it");
    fixture.clock.advance_ms(60_000);
    assert_eq!(claim(fixture, 100).await.jobs.len(), 2, "the last ones");
}

async fn priorities_count_among_the_jobs_of_a_tenant(fixture: &Fixture) {
    for (id, priority) in [("p1", 0.0), ("p2", 0.0), ("p3", 0.0), ("p4", 10.0)] {
        put_for(fixture, "p", id, priority).await;
        fixture.clock.advance_ms(10);
    }
    let mut order = Vec::new();
    while let Some(job) = fixture.claim(1).await.pop() {
        order.push(job.jid().to_owned());
    }
    assert_eq!(order, ["p1", "p4", "p2", "p3"], "before the first that waits");
}

async fn a_job_given_back_is_its_tenants_next(fixture: &Fixture) {
    limit(fixture, Limits { tenant_concurrency: Some(1), ..Limits::default() }).await;
    for id in ["g1", "g2"] {
        put_for(fixture, "g", id, 0.0).await;
        fixture.clock.advance_ms(10);
    }
    put_for(fixture, "other", "h1", 0.0).await;
    let job = fixture.claim(1).await.remove(0);
    assert_eq!(fixture.settle(&job, End::Released).await, Verdict::Ok);
    assert_eq!(fixture.in_queue(keys::queue).await, ["g1", "h1"], "first again");
    assert_eq!(fixture.status(&jid("g2")).await, Status::New);
    assert_eq!(ids(&fixture.claim(10).await), ["g1", "h1"]);
}

/// In no stretch of the limit's time do more jobs start than it says, and hardly fewer could.
#[tokio::test]
async fn a_rate_lets_no_more_jobs_start_in_any_stretch_of_its_time() {
    use keyrack_testkit::simulated_store;
    for (max, per_ms) in
        [(1, 100), (4, 1_000), (3, 1_000), (10, 5_000), (7, 60_000), (100, 1_000), (20, 7_777)]
    {
        let (store, clock) = simulated_store(NOW, 1).await;
        let hive = keyrack_jobs::bee::Hive::named(store, "host:1:hive");
        let queue = super::fixture::queue("emails");
        let worker = hive.new_worker(&queue).expect("a worker");
        let rate = Limits { rate: Some(Rate { max, per_ms }), ..Limits::default() };
        hive.set_limits(&queue, &rate).await.expect("limits");
        let n_jobs = max as usize * 6;
        let jobs = (0..n_jobs).map(|_| keyrack_jobs::bee::Submission::to(queue.clone()));
        hive.submit_many(jobs.collect()).await.expect("submitted");
        let mut starts: Vec<u64> = Vec::new();
        // As a worker does: whenever it is told to ask again. The first jobs come over some time.
        while starts.len() < n_jobs {
            let claimed = hive.claim(&queue, &worker, 2, TIMEOUTS.lock).await.expect("claimed");
            starts.extend(claimed.jobs.iter().map(|_| clock.now_ms() - NOW));
            match claimed.again_at {
                Some(again_at) => {
                    assert!(again_at > clock.now_ms(), "it never asks in vain");
                    clock.advance_ms(again_at - clock.now_ms());
                }
                None if starts.len() < max as usize => clock.advance_ms(per_ms / max / 3),
                None => {}
            }
        }
        for (earlier, later) in starts.iter().zip(&starts[max as usize..]) {
            let apart = later - earlier;
            assert!(apart >= per_ms, "{max} in {per_ms} ms: {apart} ms from the first to one more");
        }
        let took = starts.last().expect("starts") - starts[0];
        assert!(took <= 6 * (per_ms + per_ms.div_ceil(500)), "{max} in {per_ms} ms took {took} ms");
    }
}
