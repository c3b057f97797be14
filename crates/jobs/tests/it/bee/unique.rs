//! Submissions for which a job that was submitted before stands.

use std::time::Duration;

use keyrack_jobs::{
    Error,
    bee::{Status, StoredJob, Submission, SubmitOutcome, Unique, Verdict, keys},
};
use serde_json::Value as Json;

use super::fixture::{Fixture, completed, everywhere, failed, jid, tag};

const SECOND: Duration = Duration::from_secs(1);
const N_TRIGGERS: u64 = 1_000;

async fn store(fixture: &Fixture, job: Submission) -> StoredJob {
    fixture.hive.submit_unique(job).await.expect("submitted")
}

async fn outcome(fixture: &Fixture, job: Submission) -> SubmitOutcome {
    store(fixture, job).await.outcome
}

/// The id of a job that ended while it waited for others, and is gone.
#[tokio::test]
async fn a_job_does_not_wait_for_what_another_of_its_id_waited_for() {
    everywhere(async |fixture| {
        let first = fixture.put("first").await;
        let id = jid("again");
        fixture.submit(fixture.job().id(id.clone()).after(first).ttl_ms(1)).await;
        fixture.hive.cancel(&id).await.expect("canceled");
        fixture.ask::<u64>("DEL", &keys::job(&id, &id.group()), &[]).await;
        fixture.submit(fixture.job().id(id.clone()).priority(1.0).tag(tag("t"))).await;
        assert!(!fixture.exists(&keys::dependencies(&id, &id.group())).await);
        let delayed = fixture.job().id(id.clone()).unique(Unique::by_id()).delay_ms(5.0);
        fixture.hive.cancel(&id).await.expect("canceled");
        assert_eq!(outcome(&fixture, delayed).await, SubmitOutcome::Created);
        assert_eq!(fixture.in_queue(keys::delayed).await, [id.as_str()]);
    })
    .await;
}

fn args(n: u64) -> Vec<Json> {
    vec![n.into()]
}

/// How many keys know of jobs that stand for others.
async fn n_entries(fixture: &Fixture) -> u64 {
    let entries: u64 = fixture.ask("HLEN", &fixture.of_queue(keys::unique), &[]).await;
    let looks: u64 = fixture.ask("ZCARD", &fixture.of_queue(keys::unique_looks), &[]).await;
    assert_eq!(entries, looks);
    entries
}

#[tokio::test]
async fn a_job_stands_for_equal_ones_until_it_has_started_or_ended() {
    use SubmitOutcome::{Created, Existing};
    everywhere(async |fixture| {
        let started = || fixture.job().arg(1).unique(Unique::by_key("k").until_started());
        let ended = || fixture.job().arg(2).unique(Unique::by_key("k"));
        let first = store(&fixture, started()).await;
        assert_eq!(first.outcome, Created);
        let again = store(&fixture, started()).await;
        assert_eq!((again.jid, again.outcome), (first.jid.clone(), Existing));
        assert_eq!(outcome(&fixture, ended()).await, Existing);

        let job = fixture.claim_one().await;
        assert_eq!(outcome(&fixture, ended()).await, Existing, "while it runs");
        fixture.settle(&job, failed("no")).await;
        assert_eq!(outcome(&fixture, started()).await, Existing, "it will run again");
        fixture.clock.advance_ms(30_000);
        let job = fixture.claim_one().await;
        assert_eq!(fixture.settle(&job, completed("1")).await, Verdict::Ok);
        assert_eq!(outcome(&fixture, ended()).await, Created, "it has ended");

        let job = fixture.claim_one().await;
        assert_eq!(outcome(&fixture, started()).await, Created, "it has started");
        fixture.settle(&job, completed("2")).await;
        let job = fixture.claim_one().await;
        fixture.hive.cancel(&jid(job.jid())).await.expect("canceled");
        assert_eq!(outcome(&fixture, ended()).await, Created, "it was canceled");
    })
    .await;
}

#[tokio::test]
async fn equal_is_by_arguments_by_key_or_by_id_within_one_tenant() {
    use SubmitOutcome::{Created, Existing};
    everywhere(async |fixture| {
        let tenant = |name| keys::Tenant::new(name).expect("a tenant");
        let object = |text: &str| {
            let job = fixture.job().args_json(text).expect("a list");
            job.unique(Unique::by_args())
        };
        assert_eq!(outcome(&fixture, object(r#"[{"a": 1, "b": 2}]"#)).await, Created);
        assert_eq!(outcome(&fixture, object(r#"[{"b": 2, "a": 1}]"#)).await, Existing);
        assert_eq!(outcome(&fixture, object(r#"[{"a": 1, "b": 3}]"#)).await, Created);
        let others = object(r#"[{"a": 1, "b": 2}]"#).tenant(tenant("ann"));
        assert_eq!(outcome(&fixture, others).await, Created);

        let keyed = |key: &str| fixture.job().unique(Unique::by_key(key));
        assert_eq!(outcome(&fixture, keyed("k")).await, Created);
        assert_eq!(outcome(&fixture, keyed("k").tenant(tenant("ann"))).await, Created);
        assert_eq!(outcome(&fixture, keyed("k").arg(7)).await, Existing);
        let other_queue = fixture.on("other");
        let there = other_queue.job().unique(Unique::by_key("k"));
        assert_eq!(outcome(&other_queue, there).await, Created);
        assert_eq!(n_entries(&fixture).await, 5);
    })
    .await;
}

#[tokio::test]
async fn an_id_is_free_again_when_its_job_has_ended() {
    use SubmitOutcome::{Created, Existing};
    everywhere(async |fixture| {
        let job = |n: u32| {
            let tag = keys::Tag::new("t").expect("a tag");
            fixture.job().arg(n).tag(tag).id(jid("sync")).unique(Unique::by_id())
        };
        assert_eq!(outcome(&fixture, job(1)).await, Created);
        assert_eq!(outcome(&fixture, job(2)).await, Existing);
        let first = fixture.claim_one().await;
        assert_eq!(outcome(&fixture, job(3)).await, Existing);
        fixture.settle(&first, completed("1")).await;
        let in_time = fixture.job().id(jid("sync")).unique(Unique::by_id().for_time(SECOND));
        assert_eq!(outcome(&fixture, in_time.clone()).await, Existing);
        assert_eq!(outcome(&fixture, job(4)).await, Created);
        assert!(fixture.in_queue(keys::expires).await.is_empty(), "the old result is gone");

        // A worker that has the old one may not settle the new one.
        let second = fixture.claim_one().await;
        assert_eq!((second.args(), second.attempts()), (args(4), 2));
        assert_eq!(fixture.settle(&first, failed("late")).await, Verdict::Lost);
        fixture.settle(&second, failed("no")).await;
        fixture.clock.advance_ms(1_000);
        assert_eq!(outcome(&fixture, in_time).await, Existing, "it waits for a retry");

        let elsewhere = fixture.on("other").job().id(jid("sync")).unique(Unique::by_id());
        let refused = fixture.hive.submit(elsewhere).await;
        assert!(matches!(refused, Err(Error::Exists { .. })), "a job of another queue");
    })
    .await;
}

#[tokio::test]
async fn a_burst_runs_once_after_the_last() {
    everywhere(async |fixture| {
        let unique = Unique::by_key("k").debounce(SECOND, 3_600 * SECOND);
        let trigger = |n: u64| fixture.job().arg(n).unique(unique.clone());
        let first = store(&fixture, trigger(1)).await;
        for n in 2..=N_TRIGGERS {
            fixture.clock.advance_ms(999);
            let stored = store(&fixture, trigger(n)).await;
            assert_eq!((&stored.jid, stored.outcome), (&first.jid, SubmitOutcome::Replaced));
            if n % 100 == 0 {
                assert!(fixture.claim(10).await.is_empty(), "not before the last");
            }
        }
        fixture.clock.advance_ms(1_000);
        let job = fixture.claim_one().await;
        assert_eq!(job.args(), args(N_TRIGGERS));
        let next = store(&fixture, trigger(0)).await;
        assert_eq!(next.outcome, SubmitOutcome::Created, "the first of the next burst");
        fixture.settle(&job, completed("1")).await;
        assert_eq!(fixture.events_of(&first.jid).await.len(), 5, "a history of one run");
    })
    .await;
}

#[tokio::test]
async fn a_burst_at_once_and_as_a_list_runs_once() {
    everywhere(async |fixture| {
        let unique = Unique::by_key("k").debounce(SECOND, SECOND);
        let trigger = |n: u64| fixture.job().arg(n).unique(unique.clone());
        let triggers = (1..=N_TRIGGERS).map(trigger).collect();
        let answers = fixture.hive.submit_many(triggers).await.expect("submitted");
        let first = answers[0].as_ref().expect("a job").clone();
        assert!(answers.iter().all(|jid| jid.as_ref().is_ok_and(|jid| *jid == first)));
        fixture.clock.advance_ms(1_000);
        let job = fixture.claim_one().await;
        assert_eq!(job.args(), args(N_TRIGGERS));
    })
    .await;
}

#[tokio::test]
async fn a_burst_without_end_runs_after_the_longest_wait_and_keeps_its_place() {
    everywhere(async |fixture| {
        let unique = Unique::by_key("k").debounce(SECOND, 3 * SECOND);
        let trigger = |n: u64| fixture.job().arg(n).unique(unique.clone());
        let first = store(&fixture, trigger(0)).await.jid;
        for n in 1..6 {
            fixture.clock.advance_ms(500);
            assert_eq!(store(&fixture, trigger(n)).await.jid, first);
        }
        fixture.clock.advance_ms(500);
        fixture.hive.pause(&fixture.queue).await.expect("paused");
        assert!(fixture.claim(1).await.is_empty(), "it is due, and goes into its queue");
        fixture.clock.advance_ms(1);
        fixture.put("behind").await;
        fixture.clock.advance_ms(1);
        assert_eq!(store(&fixture, trigger(7)).await.jid, first);
        fixture.hive.resume(&fixture.queue).await.expect("resumed");
        let jobs = fixture.claim(1).await;
        assert_eq!((jobs[0].jid(), jobs[0].args()), (first.as_str(), args(7)));
    })
    .await;
}

#[tokio::test]
async fn throttled_jobs_are_dropped_or_folded_into_one() {
    use SubmitOutcome::{Created, Existing, Replaced};
    everywhere(async |fixture| {
        let dropped = || fixture.job().unique(Unique::by_key("d").throttle(SECOND));
        assert_eq!(outcome(&fixture, dropped()).await, Created);
        let job = fixture.claim_one().await;
        fixture.settle(&job, completed("1")).await;
        fixture.clock.advance_ms(999);
        assert_eq!(outcome(&fixture, dropped()).await, Existing, "though it has ended");
        fixture.clock.advance_ms(1);
        assert_eq!(outcome(&fixture, dropped()).await, Created);
        let job = fixture.claim_one().await;
        fixture.settle(&job, completed("1")).await;

        let fold =
            |n: u64| fixture.job().arg(n).unique(Unique::by_key("f").throttle_folded(SECOND));
        assert_eq!(outcome(&fixture, fold(1)).await, Created);
        assert_eq!(fixture.claim_one().await.args(), args(1), "the first at once");
        fixture.clock.advance_ms(300);
        let second = store(&fixture, fold(2)).await;
        assert_eq!(second.outcome, Created);
        for n in 3..N_TRIGGERS {
            let stored = store(&fixture, fold(n)).await;
            assert_eq!((&stored.jid, stored.outcome), (&second.jid, Replaced));
        }
        fixture.clock.advance_ms(699);
        assert!(fixture.claim(10).await.is_empty());
        fixture.clock.advance_ms(1);
        assert_eq!(fixture.claim_one().await.args(), args(N_TRIGGERS - 1));
        assert_eq!(outcome(&fixture, fold(9)).await, Created, "the next, when its time is over");
        assert!(fixture.claim(10).await.is_empty());
        fixture.clock.advance_ms(1_000);
        assert_eq!(fixture.claim_one().await.args(), args(9));
    })
    .await;
}

#[tokio::test]
async fn entries_that_stand_for_nothing_are_swept() {
    everywhere(async |fixture| {
        let job = |key: &str| fixture.job().unique(Unique::by_key(key));
        fixture.submit(job("ends")).await;
        let claimed = fixture.claim_one().await;
        fixture.settle(&claimed, completed("1")).await;
        let waiting = fixture.submit(job("waits")).await;
        fixture.sweep().await;
        assert_eq!(n_entries(&fixture).await, 2);
        fixture.clock.advance_ms(600_000);
        fixture.sweep().await;
        assert_eq!(n_entries(&fixture).await, 1);
        assert_eq!(outcome(&fixture, job("waits")).await, SubmitOutcome::Existing);
        fixture.hive.cancel(&waiting).await.expect("canceled");
        fixture.clock.advance_ms(600_000);
        fixture.sweep().await;
        assert_eq!(n_entries(&fixture).await, 0);
        assert_eq!(fixture.status(&waiting).await, Status::Canceled);
    })
    .await;
}

#[tokio::test]
async fn what_makes_no_sense_is_refused_by_name_and_stores_nothing() {
    everywhere(async |fixture| {
        let job = |unique| fixture.job().unique(unique);
        let key = || Unique::by_key("k");
        let zero = Duration::ZERO;
        let cases = [
            (job(Unique::by_key("")), "unique.key: 0 bytes; give 1 to 255"),
            (job(Unique::by_key("x".repeat(10_240))), "unique.key: 10240 bytes; give 1 to 255"),
            (job(key().for_time(zero)), "unique.for: 0 ms; give 1 to"),
            (job(key().for_time(Duration::MAX)), "unique.for: 18446744073709551615 ms; give 1 to"),
            (job(key().debounce(zero, SECOND)), "unique.debounce: 0 ms; give 1 to"),
            (job(key().debounce(2 * SECOND, SECOND)), "unique.debounceMax: 1000 ms; give at least"),
            (job(key().throttle_folded(zero)), "unique.throttle: 0 ms; give 1 to"),
            (job(Unique::by_id()), "unique.by: id, but the job has none"),
            (
                job(Unique::by_id().until_started()).id(jid("j")),
                "unique.by: id, which no other job can have",
            ),
            (job(key().debounce(SECOND, SECOND)).delay_ms(1.0), "delay: not with unique.debounce"),
            (
                job(key().throttle_folded(SECOND)).after(jid("j")),
                "dependencies: not with unique.throttle",
            ),
            (
                job(key().debounce(SECOND, SECOND)).start_within(SECOND),
                "startWithin: not with unique.debounce",
            ),
        ];
        for (job, reason) in cases {
            let refused = fixture.hive.submit(job).await.expect_err("makes no sense").to_string();
            assert!(refused.starts_with(reason), "{refused}");
        }
        assert_eq!(n_entries(&fixture).await, 0);
        assert!(fixture.claim(10).await.is_empty());
    })
    .await;
}
