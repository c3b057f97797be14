//! The sweep: expiry, lost locks, workers that are gone, and what must not stop it.

use keyrack_jobs::bee::{
    End, Failure, Job, Limits, Status, Submission, Verdict, WorkerInfo, WorkerTimeouts, keys,
};

use super::fixture::{
    Fixture, LOCK_MS, NOW, TIMEOUTS, TTL_MS, completed, everywhere, failed_for_good, jid,
};

#[tokio::test]
async fn a_worker_that_is_gone_loses_its_jobs() {
    everywhere(async |fixture| {
        a_silent_worker_loses_them_with_its_lock(&fixture.on("q1")).await;
        nodes_timing_gives_a_worker_four_locks(&fixture.on("q2")).await;
        a_worker_known_to_be_gone_loses_them_at_once(&fixture.on("q3")).await;
        a_job_that_loses_too_many_workers_fails_and_says_why(&fixture.on("q4")).await;
        a_worker_that_leaves_gives_them_back_first_in_line(&fixture.on("q5")).await;
        a_job_that_never_ran_alone_never_fails_for_lost_workers(&fixture.on("q6")).await;
        a_job_fails_if_its_worker_is_lost_while_it_runs_alone(&fixture.on("q7")).await;
    })
    .await;
}

async fn a_silent_worker_loses_them_with_its_lock(fixture: &Fixture) {
    fixture.put("quiet").await;
    fixture.claim_one().await;
    let talker = fixture.with_worker("w2");
    fixture.put("loud").await;
    talker.claim_one().await;
    fixture.clock.advance_ms(LOCK_MS - 1);
    assert_eq!(fixture.sweep().await.taken_away, 0);
    talker.heartbeat().await;
    fixture.clock.advance_ms(1);
    assert_eq!(fixture.sweep().await.taken_away, 1, "within 15 s of the last heartbeat");
    assert_eq!(fixture.status(&jid("quiet")).await, Status::Queued);
    assert_eq!(fixture.status(&jid("loud")).await, Status::Running);
    let stored = fixture.read(&jid("quiet")).await;
    assert_eq!((stored.retries(), stored.deaths()), (1, 1));
    let expected = ["submitted", "queued", "popped", "expiredLock", "queued"];
    assert_eq!(fixture.events_of(&jid("quiet")).await, expected);
    assert_eq!(stored.history()[3].more["old_worker"], fixture.worker.as_str());
    assert!(fixture.heartbeat().await.is_empty(), "it learns of that");
}

async fn nodes_timing_gives_a_worker_four_locks(fixture: &Fixture) {
    fixture.put("slow").await;
    fixture
        .hive
        .claim(&fixture.queue, &fixture.worker, 1, WorkerTimeouts::BEE.lock)
        .await
        .expect("claimed");
    let begun = fixture.now();
    while fixture.sweep_with(&WorkerTimeouts::BEE, &[]).await.taken_away == 0 {
        fixture.clock.advance_ms(1_000);
    }
    assert_eq!(fixture.now() - begun, 180_000);
}

async fn a_worker_known_to_be_gone_loses_them_at_once(fixture: &Fixture) {
    fixture.put("a").await;
    fixture.put("b").await;
    fixture.claim(2).await;
    fixture.heartbeat().await;
    let swept = fixture.sweep_with(&TIMEOUTS, std::slice::from_ref(&fixture.worker)).await;
    assert_eq!(swept.taken_away, 2);
    assert_eq!(fixture.in_queue(keys::queue).await, ["a", "b"]);
    assert!(!fixture.exists(&fixture.of_queue(keys::bees)).await, "nor is it listed");
}

async fn a_job_that_loses_too_many_workers_fails_and_says_why(fixture: &Fixture) {
    let jid = fixture.submit(fixture.job().retries(100)).await;
    for _ in 0..TIMEOUTS.deaths_max {
        fixture.claim_one().await;
        fixture.clock.advance_ms(LOCK_MS);
        fixture.sweep().await;
    }
    let stored = fixture.read(&jid).await;
    assert_eq!(stored.status(), Status::Failed);
    let reason = stored.failed_reason().expect("a reason");
    assert!(reason.starts_with("3 workers were lost while they ran this job"), "{reason}");
    assert!(reason.contains(fixture.worker.as_str()), "{reason}");
    assert_eq!(fixture.in_queue(keys::failed).await, [jid.as_str()]);
    fixture.hive.retry(&jid).await.expect("again");
    assert_eq!(fixture.read(&jid).await.deaths(), 0, "by hand it gets all its chances again");
}

/// A heartbeat of a worker that runs suspects alone.
pub(super) async fn isolates(fixture: &Fixture) {
    let info = WorkerInfo {
        started_at: NOW,
        concurrency: 10,
        lock_ms: LOCK_MS,
        listens: true,
        isolates: true,
        stop_ms: None,
        version: None,
    };
    let kept =
        fixture.hive.heartbeat(&fixture.queue, &fixture.worker, TIMEOUTS.lock, Some(&info)).await;
    kept.expect("a heartbeat");
}

/// Claims the only job, alone if told so, and loses the worker.
async fn lose_worker(fixture: &Fixture, is_alone: bool) {
    isolates(fixture).await;
    let job = fixture.claim_one().await;
    if is_alone {
        let noted = fixture.hive.runs_alone(&fixture.queue, &fixture.worker, &job).await;
        assert_eq!(noted.expect("noted"), Verdict::Ok);
    }
    fixture.sweep_with(&TIMEOUTS, std::slice::from_ref(&fixture.worker)).await;
    let late =
        fixture.hive.runs_alone(&fixture.queue, &fixture.worker, &job).await.expect("an answer");
    assert_eq!(late, Verdict::Lost, "it is not its job any more");
}

async fn a_job_that_never_ran_alone_never_fails_for_lost_workers(fixture: &Fixture) {
    let jid = fixture.submit(fixture.job().retries(2)).await;
    for _ in 0..10 {
        lose_worker(fixture, false).await;
    }
    let stored = fixture.read(&jid).await;
    assert_eq!((stored.status(), stored.deaths()), (Status::Queued, 2));
    assert_eq!(stored.retries(), 2, "beyond suspicion it costs nothing");
    let job = fixture.claim_one().await;
    assert!(TIMEOUTS.is_last_chance(job.deaths()));
    assert_eq!(fixture.settle(&job, completed("1")).await, Verdict::Ok);
}

async fn a_job_fails_if_its_worker_is_lost_while_it_runs_alone(fixture: &Fixture) {
    let jid = fixture.submit(fixture.job().retries(100)).await;
    lose_worker(fixture, true).await;
    lose_worker(fixture, true).await;
    lose_worker(fixture, false).await;
    let stored = fixture.read(&jid).await;
    assert_eq!((stored.status(), stored.deaths()), (Status::Queued, 2), "an old note says nothing");
    assert_eq!(fixture.fields(&jid).await["alone"], "2");
    lose_worker(fixture, true).await;
    let stored = fixture.read(&jid).await;
    assert_eq!((stored.status(), stored.deaths()), (Status::Failed, 3));
    let reason = stored.failed_reason().expect("a reason");
    assert!(reason.starts_with("3 workers were lost while they ran this job"), "{reason}");
    fixture.hive.retry(&jid).await.expect("again");
    assert!(!fixture.fields(&jid).await.contains_key("alone"));
}

async fn a_worker_that_leaves_gives_them_back_first_in_line(fixture: &Fixture) {
    for id in ["one", "two"] {
        fixture.put(id).await;
        fixture.clock.advance_ms(1_000);
    }
    let job = fixture.claim(1).await.remove(0);
    fixture.submit(fixture.job().id(jid("low")).priority(-5.0)).await;
    fixture.heartbeat().await;
    let given_back = fixture.hive.leave(&fixture.queue, &fixture.worker).await.expect("left");
    assert_eq!(given_back, ["one"]);
    let stored = fixture.read(&jid("one")).await;
    assert_eq!((stored.retries(), stored.deaths()), (0, 0), "it is nobody's fault");
    let next = fixture.claim(3).await;
    let order: Vec<&str> = next.iter().map(Job::jid).collect();
    assert_eq!(order, ["one", "two", "low"]);
    assert_ne!(next[0].attempts(), job.attempts());
    assert_eq!(fixture.settle(&next[2], End::Released).await, keyrack_jobs::bee::Verdict::Ok);
    fixture.clock.advance_ms(1);
    fixture.put("late").await;
    let order: Vec<String> = fixture.in_queue(keys::queue).await;
    assert_eq!(order[0], "low", "given back means first");
}

#[tokio::test]
async fn the_sweep_ends_what_is_over_and_is_stopped_by_nothing() {
    everywhere(async |fixture| {
        entries_whose_job_is_gone_are_taken_out(&fixture.on("q1")).await;
        a_job_that_came_back_to_life_does_not_expire(&fixture.on("q2")).await;
        no_more_results_are_kept_than_asked_for(&fixture.on("q3")).await;
        a_long_history_loses_its_middle_and_says_so(&fixture.on("q4")).await;
        failed_jobs_are_not_deleted_for_completed_ones(&fixture.on("q6")).await;
        a_job_that_node_failed_is_not_deleted_as_a_completed_one(&fixture.on("q8")).await;
        a_failed_job_is_kept_for_a_week_unless_it_or_its_queue_says_otherwise(&fixture.on("q7"))
            .await;
        tenants_are_put_right_after_workers_that_know_nothing_of_them(&fixture.on("q5")).await;
    })
    .await;
}

async fn entries_whose_job_is_gone_are_taken_out(fixture: &Fixture) {
    for key in [keys::expires, keys::locks, keys::failed] {
        fixture.ask::<()>("ZADD", &fixture.of_queue(key), &["1", "ghost"]).await;
    }
    fixture.run(fixture.job().id(jid("real")), completed("1")).await;
    fixture.put("held").await;
    fixture.claim_one().await;
    fixture.clock.advance_ms(TTL_MS);
    let swept = fixture.sweep().await;
    assert_eq!((swept.expired, swept.taken_away), (2, 1), "the ghost does not stop the others");
    for key in [keys::expires, keys::locks, keys::failed] {
        assert!(!fixture.exists(&fixture.of_queue(key)).await);
    }
}

/// Node believes a worker that ends a job late, while another has it already.
async fn a_job_that_came_back_to_life_does_not_expire(fixture: &Fixture) {
    fixture.put("alive").await;
    let job = fixture.claim_one().await;
    let now = fixture.now().to_string();
    fixture.ask::<()>("ZADD", &fixture.of_queue(keys::expires), &[&now, "alive"]).await;
    fixture.sweep().await;
    assert_eq!(fixture.status(&jid("alive")).await, Status::Running);
    fixture.settle(&job, completed("1")).await;
    assert_eq!(fixture.in_queue(keys::expires).await, ["alive"]);
}

async fn no_more_results_are_kept_than_asked_for(fixture: &Fixture) {
    for n in 0..5 {
        fixture.run(fixture.job().id(jid(&format!("r{n}"))), completed("1")).await;
        fixture.clock.advance_ms(1);
    }
    let timeouts = WorkerTimeouts { finished_max: 2, ..TIMEOUTS };
    assert_eq!(fixture.sweep_with(&timeouts, &[]).await.expired, 3);
    assert_eq!(fixture.in_queue(keys::expires).await, ["r3", "r4"], "the newest");
    let gone = jid("r0");
    assert!(!fixture.exists(&keys::job(&gone, &gone.group())).await, "at once");
    let stats = fixture.hive.stats(&fixture.queue).await.expect("stats");
    assert_eq!((stats.ended, stats.dropped), (2, 3), "it is told that some went early");
}

async fn failed_jobs_are_not_deleted_for_completed_ones(fixture: &Fixture) {
    for n in 0..3 {
        fixture.run(fixture.job().id(jid(&format!("f{n}"))), failed_for_good("no")).await;
        fixture.clock.advance_ms(1);
    }
    for n in 0..5 {
        fixture.run(fixture.job().id(jid(&format!("c{n}"))).ttl_ms(1), completed("1")).await;
    }
    for n in 0..5 {
        fixture
            .run(fixture.job().id(jid(&format!("d{n}"))).ttl_ms(86_400_000_000), completed("1"))
            .await;
    }
    let timeouts = WorkerTimeouts { finished_max: 3, ..TIMEOUTS };
    fixture.sweep_with(&timeouts, &[]).await;
    assert_eq!(fixture.in_queue(keys::failed).await, ["f0", "f1", "f2"]);
    assert_eq!(fixture.in_queue(keys::expires).await.len(), 6, "three of each kind");
    // What the queue says counts for all who sweep it.
    let limits =
        |completed_max, failed_max| Limits { completed_max, failed_max, ..Limits::default() };
    fixture.hive.set_limits(&fixture.queue, &limits(Some(1), Some(2))).await.expect("set");
    fixture.sweep_with(&timeouts, &[]).await;
    assert_eq!(fixture.in_queue(keys::failed).await, ["f1", "f2"], "the first to fail goes first");
    assert_eq!(fixture.in_queue(keys::expires).await.len(), 3);
    let zero = fixture.hive.set_limits(&fixture.queue, &limits(Some(0), None)).await;
    assert!(matches!(zero, Err(keyrack_jobs::Error::Invalid { field: "completed_max", .. })));
}

/// Node keeps no list of failed jobs, and results that fail there expire like any other.
async fn a_job_that_node_failed_is_not_deleted_as_a_completed_one(fixture: &Fixture) {
    let begun = fixture.now();
    let failed = fixture.run(fixture.job().failed_ttl_ms(0), failed_for_good("no")).await;
    fixture.ask::<u64>("ZREM", &fixture.of_queue(keys::failed), &[failed.as_str()]).await;
    fixture.clock.advance_ms(1);
    for id in ["c0", "c1"] {
        fixture.run(fixture.job().id(jid(id)), completed("1")).await;
        fixture.clock.advance_ms(1);
    }
    fixture.sweep_with(&WorkerTimeouts { finished_max: 1, ..TIMEOUTS }, &[]).await;
    assert_eq!(fixture.in_queue(keys::expires).await, [failed.as_str(), "c1"], "one of each kind");
    let listed = fixture.scores(&fixture.of_queue(keys::failed)).await;
    assert_eq!(listed, [(failed.to_string(), begun.to_string())], "as of when it failed");
}

async fn a_failed_job_is_kept_for_a_week_unless_it_or_its_queue_says_otherwise(fixture: &Fixture) {
    const DAY_MS: u64 = 86_400_000;
    let kept_for = async |id: &str, job: Submission| -> u64 {
        let begun = fixture.now();
        let jid = fixture.run(job.id(jid(id)), failed_for_good("no")).await;
        let until: f64 =
            fixture.ask("ZSCORE", &fixture.of_queue(keys::expires), &[jid.as_str()]).await;
        until as u64 - begun
    };
    assert_eq!(kept_for("a", fixture.job()).await, 7 * DAY_MS);
    assert_eq!(kept_for("b", fixture.job().failed_ttl_ms(DAY_MS)).await, DAY_MS);
    assert_eq!(kept_for("c", fixture.job().ttl_ms(5).failed_ttl_ms(0)).await, 5, "like a result");
    let limits = Limits { failed_ttl_ms: Some(2 * DAY_MS), ..Limits::default() };
    fixture.hive.set_limits(&fixture.queue, &limits).await.expect("set");
    assert_eq!(kept_for("d", fixture.job()).await, 2 * DAY_MS);
    assert_eq!(kept_for("e", fixture.job().failed_ttl_ms(DAY_MS)).await, DAY_MS, "the job's own");
    fixture.clock.advance_ms(DAY_MS);
    fixture.sweep().await;
    let kept = fixture.in_queue(keys::failed).await;
    assert_eq!(kept, ["a", "d"]);
    fixture.hive.retry(&jid("a")).await.expect("it can be found and run again");
}

async fn a_long_history_loses_its_middle_and_says_so(fixture: &Fixture) {
    let jid = fixture.submit(fixture.job().retries(1_000).retry_delay_ms(0.0, false)).await;
    let message = "x".repeat(200);
    let mut n_entries = 2;
    for _ in 0..150 {
        let job = fixture.claim_one().await;
        fixture.settle(&job, End::Failed(Failure::new(message.clone()))).await;
        n_entries += 4;
    }
    let job = fixture.claim_one().await;
    fixture.settle(&job, failed_for_good("enough")).await;
    n_entries += 3;
    let text = fixture.fields(&jid).await["history"].clone();
    assert!(text.len() < 40_000, "{} bytes", text.len());
    let history = fixture.read(&jid).await.history();
    let notes: Vec<usize> =
        (0..history.len()).filter(|at| history[*at].event == "trimmed").collect();
    assert_eq!(notes.len(), 1, "one note tells of all");
    let dropped = history[notes[0]].more["dropped"].as_u64().expect("a number");
    assert_eq!(history.len() as u64 - 1 + dropped, n_entries, "nothing else is missing");
    assert_eq!(history[0].event, "submitted", "the beginning stays");
    assert_eq!(history.last().expect("an end").event, "failed", "and the end");
    assert!(history.windows(2).all(|pair| pair[0].timestamp <= pair[1].timestamp) && NOW > 0);
    let huge = "y".repeat(8_000);
    let jid = fixture.submit(fixture.job().retries(100).retry_delay_ms(0.0, false)).await;
    for _ in 0..40 {
        let job = fixture.claim_one().await;
        fixture.settle(&job, End::Failed(Failure::new(huge.clone()))).await;
    }
    let text = fixture.fields(&jid).await["history"].clone();
    assert!(text.len() < 60_000, "a few long messages are too much as well: {}", text.len());
}

async fn tenants_are_put_right_after_workers_that_know_nothing_of_them(fixture: &Fixture) {
    let acme = keys::Tenant::new("acme").expect("a tenant");
    for id in ["a1", "a2"] {
        fixture.submit(fixture.job().id(jid(id)).tenant(acme.clone())).await;
    }
    // A Node worker takes the first and completes it.
    fixture.ask::<()>("ZREM", &fixture.of_queue(keys::queue), &["a1"]).await;
    let first = keys::job(&jid("a1"), &fixture.queue.group());
    fixture.ask::<()>("HSET", &first, &["status", "completed"]).await;
    assert!(fixture.claim(1).await.is_empty());
    fixture.sweep().await;
    assert_eq!(fixture.claim(1).await[0].jid(), "a2");
}
