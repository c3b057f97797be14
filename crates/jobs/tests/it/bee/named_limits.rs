//! Limits that jobs name: several for one job, for whatever jobs share.

mod histories;

use std::collections::BTreeMap;

use keyrack_jobs::{
    Error,
    bee::{
        Change, Job, Limits, NamedLimit, Rate, Reason, Status, Submission, Verdict,
        keys::{self, Jid, LimitName, RateMs, Tenant},
    },
};

use super::fixture::{Fixture, TIMEOUTS, completed, everywhere, failed, jid};

fn name(text: &str) -> LimitName {
    LimitName::new(text).expect("a name")
}

fn at_once(n: u64) -> NamedLimit {
    NamedLimit { concurrency: Some(n), rate: None }
}

fn starts(max: u64, per_ms: u64) -> NamedLimit {
    NamedLimit { concurrency: None, rate: Some(Rate { max, per_ms }) }
}

async fn limit(fixture: &Fixture, limits: &[(&str, NamedLimit)]) {
    let named: BTreeMap<_, _> =
        limits.iter().map(|(name, limit)| ((*name).to_owned(), *limit)).collect();
    let limits = Limits { named, ..Limits::default() };
    fixture.hive.set_limits(&fixture.queue, &limits).await.expect("limits");
}

fn naming(fixture: &Fixture, id: &str, limits: &[&str]) -> Submission {
    let job = fixture.job().id(jid(id));
    limits.iter().fold(job, |job, limit| job.limit(&name(limit)))
}

async fn put(fixture: &Fixture, id: &str, limits: &[&str]) -> Jid {
    let jid = fixture.submit(naming(fixture, id, limits)).await;
    fixture.clock.advance_ms(1);
    jid
}

fn ids(jobs: &[Job]) -> Vec<&str> {
    jobs.iter().map(Job::jid).collect()
}

async fn end(fixture: &Fixture, job: &Job) {
    assert_eq!(fixture.settle(job, completed("1")).await, Verdict::Ok);
}

#[tokio::test]
async fn so_many_run_at_once_in_their_order() {
    everywhere(async |fixture| {
        let fixture = &fixture;
        limit(fixture, &[("gpu", at_once(2))]).await;
        for id in ["e", "d", "c", "b", "a"] {
            put(fixture, id, &["gpu"]).await;
        }
        put(fixture, "free", &[]).await;
        let running = fixture.claim(10).await;
        assert_eq!(ids(&running), ["e", "d", "free"], "others are not held up");
        let why = fixture.hive.why(&jid("c")).await.expect("told");
        let expected = Reason::NamedLimit { name: "gpu".into(), limit: 2, running: 2 };
        assert!(why.reasons.contains(&expected), "{why:?}");
        let told = "2 jobs with the limit \"gpu\" run and 2 may at once";
        assert!(why.explanation.contains(told), "{why:?}");
        put(fixture, "late", &["gpu"]).await;
        assert!(fixture.claim(10).await.is_empty());

        end(fixture, &running[2]).await;
        assert!(fixture.claim(10).await.is_empty(), "that one did not count");
        end(fixture, &running[0]).await;
        assert_eq!(ids(&fixture.claim(10).await), ["c"], "one for one");
        fixture.settle(&running[1], failed("once more")).await;
        assert_eq!(ids(&fixture.claim(10).await), ["b"], "a failed attempt counts no longer");
        // Nobody says anything, and a minute later they are looked at all the same.
        fixture.clock.advance_ms(61_000);
        assert!(fixture.claim(10).await.is_empty());
        let history = fixture.json(&jid("a"), "history").await;
        let last = history.as_array().and_then(|entries| entries.last()).expect("an entry");
        assert_eq!((&last["event"], &last["limit"]), (&"delayed".into(), &"gpu".into()));
    })
    .await;
}

#[tokio::test]
async fn so_many_start_in_any_time_in_their_order() {
    everywhere(async |fixture| {
        let fixture = &fixture;
        limit(fixture, &[("api", starts(2, 1_000))]).await;
        let names = ["i", "h", "g", "f", "e", "d"];
        for id in names {
            put(fixture, id, &["api"]).await;
        }
        let begun = fixture.now();
        let mut started: Vec<(String, u64)> = Vec::new();
        for _ in 0..400 {
            for job in fixture.claim(10).await {
                end(fixture, &job).await;
                started.push((job.jid().to_owned(), fixture.now() - begun));
            }
            if started.len() == 2 {
                let why = fixture.hive.why(&jid("f")).await.expect("told");
                assert!(
                    why.reasons
                        .iter()
                        .any(|reason| matches!(reason, Reason::NamedRate { max: 2, .. })),
                    "{why:?}"
                );
            }
            fixture.clock.advance_ms(25);
        }
        let order: Vec<&str> = started.iter().map(|(id, _)| id.as_str()).collect();
        assert_eq!(order, names);
        for three in started.windows(3) {
            assert!(three[2].1 - three[0].1 >= 1_000, "{started:?}");
        }
        assert!(started[5].1 <= 2_300, "no time is lost: {started:?}");
    })
    .await;
}

#[tokio::test]
async fn a_job_starts_when_all_of_its_limits_let_it() {
    everywhere(async |fixture| {
        let fixture = &fixture;
        limit(fixture, &[("gpu", at_once(1)), ("disk", at_once(1))]).await;
        put(fixture, "gpu1", &["gpu"]).await;
        put(fixture, "both", &["gpu", "disk"]).await;
        put(fixture, "disk1", &["disk"]).await;
        put(fixture, "gpu2", &["gpu"]).await;
        put(fixture, "unlimited", &["unknown"]).await;
        let running = fixture.claim(10).await;
        assert_eq!(ids(&running), ["gpu1", "disk1", "unlimited"]);
        end(fixture, &running[0]).await;
        // It is its turn at the one limit, and the other holds it. So the next has that turn.
        assert_eq!(ids(&fixture.claim(10).await), ["gpu2"]);
        end(fixture, &running[1]).await;
        assert!(fixture.claim(10).await.is_empty(), "now the first one holds it again");
        let gpu2 = fixture.read(&jid("gpu2")).await;
        end(fixture, &gpu2).await;
        assert_eq!(ids(&fixture.claim(10).await), ["both"]);
    })
    .await;
}

#[tokio::test]
async fn a_job_that_goes_makes_room() {
    everywhere(async |fixture| {
        let fixture = &fixture;
        limit(fixture, &[("gpu", at_once(1))]).await;
        for id in ["a", "b", "c", "d", "e", "f"] {
            put(fixture, id, &["gpu"]).await;
        }
        assert_eq!(ids(&fixture.claim(10).await), ["a"]);
        fixture.hive.cancel(&jid("a")).await.expect("canceled");
        let b = fixture.claim_one().await;
        assert_eq!(b.jid(), "b", "a canceled job");
        fixture.settle(&b, keyrack_jobs::bee::End::Released).await;
        assert_eq!(fixture.claim_one().await.jid(), "b", "one that is given back comes first");
        fixture.hive.leave(&fixture.queue, &fixture.worker).await.expect("left");
        assert_eq!(fixture.claim_one().await.jid(), "b");
        fixture.hive.cancel(&jid("c")).await.expect("canceled");
        fixture.clock.advance_ms(TIMEOUTS.lock.as_millis() as u64 + 1);
        assert_eq!(fixture.sweep().await.taken_away, 1, "a lost worker");
        assert_eq!(ids(&fixture.claim(10).await), ["d"], "a canceled job has no turn");
        // Somebody else has ended the job without a word.
        let d = keys::job(&jid("d"), &fixture.queue.group());
        fixture.ask::<()>("HSET", &d, &["status", "completed"]).await;
        fixture.sweep().await;
        assert_eq!(ids(&fixture.claim(10).await), ["e"]);
    })
    .await;
}

#[tokio::test]
async fn what_is_lifted_or_raised_counts_at_once() {
    everywhere(async |fixture| {
        let fixture = &fixture;
        limit(fixture, &[("gpu", at_once(1)), ("api", starts(1, 60_000))]).await;
        for n in 0..5 {
            put(fixture, &format!("gpu{n}"), &["gpu"]).await;
            put(fixture, &format!("api{n}"), &["api"]).await;
        }
        assert_eq!(fixture.claim(10).await.len(), 2);
        limit(fixture, &[("gpu", at_once(3)), ("api", starts(1, 60_000))]).await;
        assert_eq!(fixture.claim(10).await.len(), 2, "two more at once");
        limit(fixture, &[("gpu", at_once(3))]).await;
        assert_eq!(fixture.claim(10).await.len(), 4, "all that one limit held");
        limit(fixture, &[]).await;
        assert_eq!(fixture.claim(10).await.len(), 2);
    })
    .await;
}

#[tokio::test]
async fn a_job_that_waits_for_a_limit_is_changed_like_others() {
    everywhere(async |fixture| {
        let fixture = &fixture;
        limit(fixture, &[("gpu", at_once(1))]).await;
        for id in ["a", "b", "c", "d"] {
            put(fixture, id, &["gpu"]).await;
        }
        let a = fixture.claim(10).await.remove(0);
        let change = |id: &str, change: Change| {
            let id = jid(id);
            async move { fixture.hive.change_job(&id, &change).await.expect("changed") }
        };
        change("d", Change { run_now: true, ..Change::default() }).await;
        change("b", Change { delay: Some(5_000.0), ..Change::default() }).await;
        end(fixture, &a).await;
        let c_or_d = fixture.claim_one().await;
        assert_eq!(c_or_d.jid(), "d", "it is to run now");
        end(fixture, &c_or_d).await;
        let c = fixture.claim_one().await;
        assert_eq!(c.jid(), "c");
        end(fixture, &c).await;
        assert!(fixture.claim(10).await.is_empty(), "the other is to run later");
        fixture.clock.advance_ms(5_000);
        assert_eq!(ids(&fixture.claim(10).await), ["b"]);
    })
    .await;
}

#[tokio::test]
async fn tenants_have_limits_too() {
    everywhere(async |fixture| {
        let fixture = &fixture;
        limit(fixture, &[("gpu", at_once(1))]).await;
        for (tenant, n) in [("acme", 3), ("bob", 2)] {
            for n in 0..n {
                let job = naming(fixture, &format!("{tenant}{n}"), &["gpu"]);
                fixture.submit(job.tenant(Tenant::new(tenant).expect("a tenant"))).await;
                fixture.clock.advance_ms(1);
            }
        }
        let mut order = Vec::new();
        for _ in 0..5 {
            let job = fixture.claim_one().await;
            assert!(fixture.claim(10).await.is_empty());
            order.push(job.jid().to_owned());
            end(fixture, &job).await;
        }
        order.sort_unstable();
        assert_eq!(order, ["acme0", "acme1", "acme2", "bob0", "bob1"]);
    })
    .await;
}

#[tokio::test]
async fn nothing_is_left_of_a_limit() {
    everywhere(async |fixture| {
        let fixture = &fixture;
        limit(fixture, &[("gpu", NamedLimit { concurrency: Some(1), ..starts(5, 1_000) })]).await;
        let (gpu, group) = (name("gpu"), fixture.queue.group());
        let held = keys::limit_held(&fixture.queue, &gpu, &group);
        let running = keys::limit_running(&fixture.queue, &gpu, &group);
        let of_a_second = RateMs::new(1_000).expect("a time");
        let rate = keys::limit_rate(&fixture.queue, &gpu, &of_a_second, &group);
        for id in ["a", "b"] {
            put(fixture, id, &["gpu"]).await;
        }
        let a = fixture.claim_one().await;
        assert_eq!(fixture.members(&running).await.len(), 1);
        assert_eq!(fixture.scores(&held).await.len(), 1);
        fixture.assert_expires_in(&held, 60_000 + 86_400_000).await;
        fixture.assert_expires_in(&rate, 1_001).await;
        end(fixture, &a).await;
        let b = fixture.claim_one().await;
        assert_eq!(fixture.status(&jid("b")).await, Status::Running);
        end(fixture, &b).await;
        assert!(!fixture.exists(&held).await && !fixture.exists(&running).await);
    })
    .await;
}

#[tokio::test]
async fn very_many_jobs_of_one_limit_hold_nobody_up() {
    everywhere(async |fixture| {
        limit(&fixture, &[("gpu", at_once(1))]).await;
        let jobs = (0..2_500).map(|_| fixture.job().limit(&name("gpu"))).collect();
        fixture.hive.submit_many(jobs).await.expect("submitted");
        fixture.clock.advance_ms(1);
        fixture.put("free").await;
        let mut claims = Vec::new();
        while !claims.contains(&"free".to_owned()) {
            assert!(claims.len() < 2, "{claims:?}");
            let claimed = fixture
                .hive
                .claim(&fixture.queue, &fixture.worker, 5, TIMEOUTS.lock)
                .await
                .expect("claimed");
            if claimed.jobs.is_empty() {
                assert_eq!(claimed.again_at, Some(fixture.now()), "the next call goes on");
            }
            claims.extend(claimed.jobs.iter().map(|job| job.jid().to_owned()));
        }
        assert_eq!(claims.len(), 2);
    })
    .await;
}

#[tokio::test]
async fn names_and_limits_that_make_no_sense_are_refused() {
    everywhere(async |fixture| {
        for (limit_name, limit, expected) in [
            ("gpu", at_once(0), "named.concurrency: 0 for \"gpu\"; give at least 1"),
            ("gpu", starts(0, 1_000), "named.rate.max: 0 for \"gpu\"; give at least 1"),
            ("gpu", starts(1, 0), "named.rate.per_ms: 0 ms for \"gpu\"; give 1 to 86400000"),
            (
                "gpu",
                starts(1, 86_400_001),
                "named.rate.per_ms: 86400001 ms for \"gpu\"; give 1 to 86400000",
            ),
            ("", at_once(1), "limit"),
        ] {
            let named = [(limit_name.to_owned(), limit)].into();
            let limits = Limits { named, ..Limits::default() };
            let refused = fixture.hive.set_limits(&fixture.queue, &limits).await;
            let error: Error = refused.expect_err("no such limit");
            assert!(error.to_string().contains(expected), "{error}");
        }
        assert!(!fixture.exists(&fixture.of_queue(keys::settings)).await);
        let names: Vec<String> = (0..11).map(|n| format!("limit{n}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let error = fixture.hive.submit(naming(&fixture, "a", &names)).await.expect_err("too many");
        assert_eq!(error.to_string(), "limits: 11 of them; at most 10 are taken");
        assert!(fixture.hive.queues().await.expect("queues").is_empty(), "nothing is stored");
        put(&fixture, "ten", &names[..10]).await;
    })
    .await;
}
