//! Claiming: how many, in which order, and what does not belong there.

use std::time::Duration;

use keyrack_jobs::bee::{Blocked, Job, Status, Verdict, keys};

use super::fixture::{Fixture, LOCK_MS, NOW, TIMEOUTS, completed, everywhere, jid};

#[tokio::test]
async fn a_worker_has_some_seconds_to_hear_of_a_job_before_it_is_given_back() {
    everywhere(async |fixture| {
        let (heard_of, unheard_of) = (fixture.put("a").await, fixture.put("b").await);
        fixture.claim(10).await;
        let holding = [heard_of.to_string()];
        let beat = async |lock: Duration| {
            let kept = fixture
                .hive
                .heartbeat_holding(&fixture.queue, &fixture.worker, lock, &holding)
                .await;
            let mut kept: Vec<String> = kept.expect("alive").into_iter().collect();
            kept.sort();
            kept
        };
        for _ in 0..5 {
            assert_eq!(beat(TIMEOUTS.lock).await, ["a", "b"], "the answer may be under way");
            fixture.clock.advance_ms(999);
        }
        assert_eq!(beat(TIMEOUTS.lock).await, ["a", "b"]);
        fixture.clock.advance_ms(5);
        assert_eq!(beat(TIMEOUTS.lock).await, ["a"]);
        assert_eq!(fixture.status(&unheard_of).await, Status::Queued);
        assert_eq!(
            fixture.events_of(&unheard_of).await.last().map(String::as_str),
            Some("released")
        );

        let again = fixture.claim_one().await;
        fixture.clock.advance_ms(999);
        assert_eq!(beat(Duration::from_secs(2)).await, ["a", "b"]);
        fixture.clock.advance_ms(1);
        assert_eq!(beat(Duration::from_secs(2)).await, ["a"], "half of a short lock");
        assert_eq!(fixture.settle(&again, completed("1")).await, Verdict::Lost);
    })
    .await;
}

#[tokio::test]
async fn a_heartbeat_shortens_no_lock() {
    everywhere(async |fixture| {
        fixture.put("a").await;
        let hour = Duration::from_secs(3_600);
        fixture.hive.claim(&fixture.queue, &fixture.worker, 1, hour).await.expect("claimed");
        let until = (fixture.now() + 3_600_000).to_string();
        fixture.clock.advance_ms(1_000);
        fixture.heartbeat().await;
        assert_eq!(fixture.scores(&fixture.of_queue(keys::locks)).await, [("a".to_owned(), until)]);
        fixture.clock.advance_ms(3_595_000);
        fixture.heartbeat().await;
        let until = (fixture.now() + LOCK_MS).to_string();
        assert_eq!(fixture.scores(&fixture.of_queue(keys::locks)).await, [("a".to_owned(), until)]);
    })
    .await;
}

#[tokio::test]
async fn a_claim_brings_what_is_due_and_no_more_than_its_share() {
    everywhere(async |fixture| {
        due_jobs_come_in_by_the_time_of_the_claim(&fixture.on("q1")).await;
        workers_share_what_waits(&fixture.on("q2")).await;
        a_full_share_of_nothing_is_nothing_to_ask_for_again(&fixture.on("q3")).await;
        entries_without_a_job_are_dropped(&fixture.on("q4")).await;
        a_large_claim_is_one_call(&fixture.on("q5")).await;
        a_claim_says_when_the_next_job_is_due(&fixture.on("q6")).await;
    })
    .await;
}

async fn due_jobs_come_in_by_the_time_of_the_claim(fixture: &Fixture) {
    fixture.submit(fixture.job().id(jid("due")).delay_ms(1_000.0)).await;
    fixture.clock.advance_ms(1_500);
    fixture.put("put").await;
    fixture.clock.advance_ms(500);
    let jobs = fixture.claim(10).await;
    assert_eq!(jobs.iter().map(Job::jid).collect::<Vec<_>>(), ["put", "due"]);
    let history = jobs[1].history();
    let queued = history.iter().find(|entry| entry.event == "queued").expect("it was queued");
    assert_eq!(queued.timestamp as u64, fixture.now());
}

async fn workers_share_what_waits(fixture: &Fixture) {
    for n in 0..7 {
        fixture.put(&format!("s{n}")).await;
    }
    let others = [fixture.with_worker("w2"), fixture.with_worker("w3")];
    for worker in [fixture, &others[0], &others[1]] {
        worker.heartbeat().await;
    }
    let claimed = fixture
        .hive
        .claim(&fixture.queue, &fixture.worker, 100, TIMEOUTS.lock)
        .await
        .expect("claimed");
    assert_eq!((claimed.jobs.len(), claimed.blocked), (3, Some(Blocked::Share)), "7 for 3");
    assert_eq!(claimed.again_at, Some(fixture.now() + 250));
    fixture.clock.advance_ms(30_000);
    others[0].heartbeat().await;
    assert_eq!(others[0].claim(100).await.len(), 2, "4 for 2: 30 s of silence still count");
    fixture.clock.advance_ms(1);
    assert_eq!(others[0].claim(100).await.len(), 2, "all, when nobody else is there");
}

async fn a_full_share_of_nothing_is_nothing_to_ask_for_again(fixture: &Fixture) {
    fixture.heartbeat().await;
    fixture.with_worker("w2").heartbeat().await;
    let claimed = fixture
        .hive
        .claim(&fixture.queue, &fixture.worker, 10, TIMEOUTS.lock)
        .await
        .expect("claimed");
    assert_eq!((claimed.blocked, claimed.again_at), (None, None), "an idle worker sleeps");
    fixture.put("only").await;
    let claimed = fixture
        .hive
        .claim(&fixture.queue, &fixture.worker, 10, TIMEOUTS.lock)
        .await
        .expect("claimed");
    assert_eq!((claimed.jobs.len(), claimed.blocked, claimed.again_at), (1, None, None));
}

async fn entries_without_a_job_are_dropped(fixture: &Fixture) {
    let now = fixture.now().to_string();
    fixture
        .ask::<()>("ZADD", &fixture.of_queue(keys::queue), &["1", "ghost", &now, "ghost2"])
        .await;
    fixture.ask::<()>("ZADD", &fixture.of_queue(keys::delayed), &["1", "ghost3"]).await;
    fixture.put("real").await;
    assert_eq!(fixture.claim(1).await[0].jid(), "real");
    assert!(!fixture.exists(&fixture.of_queue(keys::queue)).await);
    assert!(!fixture.exists(&fixture.of_queue(keys::delayed)).await);
    let ghost = jid("ghost");
    assert!(!fixture.exists(&keys::job(&ghost, &ghost.group())).await, "and leave no junk");
    assert_eq!(fixture.in_queue(keys::locks).await, ["real"]);
}

async fn a_large_claim_is_one_call(fixture: &Fixture) {
    let jobs = (0..2_500).map(|n| fixture.job().id(jid(&format!("l{n:04}")))).collect();
    fixture.hive.submit_many(jobs).await.expect("submitted");
    let claimed = fixture.claim(5_000).await;
    assert_eq!(claimed.len(), 2_500);
    assert!(claimed.iter().all(|job| job.status() == Status::Running && job.attempts() == 1));
    assert!(claimed.windows(2).all(|pair| pair[0].jid() < pair[1].jid()), "first to run first");
}

async fn a_claim_says_when_the_next_job_is_due(fixture: &Fixture) {
    fixture.submit(fixture.job().delay_ms(7_000.0)).await;
    let due = fixture.now() + 7_000;
    let claimed = fixture
        .hive
        .claim(&fixture.queue, &fixture.worker, 1, TIMEOUTS.lock)
        .await
        .expect("claimed");
    assert_eq!((claimed.jobs.len(), claimed.again_at), (0, Some(due)));
    assert!(NOW < due);
}

#[tokio::test]
async fn one_call_settles_a_batch_and_claims_the_next() {
    everywhere(async |fixture| {
        use keyrack_jobs::bee::{Outcome, Verdict};
        let jobs = (0..6).map(|n| fixture.job().id(jid(&format!("b{n}")))).collect();
        fixture.hive.submit_many(jobs).await.expect("submitted");
        let first = fixture.claim(4).await;
        let late = fixture.with_worker("w2");
        let outcomes: Vec<Outcome> =
            first.iter().map(|job| Outcome::of(job, completed("1"))).collect();
        let lock = Duration::from_secs(5);
        let stolen = fixture.hive.settle(&fixture.queue, &late.worker, &outcomes, 0, lock).await;
        assert_eq!(stolen.expect("settled").verdicts, [Verdict::Lost; 4], "of another worker");
        fixture.hive.cancel(&jid("b1")).await.expect("canceled");
        let settled =
            fixture.hive.settle(&fixture.queue, &fixture.worker, &outcomes, 4, lock).await;
        let settled = settled.expect("settled");
        let verdicts = [Verdict::Ok, Verdict::Canceled, Verdict::Ok, Verdict::Ok];
        assert_eq!(settled.verdicts, verdicts);
        let next: Vec<&str> = settled.claimed.jobs.iter().map(Job::jid).collect();
        assert_eq!(next, ["b4", "b5"]);
        let until = (fixture.now() + 5_000).to_string();
        let locks = fixture.scores(&fixture.of_queue(keys::locks)).await;
        assert_eq!(locks, [("b4".to_owned(), until.clone()), ("b5".to_owned(), until)]);
        let unknown = Outcome { jid: "nobody".into(), ..outcomes[0].clone() };
        let settled =
            fixture.hive.settle(&fixture.queue, &fixture.worker, &[unknown], 0, lock).await;
        assert_eq!(settled.expect("settled").verdicts, [Verdict::Gone]);
    })
    .await;
}
