//! Who has the jobs of a lot when its worker is late, gone or has left, or when somebody cancels them.

use keyrack_jobs::bee::{
    Closing, End, Exchange, Job, Outcome, Status, Verdict,
    keys::{self, Jid},
};
use keyrack_keys::Layout;

use super::{
    super::{
        rig::{CARE, LOCK_MS, Rig, completed, everywhere, jid},
        sweep::isolates,
    },
    ask, check_declarations, close, complete_all, exchange, ids, lot_name, open_lots, put_many,
    quick, read, seen, take,
};

/// Tells too late, in every way, and asserts that nothing comes of it.
async fn tell_in_vain(rig: &Rig, lot: u64, jobs: &[Job], jids: &[Jid]) {
    let before = seen(rig, jids).await;
    for end in [quick("9"), completed("9"), End::Released, super::failed("late")] {
        let outcomes: Vec<Outcome> = jobs.iter().map(|job| Outcome::of(job, end.clone())).collect();
        let closed = close(rig, lot, &outcomes, &[]).await;
        assert_eq!(closed.verdicts, vec![Verdict::Lost; jobs.len()], "{end:?}");
    }
    let all: Vec<&Job> = jobs.iter().collect();
    assert_eq!(close(rig, lot, &[], &all).await.not_begun, ids(jobs));
    assert_eq!(seen(rig, jids).await, before);
}

#[tokio::test]
async fn the_lots_of_a_worker_that_is_gone_are_dissolved() {
    everywhere(async |rig| {
        a_silent_worker_loses_them_with_its_lock(&rig.on("q1")).await;
        a_heartbeat_does_not_keep_them(&rig.on("q2")).await;
        a_worker_known_to_be_gone_loses_them_at_once(&rig.on("q4")).await;
        a_job_that_loses_too_many_workers_fails(&rig.on("q5")).await;
        a_job_that_has_its_last_chance_never_fails_in_a_lot(&rig.on("q6")).await;
        a_job_without_retries_fails(&rig.on("q7")).await;
        a_worker_that_leaves_gives_them_back(&rig.on("q8")).await;
    })
    .await;
}

async fn a_silent_worker_loses_them_with_its_lock(rig: &Rig) {
    let channel = keys::worker_events(&rig.worker, &rig.queue.group());
    let mut orders = rig.hive.store().subscribe(&[channel]).await.expect("a subscription");
    let jids = put_many(rig, &["a1", "b1"]).await;
    let jobs = take(rig, 1, 2).await;
    rig.clock.advance_ms(LOCK_MS - 1);
    assert_eq!(rig.sweep().await.taken_away, 0, "its lock is not over");
    assert_eq!(open_lots(rig).await.len(), 1);
    rig.clock.advance_ms(1);
    assert_eq!(rig.sweep().await.taken_away, 2);
    check_declarations(rig).await;
    assert!(!rig.exists(&rig.of_queue(keys::reserved)).await);
    assert_eq!(rig.in_queue(keys::queue).await, ["a1", "b1"]);
    for jid in &jids {
        let stored = rig.read(jid).await;
        assert_eq!((stored.status(), stored.attempts()), (Status::Queued, 1));
        assert_eq!((stored.retries(), stored.deaths()), (1, 1));
        let history = stored.history();
        let events: Vec<&str> = history.iter().map(|entry| entry.event.as_str()).collect();
        assert_eq!(events, ["submitted", "queued", "expiredLock", "queued"]);
        assert_eq!(history[2].more["old_worker"], rig.worker.as_str());
        let Some(keyrack_store::Event::Message(order)) = orders.next().await else {
            panic!("the worker hears of it")
        };
        let order: serde_json::Value = serde_json::from_slice(&order.payload).expect("JSON");
        let expected = serde_json::json!(
            {"type": "lost", "jid": jid.as_str(), "queue": rig.queue.as_str(), "attempt": 1}
        );
        assert_eq!(order, expected);
    }
    tell_in_vain(rig, 1, &jobs, &jids).await;
    let other = rig.with_worker("w2");
    let again = [other.claim(1).await, take(&other, 1, 1).await].concat();
    assert_eq!(again.iter().map(Job::attempts).collect::<Vec<_>>(), [2, 2]);
    tell_in_vain(rig, 1, &jobs, &jids).await;
    assert_eq!(other.settle(&again[0], quick("1")).await, Verdict::Ok);
    assert_eq!(complete_all(&other, 1, &again[1..]).await, [Verdict::Ok]);
    tell_in_vain(rig, 1, &jobs, &jids).await;
}

/// A worker that is there and tells nothing has not heard that it has them.
async fn a_heartbeat_does_not_keep_them(rig: &Rig) {
    rig.put("unheard-of").await;
    take(rig, 1, 1).await;
    rig.clock.advance_ms(LOCK_MS - 1);
    rig.heartbeat().await;
    assert_eq!(rig.sweep().await.taken_away, 0);
    rig.clock.advance_ms(1);
    assert_eq!(rig.sweep().await.taken_away, 1);
    assert_eq!(rig.in_queue(keys::queue).await, ["unheard-of"]);
}

async fn a_worker_known_to_be_gone_loses_them_at_once(rig: &Rig) {
    let other = rig.with_worker("w2");
    for worker in [rig, &other] {
        worker.heartbeat().await;
    }
    let jids = put_many(rig, &["a4", "b4", "c4", "d4"]).await;
    let jobs = take(rig, 1, 1).await;
    take(rig, 2, 1).await;
    let others = take(&other, 1, 1).await;
    let claimed = rig.claim(1).await;
    assert_eq!(ids(&claimed), ["d4"]);
    let swept = rig.sweep_with(&CARE, std::slice::from_ref(&rig.worker)).await;
    assert_eq!(swept.taken_away, 3, "two lots and a claim");
    assert_eq!(rig.in_queue(keys::queue).await, ["a4", "b4", "d4"]);
    assert_eq!(open_lots(rig).await.into_keys().collect::<Vec<_>>(), [lot_name(&other, 1)]);
    assert_eq!(complete_all(&other, 1, &others).await, [Verdict::Ok]);
    tell_in_vain(rig, 1, &jobs, &jids).await;
    check_declarations(rig).await;
}

async fn a_job_that_loses_too_many_workers_fails(rig: &Rig) {
    let jid = rig.submit(rig.job().retries(100)).await;
    for lot in 1..=u64::from(CARE.deaths_max) {
        assert_eq!(take(rig, lot, 1).await[0].attempts(), lot);
        rig.clock.advance_ms(LOCK_MS);
        assert_eq!(rig.sweep().await.taken_away, 1);
        assert_eq!(rig.read(&jid).await.deaths(), lot);
    }
    let stored = rig.read(&jid).await;
    let reason = stored.failed_reason().expect("a reason");
    assert!(reason.starts_with("3 workers were lost while they ran this job"), "{reason}");
    assert!(reason.contains(rig.worker.as_str()), "{reason}");
    assert_eq!(rig.in_queue(keys::failed).await, [jid.as_str()]);
    check_declarations(rig).await;
}

/// A job has to run alone to be believed the cause, and in a lot none does.
async fn a_job_that_has_its_last_chance_never_fails_in_a_lot(rig: &Rig) {
    let jid = rig.submit(rig.job().retries(2)).await;
    for lot in 1..=10 {
        isolates(rig).await;
        let job = take(rig, lot, 1).await.remove(0);
        let alone = rig.hive.runs_alone(&rig.queue, &rig.worker, &job).await.expect("an answer");
        assert_eq!(alone, Verdict::Lost, "nobody knows that it runs");
        rig.sweep_with(&CARE, std::slice::from_ref(&rig.worker)).await;
    }
    let stored = rig.read(&jid).await;
    assert_eq!((stored.status(), stored.deaths(), stored.retries()), (Status::Queued, 2, 2));
}

async fn a_job_without_retries_fails(rig: &Rig) {
    let base = rig.submit(rig.job().retries(0)).await;
    let then = rig.submit(rig.job().after(base.clone())).await;
    take(rig, 1, 1).await;
    rig.clock.advance_ms(LOCK_MS);
    rig.sweep().await;
    let stored = rig.read(&base).await;
    assert_eq!(stored.failed_reason(), Some("no more retries available"));
    assert_eq!(rig.status(&then).await, Status::Queued, "dependants do not wait on");
}

async fn a_worker_that_leaves_gives_them_back(rig: &Rig) {
    let other = rig.with_worker("w2");
    let jids = put_many(rig, &["g1", "g2"]).await;
    rig.clock.advance_ms(1_000);
    rig.put("g3").await;
    let jobs = take(rig, 1, 2).await;
    take(&other, 1, 1).await;
    rig.put("last").await;
    let mut given_back = rig.hive.leave(&rig.queue, &rig.worker).await.expect("left");
    given_back.sort_unstable();
    assert_eq!(given_back, ["g1", "g2"]);
    for jid in &jids {
        let stored = rig.read(jid).await;
        assert_eq!((stored.status(), stored.retries(), stored.deaths()), (Status::Queued, 0, 0));
        assert_eq!(rig.events_of(jid).await, ["submitted", "queued", "released"]);
    }
    let order = rig.in_queue(keys::queue).await;
    assert_eq!(order[2], "last", "given back means first: {order:?}");
    assert_eq!(open_lots(rig).await.into_keys().collect::<Vec<_>>(), [lot_name(&other, 1)]);
    check_declarations(rig).await;
    tell_in_vain(rig, 1, &jobs, &jids).await;
}

#[tokio::test]
async fn a_lot_is_closed_once_and_by_its_worker() {
    everywhere(async |rig| {
        the_second_time_changes_nothing(&rig.on("q1")).await;
        who_has_not_heard_the_answer_may_tell_again(&rig.on("q2")).await;
        another_worker_or_number_changes_nothing(&rig.on("q3")).await;
        one_call_closes_a_lot_ends_a_claim_and_opens_the_next(&rig.on("q4")).await;
    })
    .await;
}

async fn the_second_time_changes_nothing(rig: &Rig) {
    let jids = put_many(rig, &["a1", "b1"]).await;
    let jobs = take(rig, 1, 2).await;
    assert_eq!(complete_all(rig, 1, &jobs).await, [Verdict::Ok; 2]);
    tell_in_vain(rig, 1, &jobs, &jids).await;
    let stats = rig.hive.stats(&rig.queue).await.expect("stats");
    assert_eq!((stats.minutes[0].started, stats.minutes[0].completed), (2, 2));
}

async fn who_has_not_heard_the_answer_may_tell_again(rig: &Rig) {
    let jids = put_many(rig, &["ended", "going", "wrong"]).await;
    let jobs = take(rig, 1, 3).await;
    let outcomes = |ended: &Job, failed: &Job| {
        [Outcome::of(ended, quick("1")), Outcome::of(failed, super::failed("no"))]
    };
    let told = outcomes(&jobs[0], &jobs[2]);
    let first = close(rig, 1, &told, &[&jobs[1]]).await;
    assert_eq!((first.verdicts, first.not_begun.len()), (vec![Verdict::Ok; 2], 0));
    let before = seen(rig, &jids).await;
    rig.clock.advance_ms(50);
    let second = close(rig, 1, &told, &[&jobs[1]]).await;
    assert_eq!(second.verdicts, [Verdict::Ok; 2]);
    assert!(!second.not_begun.contains(&"going".to_owned()), "it runs");
    assert_eq!(seen(rig, &jids).await, before);
    // What has ended since the first time is told in the second.
    let third = close(rig, 1, &[Outcome::of(&jobs[1], quick("2"))], &[]).await;
    assert_eq!(third.verdicts, [Verdict::Ok]);
    assert_eq!(rig.read(&jids[1]).await.result(), Some("2"));
    assert_eq!(rig.in_queue(keys::locks).await, Vec::<String>::new());
}

async fn another_worker_or_number_changes_nothing(rig: &Rig) {
    let jids = put_many(rig, &["a3"]).await;
    let jobs = take(rig, 1, 1).await;
    tell_in_vain(&rig.with_worker("w2"), 1, &jobs, &jids).await;
    tell_in_vain(rig, 2, &jobs, &jids).await;
    let outcomes = [Outcome::of(&jobs[0], quick("1"))];
    let settled = exchange(rig, Exchange { outcomes: &outcomes, ..Exchange::default() }).await;
    assert_eq!(settled.verdicts, [Verdict::Lost], "nothing was closed");
    assert_eq!(complete_all(rig, 1, &jobs).await, [Verdict::Ok]);
}

async fn one_call_closes_a_lot_ends_a_claim_and_opens_the_next(rig: &Rig) {
    put_many(rig, &["a4", "b4", "c4", "d4"]).await;
    let claimed = rig.claim(1).await;
    let jobs = take(rig, 1, 2).await;
    let outcomes = [
        Outcome::of(&claimed[0], quick("0")),
        Outcome::of(&jobs[0], quick("1")),
        Outcome { jid: "nobody".into(), ..Outcome::of(&claimed[0], completed("2")) },
    ];
    let begun = vec![(jobs[1].jid().to_owned(), jobs[1].attempts())];
    let settled = exchange(
        rig,
        Exchange {
            outcomes: &outcomes,
            max: 10,
            reserve: Some(2),
            closes: Some(Closing { lot: 1, begun }),
            ..Exchange::default()
        },
    )
    .await;
    assert_eq!(settled.verdicts, [Verdict::Ok, Verdict::Ok, Verdict::Gone]);
    assert_eq!((settled.reserved, settled.not_begun), (vec!["d4".to_owned()], vec![]));
    assert_eq!(rig.in_queue(keys::locks).await, ["c4"]);
    assert_eq!(open_lots(rig).await.into_keys().collect::<Vec<_>>(), [lot_name(rig, 2)]);
    check_declarations(rig).await;
}

#[tokio::test]
async fn a_job_is_cancelled_in_a_lot_as_anywhere() {
    everywhere(async |rig| {
        the_worker_is_told_when_it_closes_the_lot(&rig.on("q1")).await;
        a_job_run_again_by_hand_is_not_the_lots_any_more(&rig.on("q2")).await;
        children_are_cancelled_in_a_lot_too(&rig.on("q3")).await;
        a_lot_without_jobs_closes_like_any_other(&rig.on("q4")).await;
    })
    .await;
}

async fn the_worker_is_told_when_it_closes_the_lot(rig: &Rig) {
    let jids = put_many(rig, &["a1", "b1", "c1", "d1"]).await;
    let jobs = take(rig, 1, 4).await;
    for jid in &jids[1..3] {
        assert_eq!(rig.hive.cancel(jid).await.expect("cancelled"), [jid.as_str()]);
        rig.assert_expires_in(&keys::job(jid, &jid.group()), super::TTL_MS).await;
    }
    assert_eq!(open_lots(rig).await[&lot_name(rig, 1)], ["a1", "d1"]);
    assert_eq!(rig.hive.stats(&rig.queue).await.expect("stats").running, 2);
    check_declarations(rig).await;
    let before = rig.fields(&jids[1]).await;
    let ended = [0, 1].map(|n| Outcome::of(&jobs[n], quick("1")));
    let closed = close(rig, 1, &ended, &[&jobs[2], &jobs[3]]).await;
    assert_eq!(closed.verdicts, [Verdict::Ok, Verdict::Canceled]);
    assert_eq!(closed.not_begun, ["c1"]);
    assert_eq!(rig.fields(&jids[1]).await, before);
    assert_eq!(rig.status(&jids[2]).await, Status::Canceled);
    assert_eq!(rig.in_queue(keys::locks).await, ["d1"]);
    assert_eq!(rig.in_queue(keys::expires).await, ["a1"]);
    check_declarations(rig).await;
}

async fn a_job_run_again_by_hand_is_not_the_lots_any_more(rig: &Rig) {
    let jids = put_many(rig, &["again"]).await;
    let jobs = take(rig, 1, 1).await;
    rig.hive.cancel(&jids[0]).await.expect("cancelled");
    rig.hive.retry(&jids[0]).await.expect("again");
    assert_eq!(complete_all(rig, 1, &jobs).await, [Verdict::Lost]);
    tell_in_vain(rig, 1, &jobs, &jids).await;
    assert_eq!(rig.in_queue(keys::queue).await, ["again"]);
    let second = rig.claim_one().await;
    assert_eq!(second.attempts(), 2);
    assert_eq!(rig.settle(&second, quick("2")).await, Verdict::Ok);
    assert_eq!(rig.read(&jids[0]).await.result(), Some("2"));
    assert_eq!(rig.claim(10).await, []);
}

async fn children_are_cancelled_in_a_lot_too(rig: &Rig) {
    let parent = rig.put("parent").await;
    let job = rig.claim_one().await;
    let child = rig.submit(rig.job().id(jid("child")).parent(parent.clone())).await;
    let after = rig.submit(rig.job().id(jid("after")).after(child.clone())).await;
    let jobs = take(rig, 1, 1).await;
    assert_eq!(ids(&jobs), ["child"]);
    rig.hive.cancel(&parent).await.expect("cancelled");
    assert_eq!(rig.status(&child).await, Status::Canceled);
    assert_eq!(rig.status(&after).await, Status::Queued);
    assert_eq!(complete_all(rig, 1, &jobs).await, [Verdict::Canceled]);
    assert_eq!(rig.settle(&job, quick("1")).await, Verdict::Canceled);
    check_declarations(rig).await;
}

async fn a_lot_without_jobs_closes_like_any_other(rig: &Rig) {
    let jids = put_many(rig, &["a4"]).await;
    let jobs = take(rig, 1, 1).await;
    rig.hive.cancel(&jids[0]).await.expect("cancelled");
    assert_eq!(ask(rig, 1, 10).await.reserved, Vec::<String>::new(), "what is left of it");
    check_declarations(rig).await;
    assert_eq!(complete_all(rig, 1, &jobs).await, [Verdict::Canceled]);
    assert!(!rig.exists(&rig.of_queue(keys::reserved)).await);
}

/// A worker reads the jobs of its lot in a call of their own. What has come back to the queue before that is not its.
#[tokio::test]
async fn a_job_run_again_by_hand_before_its_worker_has_read_it_runs_once() {
    everywhere(async |rig| {
        let jids = put_many(&rig, &["again"]).await;
        let reserved = ask(&rig, 1, 1).await.reserved;
        rig.hive.cancel(&jids[0]).await.expect("cancelled");
        rig.hive.retry(&jids[0]).await.expect("again");
        let jobs = read(&rig, 1, &reserved).await;
        let verdicts = complete_all(&rig, 1, &jobs).await;
        assert!(verdicts.iter().all(|verdict| *verdict == Verdict::Lost), "{verdicts:?}");
        assert_eq!(rig.status(&jids[0]).await, Status::Queued);
        assert_eq!(rig.in_queue(keys::queue).await, ["again"]);
    })
    .await;
}

#[tokio::test]
async fn an_end_that_is_told_twice_in_one_call_counts_once() {
    everywhere(async |rig| {
        let jids = put_many(&rig, &["twice"]).await;
        let jobs = take(&rig, 1, 1).await;
        let both = [Outcome::of(&jobs[0], quick("1")), Outcome::of(&jobs[0], quick("2"))];
        assert_eq!(close(&rig, 1, &both, &[]).await.verdicts, [Verdict::Ok, Verdict::Lost]);
        assert_eq!(rig.read(&jids[0]).await.result(), Some("1"));
        let stats = rig.hive.stats(&rig.queue).await.expect("stats");
        assert_eq!(stats.minutes[0].completed, 1);
    })
    .await;
}

/// They know nothing of lots, and so mark none that they reach into.
#[tokio::test]
async fn where_node_hives_are_every_job_of_a_lot_is_looked_at() {
    everywhere(async |rig| {
        if rig.hive.store().layout() == Layout::Cluster {
            return;
        }
        // Only Node's hives write this key: keyrack's user may read it.
        if rig.hive.store().engine().is_none() {
            let mut allow = redis::cmd("ACL");
            allow.arg("SETUSER").arg("keyrack").arg("~bee:scripts");
            allow.exec_async(&mut rig.hive.store().connection()).await.expect("allowed");
        }
        rig.ask::<()>("HSET", &keys::scripts(), &["cancel", "0"]).await;
        let jids = put_many(&rig, &["left", "reached"]).await;
        let jobs = take(&rig, 1, 2).await;
        let reached = keys::job(&jids[1], &jids[1].group());
        rig.ask::<()>("HSET", &reached, &["status", "canceled"]).await;
        assert_eq!(complete_all(&rig, 1, &jobs).await, [Verdict::Ok, Verdict::Canceled]);
        assert_eq!(rig.events_of(&jids[0]).await, ["submitted", "queued", "popped", "completed"]);
        assert_eq!(rig.status(&jids[1]).await, Status::Canceled);
        assert_eq!(rig.in_queue(keys::expires).await, ["left"]);
    })
    .await;
}

#[tokio::test]
async fn a_job_that_somebody_deletes_meanwhile_is_not_written_again() {
    everywhere(async |rig| {
        let jids = put_many(&rig, &["a", "b", "c"]).await;
        let jobs = take(&rig, 1, 3).await;
        let store = rig.hive.store();
        let key = keys::job(&jids[1], &jids[1].group());
        let mut delete = redis::cmd("DEL");
        delete.arg(&*store.place(&key)).exec_async(&mut store.connection()).await.expect("deleted");
        let verdicts = complete_all(&rig, 1, &jobs).await;
        assert_eq!(verdicts, [Verdict::Ok, Verdict::Gone, Verdict::Ok]);
        assert!(!rig.exists(&key).await);
        for jid in [&jids[0], &jids[2]] {
            assert_eq!(rig.status(jid).await, Status::Completed);
        }
        check_declarations(&rig).await;
    })
    .await;
}
