//! Claiming: how many, in which order, and what does not belong there.

use std::time::Duration;

use keyrack_jobs::bee::{Blocked, Job, Status, Verdict, keys};

use super::rig::{CARE, LOCK_MS, NOW, Rig, completed, everywhere, jid};

#[tokio::test]
async fn a_worker_has_some_seconds_to_hear_of_a_job_before_it_is_given_back() {
    everywhere(async |rig| {
        let (heard_of, unheard_of) = (rig.put("a").await, rig.put("b").await);
        rig.claim(10).await;
        let holding = [heard_of.to_string()];
        let beat = async |lock: Duration| {
            let kept = rig.hive.heartbeat_holding(&rig.queue, &rig.worker, lock, &holding).await;
            let mut kept: Vec<String> = kept.expect("alive").into_iter().collect();
            kept.sort();
            kept
        };
        for _ in 0..5 {
            assert_eq!(beat(CARE.lock).await, ["a", "b"], "the answer may be under way");
            rig.clock.advance_ms(999);
        }
        assert_eq!(beat(CARE.lock).await, ["a", "b"]);
        rig.clock.advance_ms(5);
        assert_eq!(beat(CARE.lock).await, ["a"]);
        assert_eq!(rig.status(&unheard_of).await, Status::Queued);
        assert_eq!(rig.events_of(&unheard_of).await.last().map(String::as_str), Some("released"));

        let again = rig.claim_one().await;
        rig.clock.advance_ms(999);
        assert_eq!(beat(Duration::from_secs(2)).await, ["a", "b"]);
        rig.clock.advance_ms(1);
        assert_eq!(beat(Duration::from_secs(2)).await, ["a"], "half of a short lock");
        assert_eq!(rig.settle(&again, completed("1")).await, Verdict::Lost);
    })
    .await;
}

#[tokio::test]
async fn a_heartbeat_shortens_no_lock() {
    everywhere(async |rig| {
        rig.put("a").await;
        let hour = Duration::from_secs(3_600);
        rig.hive.claim(&rig.queue, &rig.worker, 1, hour).await.expect("claimed");
        let until = (rig.now() + 3_600_000).to_string();
        rig.clock.advance_ms(1_000);
        rig.heartbeat().await;
        assert_eq!(rig.scores(&rig.of_queue(keys::locks)).await, [("a".to_owned(), until)]);
        rig.clock.advance_ms(3_595_000);
        rig.heartbeat().await;
        let until = (rig.now() + LOCK_MS).to_string();
        assert_eq!(rig.scores(&rig.of_queue(keys::locks)).await, [("a".to_owned(), until)]);
    })
    .await;
}

#[tokio::test]
async fn a_claim_brings_what_is_due_and_no_more_than_its_share() {
    everywhere(async |rig| {
        due_jobs_come_in_by_the_time_of_the_claim(&rig.on("q1")).await;
        workers_share_what_waits(&rig.on("q2")).await;
        a_full_share_of_nothing_is_nothing_to_ask_for_again(&rig.on("q3")).await;
        entries_without_a_job_are_dropped(&rig.on("q4")).await;
        a_large_claim_is_one_call(&rig.on("q5")).await;
        a_claim_says_when_the_next_job_is_due(&rig.on("q6")).await;
    })
    .await;
}

async fn due_jobs_come_in_by_the_time_of_the_claim(rig: &Rig) {
    rig.submit(rig.job().id(jid("due")).delay_ms(1_000.0)).await;
    rig.clock.advance_ms(1_500);
    rig.put("put").await;
    rig.clock.advance_ms(500);
    let jobs = rig.claim(10).await;
    assert_eq!(jobs.iter().map(Job::jid).collect::<Vec<_>>(), ["put", "due"]);
    let history = jobs[1].history();
    let queued = history.iter().find(|entry| entry.event == "queued").expect("it was queued");
    assert_eq!(queued.timestamp as u64, rig.now());
}

async fn workers_share_what_waits(rig: &Rig) {
    for n in 0..7 {
        rig.put(&format!("s{n}")).await;
    }
    let others = [rig.with_worker("w2"), rig.with_worker("w3")];
    for worker in [rig, &others[0], &others[1]] {
        worker.heartbeat().await;
    }
    let claimed = rig.hive.claim(&rig.queue, &rig.worker, 100, CARE.lock).await.expect("claimed");
    assert_eq!((claimed.jobs.len(), claimed.blocked), (3, Some(Blocked::Share)), "7 for 3");
    assert_eq!(claimed.again_at, Some(rig.now() + 250));
    rig.clock.advance_ms(30_000);
    others[0].heartbeat().await;
    assert_eq!(others[0].claim(100).await.len(), 2, "4 for 2: 30 s of silence still count");
    rig.clock.advance_ms(1);
    assert_eq!(others[0].claim(100).await.len(), 2, "all, when nobody else is there");
}

async fn a_full_share_of_nothing_is_nothing_to_ask_for_again(rig: &Rig) {
    rig.heartbeat().await;
    rig.with_worker("w2").heartbeat().await;
    let claimed = rig.hive.claim(&rig.queue, &rig.worker, 10, CARE.lock).await.expect("claimed");
    assert_eq!((claimed.blocked, claimed.again_at), (None, None), "an idle worker sleeps");
    rig.put("only").await;
    let claimed = rig.hive.claim(&rig.queue, &rig.worker, 10, CARE.lock).await.expect("claimed");
    assert_eq!((claimed.jobs.len(), claimed.blocked, claimed.again_at), (1, None, None));
}

async fn entries_without_a_job_are_dropped(rig: &Rig) {
    let now = rig.now().to_string();
    rig.ask::<()>("ZADD", &rig.of_queue(keys::queue), &["1", "ghost", &now, "ghost2"]).await;
    rig.ask::<()>("ZADD", &rig.of_queue(keys::delayed), &["1", "ghost3"]).await;
    rig.put("real").await;
    assert_eq!(rig.claim(1).await[0].jid(), "real");
    assert!(!rig.exists(&rig.of_queue(keys::queue)).await);
    assert!(!rig.exists(&rig.of_queue(keys::delayed)).await);
    let ghost = jid("ghost");
    assert!(!rig.exists(&keys::job(&ghost, &ghost.group())).await, "and leave no junk");
    assert_eq!(rig.in_queue(keys::locks).await, ["real"]);
}

async fn a_large_claim_is_one_call(rig: &Rig) {
    let jobs = (0..2_500).map(|n| rig.job().id(jid(&format!("l{n:04}")))).collect();
    rig.hive.submit_many(jobs).await.expect("submitted");
    let claimed = rig.claim(5_000).await;
    assert_eq!(claimed.len(), 2_500);
    assert!(claimed.iter().all(|job| job.status() == Status::Running && job.attempts() == 1));
    assert!(claimed.windows(2).all(|pair| pair[0].jid() < pair[1].jid()), "first to run first");
}

async fn a_claim_says_when_the_next_job_is_due(rig: &Rig) {
    rig.submit(rig.job().delay_ms(7_000.0)).await;
    let due = rig.now() + 7_000;
    let claimed = rig.hive.claim(&rig.queue, &rig.worker, 1, CARE.lock).await.expect("claimed");
    assert_eq!((claimed.jobs.len(), claimed.again_at), (0, Some(due)));
    assert!(NOW < due);
}

#[tokio::test]
async fn one_call_settles_a_batch_and_claims_the_next() {
    everywhere(async |rig| {
        use keyrack_jobs::bee::{Outcome, Verdict};
        let jobs = (0..6).map(|n| rig.job().id(jid(&format!("b{n}")))).collect();
        rig.hive.submit_many(jobs).await.expect("submitted");
        let first = rig.claim(4).await;
        let late = rig.with_worker("w2");
        let outcomes: Vec<Outcome> =
            first.iter().map(|job| Outcome::of(job, completed("1"))).collect();
        let lock = Duration::from_secs(5);
        let stolen = rig.hive.settle(&rig.queue, &late.worker, &outcomes, 0, lock).await;
        assert_eq!(stolen.expect("settled").verdicts, [Verdict::Lost; 4], "of another worker");
        rig.hive.cancel(&jid("b1")).await.expect("cancelled");
        let settled = rig.hive.settle(&rig.queue, &rig.worker, &outcomes, 4, lock).await;
        let settled = settled.expect("settled");
        let verdicts = [Verdict::Ok, Verdict::Canceled, Verdict::Ok, Verdict::Ok];
        assert_eq!(settled.verdicts, verdicts);
        let next: Vec<&str> = settled.claimed.jobs.iter().map(Job::jid).collect();
        assert_eq!(next, ["b4", "b5"]);
        let until = (rig.now() + 5_000).to_string();
        let locks = rig.scores(&rig.of_queue(keys::locks)).await;
        assert_eq!(locks, [("b4".to_owned(), until.clone()), ("b5".to_owned(), until)]);
        let unknown = Outcome { jid: "nobody".into(), ..outcomes[0].clone() };
        let settled = rig.hive.settle(&rig.queue, &rig.worker, &[unknown], 0, lock).await;
        assert_eq!(settled.expect("settled").verdicts, [Verdict::Gone]);
    })
    .await;
}
