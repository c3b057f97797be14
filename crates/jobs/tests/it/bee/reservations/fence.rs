//! Who has the jobs of a reservation when its worker is late, gone or has left, or when somebody cancels them.

use keyrack_jobs::bee::{
    End, Job, Outcome, ReservationEnd, SettleAndClaim, Status, Verdict,
    keys::{self, Jid},
};
use keyrack_keys::Layout;

use super::{
    super::{
        fixture::{Fixture, LOCK_MS, TIMEOUTS, completed, everywhere, jid},
        sweep::isolates,
    },
    ask, check_declarations, close, complete_all, ids, open_reservations, put_many, quick, read,
    reservation_name, seen, settle_and_claim, take,
};

/// Tells too late, in every way, and asserts that nothing comes of it.
async fn tell_in_vain(fixture: &Fixture, reservation: u64, jobs: &[Job], jids: &[Jid]) {
    let before = seen(fixture, jids).await;
    for end in [quick("9"), completed("9"), End::Released, super::failed("late")] {
        let outcomes: Vec<Outcome> = jobs.iter().map(|job| Outcome::of(job, end.clone())).collect();
        let closed = close(fixture, reservation, &outcomes, &[]).await;
        assert_eq!(closed.verdicts, vec![Verdict::Lost; jobs.len()], "{end:?}");
    }
    let all: Vec<&Job> = jobs.iter().collect();
    assert_eq!(close(fixture, reservation, &[], &all).await.not_begun, ids(jobs));
    assert_eq!(seen(fixture, jids).await, before);
}

#[tokio::test]
async fn the_reservations_of_a_worker_that_is_gone_are_dissolved() {
    everywhere(async |fixture| {
        a_silent_worker_loses_them_with_its_lock(&fixture.on("q1")).await;
        a_heartbeat_does_not_keep_them(&fixture.on("q2")).await;
        a_worker_known_to_be_gone_loses_them_at_once(&fixture.on("q4")).await;
        a_job_that_loses_too_many_workers_fails(&fixture.on("q5")).await;
        a_job_that_has_its_last_chance_never_fails_in_a_reservation(&fixture.on("q6")).await;
        a_job_without_retries_fails(&fixture.on("q7")).await;
        a_worker_that_leaves_gives_them_back(&fixture.on("q8")).await;
    })
    .await;
}

async fn a_silent_worker_loses_them_with_its_lock(fixture: &Fixture) {
    let channel = keys::worker_events(&fixture.worker, &fixture.queue.group());
    let mut orders = fixture.hive.store().subscribe(&[channel]).await.expect("a subscription");
    let jids = put_many(fixture, &["a1", "b1"]).await;
    let jobs = take(fixture, 1, 2).await;
    fixture.clock.advance_ms(LOCK_MS - 1);
    assert_eq!(fixture.sweep().await.taken_away, 0, "its lock is not over");
    assert_eq!(open_reservations(fixture).await.len(), 1);
    fixture.clock.advance_ms(1);
    assert_eq!(fixture.sweep().await.taken_away, 2);
    check_declarations(fixture).await;
    assert!(!fixture.exists(&fixture.of_queue(keys::reserved)).await);
    assert_eq!(fixture.in_queue(keys::queue).await, ["a1", "b1"]);
    for jid in &jids {
        let stored = fixture.read(jid).await;
        assert_eq!((stored.status(), stored.attempts()), (Status::Queued, 1));
        assert_eq!((stored.retries(), stored.deaths()), (1, 1));
        let history = stored.history();
        let events: Vec<&str> = history.iter().map(|entry| entry.event.as_str()).collect();
        assert_eq!(events, ["submitted", "queued", "expiredLock", "queued"]);
        assert_eq!(history[2].more["old_worker"], fixture.worker.as_str());
        let Some(keyrack_store::Event::Message(order)) = orders.next().await else {
            panic!("the worker hears of it")
        };
        let order: serde_json::Value = serde_json::from_slice(&order.payload).expect("JSON");
        let expected = serde_json::json!(
            {"type": "lost", "jid": jid.as_str(), "queue": fixture.queue.as_str(), "attempt": 1}
        );
        assert_eq!(order, expected);
    }
    tell_in_vain(fixture, 1, &jobs, &jids).await;
    let other = fixture.with_worker("w2");
    let again = [other.claim(1).await, take(&other, 1, 1).await].concat();
    assert_eq!(again.iter().map(Job::attempts).collect::<Vec<_>>(), [2, 2]);
    tell_in_vain(fixture, 1, &jobs, &jids).await;
    assert_eq!(other.settle(&again[0], quick("1")).await, Verdict::Ok);
    assert_eq!(complete_all(&other, 1, &again[1..]).await, [Verdict::Ok]);
    tell_in_vain(fixture, 1, &jobs, &jids).await;
}

/// A worker that is there and tells nothing has not heard that it has them.
async fn a_heartbeat_does_not_keep_them(fixture: &Fixture) {
    fixture.put("unheard-of").await;
    take(fixture, 1, 1).await;
    fixture.clock.advance_ms(LOCK_MS - 1);
    fixture.heartbeat().await;
    assert_eq!(fixture.sweep().await.taken_away, 0);
    fixture.clock.advance_ms(1);
    assert_eq!(fixture.sweep().await.taken_away, 1);
    assert_eq!(fixture.in_queue(keys::queue).await, ["unheard-of"]);
}

async fn a_worker_known_to_be_gone_loses_them_at_once(fixture: &Fixture) {
    let other = fixture.with_worker("w2");
    for worker in [fixture, &other] {
        worker.heartbeat().await;
    }
    let jids = put_many(fixture, &["a4", "b4", "c4", "d4"]).await;
    let jobs = take(fixture, 1, 1).await;
    take(fixture, 2, 1).await;
    let others = take(&other, 1, 1).await;
    let claimed = fixture.claim(1).await;
    assert_eq!(ids(&claimed), ["d4"]);
    let swept = fixture.sweep_with(&TIMEOUTS, std::slice::from_ref(&fixture.worker)).await;
    assert_eq!(swept.taken_away, 3, "two reservations and a claim");
    assert_eq!(fixture.in_queue(keys::queue).await, ["a4", "b4", "d4"]);
    assert_eq!(
        open_reservations(fixture).await.into_keys().collect::<Vec<_>>(),
        [reservation_name(&other, 1)]
    );
    assert_eq!(complete_all(&other, 1, &others).await, [Verdict::Ok]);
    tell_in_vain(fixture, 1, &jobs, &jids).await;
    check_declarations(fixture).await;
}

async fn a_job_that_loses_too_many_workers_fails(fixture: &Fixture) {
    let jid = fixture.submit(fixture.job().retries(100)).await;
    for reservation in 1..=u64::from(TIMEOUTS.deaths_max) {
        assert_eq!(take(fixture, reservation, 1).await[0].attempts(), reservation);
        fixture.clock.advance_ms(LOCK_MS);
        assert_eq!(fixture.sweep().await.taken_away, 1);
        assert_eq!(fixture.read(&jid).await.deaths(), reservation);
    }
    let stored = fixture.read(&jid).await;
    let reason = stored.failed_reason().expect("a reason");
    assert!(reason.starts_with("3 workers were lost while they ran this job"), "{reason}");
    assert!(reason.contains(fixture.worker.as_str()), "{reason}");
    assert_eq!(fixture.in_queue(keys::failed).await, [jid.as_str()]);
    check_declarations(fixture).await;
}

/// A job has to run alone to be believed the cause, and in a reservation none does.
async fn a_job_that_has_its_last_chance_never_fails_in_a_reservation(fixture: &Fixture) {
    let jid = fixture.submit(fixture.job().retries(2)).await;
    for reservation in 1..=10 {
        isolates(fixture).await;
        let job = take(fixture, reservation, 1).await.remove(0);
        let alone = fixture
            .hive
            .runs_alone(&fixture.queue, &fixture.worker, &job)
            .await
            .expect("an answer");
        assert_eq!(alone, Verdict::Lost, "nobody knows that it runs");
        fixture.sweep_with(&TIMEOUTS, std::slice::from_ref(&fixture.worker)).await;
    }
    let stored = fixture.read(&jid).await;
    assert_eq!((stored.status(), stored.deaths(), stored.retries()), (Status::Queued, 2, 2));
}

async fn a_job_without_retries_fails(fixture: &Fixture) {
    let base = fixture.submit(fixture.job().retries(0)).await;
    let then = fixture.submit(fixture.job().after(base.clone())).await;
    take(fixture, 1, 1).await;
    fixture.clock.advance_ms(LOCK_MS);
    fixture.sweep().await;
    let stored = fixture.read(&base).await;
    assert_eq!(stored.failed_reason(), Some("no more retries available"));
    assert_eq!(fixture.status(&then).await, Status::Queued, "dependants do not wait on");
}

async fn a_worker_that_leaves_gives_them_back(fixture: &Fixture) {
    let other = fixture.with_worker("w2");
    let jids = put_many(fixture, &["g1", "g2"]).await;
    fixture.clock.advance_ms(1_000);
    fixture.put("g3").await;
    let jobs = take(fixture, 1, 2).await;
    take(&other, 1, 1).await;
    fixture.put("last").await;
    let mut given_back = fixture.hive.leave(&fixture.queue, &fixture.worker).await.expect("left");
    given_back.sort_unstable();
    assert_eq!(given_back, ["g1", "g2"]);
    for jid in &jids {
        let stored = fixture.read(jid).await;
        assert_eq!((stored.status(), stored.retries(), stored.deaths()), (Status::Queued, 0, 0));
        assert_eq!(fixture.events_of(jid).await, ["submitted", "queued", "released"]);
    }
    let order = fixture.in_queue(keys::queue).await;
    assert_eq!(order[2], "last", "given back means first: {order:?}");
    assert_eq!(
        open_reservations(fixture).await.into_keys().collect::<Vec<_>>(),
        [reservation_name(&other, 1)]
    );
    check_declarations(fixture).await;
    tell_in_vain(fixture, 1, &jobs, &jids).await;
}

#[tokio::test]
async fn a_reservation_is_closed_once_and_by_its_worker() {
    everywhere(async |fixture| {
        the_second_time_changes_nothing(&fixture.on("q1")).await;
        who_has_not_heard_the_answer_may_tell_again(&fixture.on("q2")).await;
        another_worker_or_number_changes_nothing(&fixture.on("q3")).await;
        one_call_closes_a_reservation_ends_a_claim_and_opens_the_next(&fixture.on("q4")).await;
    })
    .await;
}

async fn the_second_time_changes_nothing(fixture: &Fixture) {
    let jids = put_many(fixture, &["a1", "b1"]).await;
    let jobs = take(fixture, 1, 2).await;
    assert_eq!(complete_all(fixture, 1, &jobs).await, [Verdict::Ok; 2]);
    tell_in_vain(fixture, 1, &jobs, &jids).await;
    let stats = fixture.hive.stats(&fixture.queue).await.expect("stats");
    assert_eq!((stats.minutes[0].started, stats.minutes[0].completed), (2, 2));
}

async fn who_has_not_heard_the_answer_may_tell_again(fixture: &Fixture) {
    let jids = put_many(fixture, &["ended", "going", "wrong"]).await;
    let jobs = take(fixture, 1, 3).await;
    let outcomes = |ended: &Job, failed: &Job| {
        [Outcome::of(ended, quick("1")), Outcome::of(failed, super::failed("no"))]
    };
    let told = outcomes(&jobs[0], &jobs[2]);
    let first = close(fixture, 1, &told, &[&jobs[1]]).await;
    assert_eq!((first.verdicts, first.not_begun.len()), (vec![Verdict::Ok; 2], 0));
    let before = seen(fixture, &jids).await;
    fixture.clock.advance_ms(50);
    let second = close(fixture, 1, &told, &[&jobs[1]]).await;
    assert_eq!(second.verdicts, [Verdict::Ok; 2]);
    assert!(!second.not_begun.contains(&"going".to_owned()), "it runs");
    assert_eq!(seen(fixture, &jids).await, before);
    // What has ended since the first time is told in the second.
    let third = close(fixture, 1, &[Outcome::of(&jobs[1], quick("2"))], &[]).await;
    assert_eq!(third.verdicts, [Verdict::Ok]);
    assert_eq!(fixture.read(&jids[1]).await.result(), Some("2"));
    assert_eq!(fixture.in_queue(keys::locks).await, Vec::<String>::new());
}

async fn another_worker_or_number_changes_nothing(fixture: &Fixture) {
    let jids = put_many(fixture, &["a3"]).await;
    let jobs = take(fixture, 1, 1).await;
    tell_in_vain(&fixture.with_worker("w2"), 1, &jobs, &jids).await;
    tell_in_vain(fixture, 2, &jobs, &jids).await;
    let outcomes = [Outcome::of(&jobs[0], quick("1"))];
    let settled = settle_and_claim(
        fixture,
        SettleAndClaim { outcomes: &outcomes, ..SettleAndClaim::default() },
    )
    .await;
    assert_eq!(settled.verdicts, [Verdict::Lost], "nothing was closed");
    assert_eq!(complete_all(fixture, 1, &jobs).await, [Verdict::Ok]);
}

async fn one_call_closes_a_reservation_ends_a_claim_and_opens_the_next(fixture: &Fixture) {
    put_many(fixture, &["a4", "b4", "c4", "d4"]).await;
    let claimed = fixture.claim(1).await;
    let jobs = take(fixture, 1, 2).await;
    let outcomes = [
        Outcome::of(&claimed[0], quick("0")),
        Outcome::of(&jobs[0], quick("1")),
        Outcome { jid: "nobody".into(), ..Outcome::of(&claimed[0], completed("2")) },
    ];
    let begun = vec![(jobs[1].jid().to_owned(), jobs[1].attempts())];
    let settled = settle_and_claim(
        fixture,
        SettleAndClaim {
            outcomes: &outcomes,
            max: 10,
            reserve: Some(2),
            closes: Some(ReservationEnd { reservation: 1, begun }),
            ..SettleAndClaim::default()
        },
    )
    .await;
    assert_eq!(settled.verdicts, [Verdict::Ok, Verdict::Ok, Verdict::Gone]);
    assert_eq!((settled.reserved, settled.not_begun), (vec!["d4".to_owned()], vec![]));
    assert_eq!(fixture.in_queue(keys::locks).await, ["c4"]);
    assert_eq!(
        open_reservations(fixture).await.into_keys().collect::<Vec<_>>(),
        [reservation_name(fixture, 2)]
    );
    check_declarations(fixture).await;
}

#[tokio::test]
async fn a_job_is_cancelled_in_a_reservation_as_anywhere() {
    everywhere(async |fixture| {
        the_worker_is_told_when_it_closes_the_reservation(&fixture.on("q1")).await;
        a_job_run_again_by_hand_is_not_the_reservations_any_more(&fixture.on("q2")).await;
        children_are_canceled_in_a_reservation_too(&fixture.on("q3")).await;
        a_reservation_without_jobs_closes_like_any_other(&fixture.on("q4")).await;
    })
    .await;
}

async fn the_worker_is_told_when_it_closes_the_reservation(fixture: &Fixture) {
    let jids = put_many(fixture, &["a1", "b1", "c1", "d1"]).await;
    let jobs = take(fixture, 1, 4).await;
    for jid in &jids[1..3] {
        assert_eq!(fixture.hive.cancel(jid).await.expect("canceled"), [jid.as_str()]);
        fixture.assert_expires_in(&keys::job(jid, &jid.group()), super::TTL_MS).await;
    }
    assert_eq!(open_reservations(fixture).await[&reservation_name(fixture, 1)], ["a1", "d1"]);
    assert_eq!(fixture.hive.stats(&fixture.queue).await.expect("stats").running, 2);
    check_declarations(fixture).await;
    let before = fixture.fields(&jids[1]).await;
    let ended = [0, 1].map(|n| Outcome::of(&jobs[n], quick("1")));
    let closed = close(fixture, 1, &ended, &[&jobs[2], &jobs[3]]).await;
    assert_eq!(closed.verdicts, [Verdict::Ok, Verdict::Canceled]);
    assert_eq!(closed.not_begun, ["c1"]);
    assert_eq!(fixture.fields(&jids[1]).await, before);
    assert_eq!(fixture.status(&jids[2]).await, Status::Canceled);
    assert_eq!(fixture.in_queue(keys::locks).await, ["d1"]);
    assert_eq!(fixture.in_queue(keys::expires).await, ["a1"]);
    check_declarations(fixture).await;
}

async fn a_job_run_again_by_hand_is_not_the_reservations_any_more(fixture: &Fixture) {
    let jids = put_many(fixture, &["again"]).await;
    let jobs = take(fixture, 1, 1).await;
    fixture.hive.cancel(&jids[0]).await.expect("canceled");
    fixture.hive.retry(&jids[0]).await.expect("again");
    assert_eq!(complete_all(fixture, 1, &jobs).await, [Verdict::Lost]);
    tell_in_vain(fixture, 1, &jobs, &jids).await;
    assert_eq!(fixture.in_queue(keys::queue).await, ["again"]);
    let second = fixture.claim_one().await;
    assert_eq!(second.attempts(), 2);
    assert_eq!(fixture.settle(&second, quick("2")).await, Verdict::Ok);
    assert_eq!(fixture.read(&jids[0]).await.result(), Some("2"));
    assert_eq!(fixture.claim(10).await, []);
}

async fn children_are_canceled_in_a_reservation_too(fixture: &Fixture) {
    let parent = fixture.put("parent").await;
    let job = fixture.claim_one().await;
    let child = fixture.submit(fixture.job().id(jid("child")).parent(parent.clone())).await;
    let after = fixture.submit(fixture.job().id(jid("after")).after(child.clone())).await;
    let jobs = take(fixture, 1, 1).await;
    assert_eq!(ids(&jobs), ["child"]);
    fixture.hive.cancel(&parent).await.expect("canceled");
    assert_eq!(fixture.status(&child).await, Status::Canceled);
    assert_eq!(fixture.status(&after).await, Status::Queued);
    assert_eq!(complete_all(fixture, 1, &jobs).await, [Verdict::Canceled]);
    assert_eq!(fixture.settle(&job, quick("1")).await, Verdict::Canceled);
    check_declarations(fixture).await;
}

async fn a_reservation_without_jobs_closes_like_any_other(fixture: &Fixture) {
    let jids = put_many(fixture, &["a4"]).await;
    let jobs = take(fixture, 1, 1).await;
    fixture.hive.cancel(&jids[0]).await.expect("canceled");
    assert_eq!(ask(fixture, 1, 10).await.reserved, Vec::<String>::new(), "what is left of it");
    check_declarations(fixture).await;
    assert_eq!(complete_all(fixture, 1, &jobs).await, [Verdict::Canceled]);
    assert!(!fixture.exists(&fixture.of_queue(keys::reserved)).await);
}

/// A worker reads the jobs of its reservation in a call of their own. What has come back to the queue before that is not its.
#[tokio::test]
async fn a_job_run_again_by_hand_before_its_worker_has_read_it_runs_once() {
    everywhere(async |fixture| {
        let jids = put_many(&fixture, &["again"]).await;
        let reserved = ask(&fixture, 1, 1).await.reserved;
        fixture.hive.cancel(&jids[0]).await.expect("canceled");
        fixture.hive.retry(&jids[0]).await.expect("again");
        let jobs = read(&fixture, 1, &reserved).await;
        let verdicts = complete_all(&fixture, 1, &jobs).await;
        assert!(verdicts.iter().all(|verdict| *verdict == Verdict::Lost), "{verdicts:?}");
        assert_eq!(fixture.status(&jids[0]).await, Status::Queued);
        assert_eq!(fixture.in_queue(keys::queue).await, ["again"]);
    })
    .await;
}

#[tokio::test]
async fn an_end_that_is_told_twice_in_one_call_counts_once() {
    everywhere(async |fixture| {
        let jids = put_many(&fixture, &["twice"]).await;
        let jobs = take(&fixture, 1, 1).await;
        let both = [Outcome::of(&jobs[0], quick("1")), Outcome::of(&jobs[0], quick("2"))];
        assert_eq!(close(&fixture, 1, &both, &[]).await.verdicts, [Verdict::Ok, Verdict::Lost]);
        assert_eq!(fixture.read(&jids[0]).await.result(), Some("1"));
        let stats = fixture.hive.stats(&fixture.queue).await.expect("stats");
        assert_eq!(stats.minutes[0].completed, 1);
    })
    .await;
}

/// They know nothing of reservations, and so mark none that they reach into.
#[tokio::test]
async fn where_node_hives_are_every_job_of_a_reservation_is_looked_at() {
    everywhere(async |fixture| {
        if fixture.hive.store().layout() == Layout::Cluster {
            return;
        }
        fixture.note_node_hive().await;
        let jids = put_many(&fixture, &["left", "reached"]).await;
        let jobs = take(&fixture, 1, 2).await;
        let reached = keys::job(&jids[1], &jids[1].group());
        fixture.ask::<()>("HSET", &reached, &["status", "canceled"]).await;
        assert_eq!(complete_all(&fixture, 1, &jobs).await, [Verdict::Ok, Verdict::Canceled]);
        assert_eq!(
            fixture.events_of(&jids[0]).await,
            ["submitted", "queued", "popped", "completed"]
        );
        assert_eq!(fixture.status(&jids[1]).await, Status::Canceled);
        assert_eq!(fixture.in_queue(keys::expires).await, ["left"]);
    })
    .await;
}

#[tokio::test]
async fn a_job_that_somebody_deletes_meanwhile_is_not_written_again() {
    everywhere(async |fixture| {
        let jids = put_many(&fixture, &["a", "b", "c"]).await;
        let jobs = take(&fixture, 1, 3).await;
        let store = fixture.hive.store();
        let key = keys::job(&jids[1], &jids[1].group());
        let mut delete = redis::cmd("DEL");
        delete.arg(&*store.place(&key)).exec_async(&mut store.connection()).await.expect("deleted");
        let verdicts = complete_all(&fixture, 1, &jobs).await;
        assert_eq!(verdicts, [Verdict::Ok, Verdict::Gone, Verdict::Ok]);
        assert!(!fixture.exists(&key).await);
        for jid in [&jids[0], &jids[2]] {
            assert_eq!(fixture.status(jid).await, Status::Completed);
        }
        check_declarations(&fixture).await;
    })
    .await;
}
