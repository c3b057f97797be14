//! Why jobs failed: failures of one cause are in one group, the groups are bounded, and their jobs can be found and run again.

use std::time::Duration;

use keyrack_jobs::{
    Error,
    bee::{
        End, Failure, Outcome, Status, Verdict, WorkerInfo, WorkerTimeouts,
        errors::{
            ErrorGroup, ErrorQuery, Errors, Fingerprint, GROUPS_MAX, GroupRetry, MuteRequest,
        },
        keys,
    },
};
use keyrack_keys::Registry;

use super::fixture::{Fixture, TIMEOUTS, completed, everywhere, failed, failed_for_good, jid};

const HOUR_MS: u64 = 3_600_000;
const DAY_MS: u64 = 24 * HOUR_MS;

impl Fixture {
    async fn errors(&self) -> Errors {
        self.hive.errors(&self.queue, &ErrorQuery::default()).await.expect("the errors")
    }

    async fn only_error(&self) -> ErrorGroup {
        let mut groups = self.errors().await.groups;
        assert_eq!(groups.len(), 1, "{groups:#?}");
        groups.remove(0)
    }

    /// Fails as many jobs as there are messages, in one call.
    async fn fail_all(&self, messages: &[String]) -> Vec<String> {
        let jobs = messages.iter().map(|message| self.job().arg(message.as_str())).collect();
        self.hive.submit_many(jobs).await.expect("submitted");
        let jobs = self.claim(messages.len()).await;
        let end = |message: &str| End::Failed(Failure::fatal(message));
        let outcomes: Vec<Outcome> = jobs
            .iter()
            .zip(messages)
            .map(|(job, message)| Outcome::of(job, end(message)))
            .collect();
        let settled =
            self.hive.settle(&self.queue, &self.worker, &outcomes, 0, TIMEOUTS.lock).await;
        assert!(settled.expect("settled").verdicts.iter().all(|verdict| *verdict == Verdict::Ok));
        jobs.iter().map(|job| job.jid().to_owned()).collect()
    }

    /// What the lint finds in the store.
    async fn assert_lint_finds_nothing(&self) {
        let registry = Registry::new(&[keys::FAMILIES]);
        let store = self.hive.store();
        let report = keyrack_lint::lint(store, &registry, &Default::default(), |_| {}).await;
        let findings = report.expect("linted").findings;
        assert!(findings.is_empty(), "{findings:#?}");
    }

    /// Says which version of the program a worker runs.
    async fn give_version(&self, version: &str) {
        let info = WorkerInfo {
            started_at: self.now(),
            concurrency: 1,
            lock_ms: 10_000,
            listens: false,
            isolates: false,
            stop_ms: None,
            version: Some(version.to_owned()),
        };
        let beat = self.hive.heartbeat(&self.queue, &self.worker, TIMEOUTS.lock, Some(&info)).await;
        beat.expect("a heartbeat");
    }
}

#[tokio::test]
async fn failures_of_three_kinds_are_three_groups_whatever_their_ids() {
    everywhere(async |fixture| {
        let messages: Vec<String> = (0..434u32)
            .map(|n| match n % 3 {
                0 => format!("TimeoutError: user {n} did not answer within {}ms", n * 7),
                1 => format!(
                    "could not open \"/srv/{n}.csv\" of order 0192c3f0-55e5-7c11-9023-{n:012x}"
                ),
                _ => format!("KeyError: 'customer-{n}' at 2026-11-18T20:{:02}:00Z", n % 60),
            })
            .collect();
        let mut jids = Vec::new();
        for some in messages.chunks(50) {
            jids.extend(fixture.fail_all(some).await);
            fixture.clock.advance_ms(60_000);
        }
        let errors = fixture.errors().await;
        let mut counts: Vec<u64> = errors.groups.iter().map(|group| group.failed).collect();
        counts.sort_unstable();
        assert_eq!(counts, [144, 145, 145], "{:#?}", errors.groups);
        assert_eq!(errors.other, None);
        let timeouts = errors.groups.iter().find(|group| group.kind == "TimeoutError");
        let timeouts = timeouts.expect("a group");
        assert_eq!(timeouts.text, "user # did not answer within #ms");
        assert_eq!(timeouts.message, messages[432], "the last one");
        assert_eq!(timeouts.jobs.len(), 5, "{:?}", timeouts.jobs);
        assert_eq!(timeouts.jobs[0].jid, jids[432]);
        assert_eq!(timeouts.hours.iter().map(|hour| hour.count).sum::<u64>(), timeouts.count);
        assert_eq!(timeouts.hosts, ["host"]);
        let job = fixture.read(&jid(&jids[432])).await;
        assert_eq!(job.error_group(), Some(timeouts.id.as_str()));
        fixture.assert_lint_finds_nothing().await;
    })
    .await;
}

#[tokio::test]
async fn ten_thousand_different_messages_stay_within_bounds_and_hide_no_frequent_one() {
    everywhere(async |fixture| {
        let words = |n: usize| {
            let letter = |n: usize| char::from(b'a' + u8::try_from(n % 26).expect("a letter"));
            format!("no {}{}{}", letter(n), letter(n / 26), letter(n / 676))
        };
        let frequent: Vec<String> = (0..200).map(|n| format!("Frequent: {n}")).collect();
        fixture.fail_all(&frequent).await;
        let n_different = 10_000;
        for first in (0..n_different).step_by(1_000) {
            let some: Vec<String> = (first..first + 1_000).map(words).collect();
            fixture.fail_all(&some).await;
            fixture.clock.advance_ms(1_000);
        }
        let errors = fixture.errors().await;
        assert_eq!(errors.groups.len(), GROUPS_MAX);
        let frequent = errors.groups.iter().find(|group| group.kind == "Frequent");
        assert_eq!(frequent.map(|group| group.failed), Some(200));
        let other = errors.other.expect("what made room");
        let in_groups: u64 = errors.groups.iter().map(|group| group.count).sum();
        assert_eq!(in_groups + other.count, 200 + n_different as u64, "every failure is counted");
        assert_eq!(other.folded + GROUPS_MAX as u64, 1 + n_different as u64);
        let counts = fixture.hive.error_counts(&fixture.queue).await.expect("the counts");
        assert_eq!((counts.groups, counts.folded), (GROUPS_MAX as u64, other.folded));
        let stored: Vec<String> = fixture.ask("HVALS", &fixture.of_queue(keys::errors), &[]).await;
        let bytes: usize = stored.iter().map(String::len).sum();
        assert!(bytes < 100_000, "{bytes} bytes");
        assert_eq!(fixture.in_queue(keys::error_ranks).await.len(), GROUPS_MAX);
        fixture.assert_lint_finds_nothing().await;
    })
    .await;
}

#[tokio::test]
async fn the_largest_groups_take_less_than_a_megabyte() {
    everywhere(async |fixture| {
        let long = "é".repeat(9_000);
        for round in 0..3usize {
            let messages: Vec<String> =
                (0..GROUPS_MAX).map(|n| format!("Error{}: {long}", "x".repeat(n))).collect();
            fixture.fail_all(&messages).await;
            fixture.clock.advance_ms(HOUR_MS * round as u64);
        }
        let stored: Vec<String> = fixture.ask("HVALS", &fixture.of_queue(keys::errors), &[]).await;
        assert_eq!(stored.len(), GROUPS_MAX);
        let bytes: usize = stored.iter().map(String::len).sum();
        assert!(bytes < 1_000_000, "{bytes} bytes");
    })
    .await;
}

#[tokio::test]
async fn every_failed_attempt_counts_and_a_completed_job_leaves_nothing() {
    everywhere(async |fixture| {
        fixture.run(fixture.job(), completed("1")).await;
        assert!(!fixture.exists(&fixture.of_queue(keys::errors)).await);
        let tenant = keys::Tenant::new("acme").expect("a tenant");
        let job = fixture.job().retries(2).retry_delay_ms(0.0, false).tenant(tenant);
        let jid = fixture.submit(job).await;
        fixture.give_version("1.4.0").await;
        for n in 0..3u64 {
            let job = fixture.claim_one().await;
            fixture.settle(&job, failed(&format!("Refused: attempt {n}"))).await;
            fixture.clock.advance_ms(HOUR_MS);
        }
        assert_eq!(fixture.status(&jid).await, Status::Failed);
        let group = fixture.only_error().await;
        assert_eq!((group.count, group.failed), (3, 1));
        assert_eq!((group.kind.as_str(), group.text.as_str()), ("Refused", "attempt #"));
        assert_eq!(group.last_at - group.first_at, 2 * HOUR_MS);
        assert_eq!(group.hours.iter().map(|hour| hour.count).collect::<Vec<_>>(), [1, 1, 1]);
        assert_eq!((group.tenants, group.versions), (vec!["acme".into()], vec!["1.4.0".into()]));
        assert_eq!(group.jobs.len(), 1, "a job is a sample once");
        fixture.assert_lint_finds_nothing().await;
    })
    .await;
}

#[tokio::test]
async fn failures_that_scripts_find_have_the_fingerprints_of_their_messages() {
    everywhere(async |fixture| {
        let slow = fixture.on("slow");
        let jid = slow.submit(slow.job().timeout(Duration::from_secs(1)).retries(0)).await;
        slow.claim_one().await;
        slow.clock.advance_ms(5_000);
        slow.sweep().await;
        let reason = slow.read(&jid).await;
        let fingerprint = Fingerprint::of(reason.failed_reason().expect("a reason"));
        let group = slow.only_error().await;
        assert_eq!((group.id.as_str(), group.kind.as_str()), (fingerprint.id(), "TimeoutError"));
        assert_eq!(group.text, fingerprint.text());

        let lost = fixture.on("lost");
        let jid = lost.submit(lost.job()).await;
        for _ in 0..WorkerTimeouts::KEYRACK.deaths_max {
            lost.claim_one().await;
            lost.sweep_with(&TIMEOUTS, std::slice::from_ref(&lost.worker)).await;
        }
        let job = lost.read(&jid).await;
        let fingerprint = Fingerprint::of(job.failed_reason().expect("a reason"));
        let group = lost.only_error().await;
        assert_eq!(
            (group.id.as_str(), group.text.as_str()),
            (fingerprint.id(), fingerprint.text())
        );
        assert_eq!((group.count, group.failed), (1, 1));
        lost.assert_lint_finds_nothing().await;
    })
    .await;
}

#[tokio::test]
async fn failed_jobs_of_a_group_run_again_all_or_some() {
    everywhere(async |fixture| {
        let jids = fixture.fail_all(&(0..15).map(|n| format!("A: {n}")).collect::<Vec<_>>()).await;
        fixture.fail_all(&["B: 1".to_owned()]).await;
        let errors = fixture.errors().await;
        let group = errors.groups.iter().find(|group| group.kind == "A").expect("a group");
        let retry = async |max, is_dry_run| {
            let request = GroupRetry { max, is_dry_run, cursor: None };
            let done = fixture.hive.retry_errors(&fixture.queue, &group.id, &request).await;
            let done = done.expect("done");
            (done.matched, done.changed)
        };
        assert_eq!(retry(None, true).await, (15, 0));
        assert_eq!(retry(Some(10), false).await, (10, 10));
        assert_eq!(retry(None, false).await, (5, 5));
        assert_eq!(retry(None, false).await, (0, 0), "the group is there, its jobs are not");
        for id in &jids {
            let job = fixture.read(&jid(id)).await;
            assert_eq!((job.status(), job.error_group()), (Status::Queued, None));
        }
        assert_eq!(fixture.in_queue(keys::failed).await.len(), 1, "the other group is left alone");
        let unknown = fixture.hive.retry_errors(&fixture.queue, "x", &GroupRetry::default()).await;
        assert!(matches!(unknown, Err(Error::NoSuchErrorGroup { .. })), "{unknown:?}");
        let many = GroupRetry { max: Some(10_001), ..GroupRetry::default() };
        let refused = fixture.hive.retry_errors(&fixture.queue, &group.id, &many).await;
        let refused = refused.expect_err("too many").to_string();
        assert_eq!(refused, "max: 10001; give 1 to 10000");
    })
    .await;
}

/// How many failures of the last hour were counted, and how many of them were muted.
async fn failed_and_muted(fixture: &Fixture) -> (u64, u64) {
    let minutes = fixture.hive.stats(&fixture.queue).await.expect("the stats").minutes;
    minutes
        .iter()
        .fold((0, 0), |(failed, muted), minute| (failed + minute.failed, muted + minute.muted))
}

#[tokio::test]
async fn a_muted_group_counts_apart_until_its_time_or_version_has_come() {
    everywhere(async |fixture| {
        let fail = async |fixture: &Fixture| {
            fixture.run(fixture.job(), failed_for_good("Refused: 1")).await;
            failed_and_muted(fixture).await
        };
        let until = |until| MuteRequest { until: Some(until), version: None };
        assert_eq!(fail(&fixture).await, (1, 0));
        let id = fixture.only_error().await.id;
        let (hive, queue) = (&fixture.hive, &fixture.queue);
        hive.mute_error(queue, &id, &until(fixture.now() + 60_000)).await.expect("muted");
        assert_eq!(fail(&fixture).await, (2, 1));
        assert!(fixture.only_error().await.mute.is_some());
        let unmuted = ErrorQuery { without_muted: true, ..ErrorQuery::default() };
        assert!(hive.errors(queue, &unmuted).await.expect("the errors").groups.is_empty());
        fixture.assert_lint_finds_nothing().await;
        fixture.clock.advance_ms(60_000);
        assert_eq!(fixture.only_error().await.mute, None, "its time is over");
        assert_eq!(fail(&fixture).await, (3, 1));
        assert!(!fixture.exists(&fixture.of_queue(keys::error_mutes)).await);

        fixture.give_version("1.9.5").await;
        let version = MuteRequest { until: None, version: Some("1.10.0".into()) };
        hive.mute_error(queue, &id, &version).await.expect("muted");
        assert_eq!(fail(&fixture).await, (4, 2), "9 comes before 10");
        fixture.assert_lint_finds_nothing().await;
        fixture.give_version("v1.10.0").await;
        assert_eq!(fail(&fixture).await, (5, 2), "it was to be mended by now");
        assert_eq!(fixture.only_error().await.mute, None);

        hive.mute_error(queue, &id, &until(fixture.now() + 1)).await.expect("muted");
        hive.unmute_error(queue, &id).await.expect("unmuted");
        assert_eq!(fail(&fixture).await, (6, 2));
        let unknown = hive.mute_error(queue, "x", &until(fixture.now() + 1)).await;
        assert!(matches!(unknown, Err(Error::NoSuchErrorGroup { .. })), "{unknown:?}");
        let past = hive.mute_error(queue, &id, &until(fixture.now())).await;
        assert!(past.expect_err("it is over").to_string().starts_with("until: "));
        assert!(!fixture.exists(&fixture.of_queue(keys::error_mutes)).await, "nothing is stored");
    })
    .await;
}

#[tokio::test]
async fn groups_are_found_by_text_and_in_other_queues() {
    everywhere(async |fixture| {
        let other = fixture.on("reports");
        for fixture in [&fixture, &other] {
            fixture.run(fixture.job(), failed_for_good("Refused: by Host 7")).await;
        }
        fixture.run(fixture.job(), failed_for_good("no money")).await;
        for (text, n) in [("refUSED", 1), ("by host", 1), ("host 7", 1), ("money", 1), ("x", 0)] {
            let query = ErrorQuery { text: Some(text.into()), ..ErrorQuery::default() };
            let found = fixture.hive.errors(&fixture.queue, &query).await.expect("the errors");
            assert_eq!(found.groups.len(), n, "{text}");
        }
        let id = other.only_error().await.id;
        let queues = fixture.hive.queues_with_error(&id).await.expect("the queues");
        assert_eq!(queues, ["emails", "reports"]);
    })
    .await;
}

#[tokio::test]
async fn what_node_has_failed_is_grouped_by_its_last_exception_or_its_reason() {
    everywhere(async |fixture| {
        let messages = ["Refused: 1", "Refused: 2"];
        let mut jids = Vec::new();
        for message in messages {
            let jid = fixture.run(fixture.job(), failed_for_good(message)).await;
            // Node writes neither the group nor a list of failed jobs.
            let key = keys::job(&jid, &jid.group());
            fixture.ask::<u64>("HDEL", &key, &["errorGroup"]).await;
            fixture.ask::<()>("HSET", &key, &["failedReason", "No more retries available"]).await;
            fixture.ask::<u64>("ZREM", &fixture.of_queue(keys::failed), &[jid.as_str()]).await;
            jids.push(jid);
        }
        let key = keys::job(&jids[1], &jids[1].group());
        fixture.ask::<()>("HSET", &key, &["history", "{}", "failedReason", "Refused: 9"]).await;
        for name in [keys::errors, keys::error_ranks] {
            fixture.ask::<()>("DEL", &fixture.of_queue(name), &[]).await;
        }
        let before = failed_and_muted(&fixture).await;
        for _ in 0..2 {
            fixture.hive.reconcile_lists(&fixture.queue).await.expect("reconciled");
            let group = fixture.only_error().await;
            assert_eq!((group.count, group.failed), (2, 2), "each once");
            assert_eq!((group.kind.as_str(), group.text.as_str()), ("Refused", "#"));
        }
        assert_eq!(failed_and_muted(&fixture).await, before, "they are not counted again");
        fixture.assert_lint_finds_nothing().await;
    })
    .await;
}

#[tokio::test]
async fn groups_are_forgotten_after_30_days_and_with_their_queue() {
    everywhere(async |fixture| {
        let fail = async |message: &str| {
            let jid = fixture.run(fixture.job(), failed_for_good(message)).await;
            fixture.hive.cancel(&jid).await.expect("canceled");
        };
        fail("Old: 1").await;
        fixture.clock.advance_ms(31 * DAY_MS);
        fail("New: 1").await;
        let group = fixture.only_error().await;
        assert_eq!(group.kind, "New");
        let request = MuteRequest { until: Some(fixture.now() + DAY_MS), version: None };
        fixture.hive.mute_error(&fixture.queue, &group.id, &request).await.expect("muted");
        let all =
            [keys::errors, keys::error_ranks, keys::error_mutes].map(|key| fixture.of_queue(key));
        fixture.assert_expires_in(&all[0], 30 * DAY_MS).await;
        fixture.assert_expires_in(&all[1], 30 * DAY_MS).await;
        fixture.hive.delete_queue(&fixture.queue).await.expect("deleted");
        for key in &all {
            assert!(!fixture.exists(key).await, "{}", key.name());
        }
    })
    .await;
}

#[tokio::test]
async fn a_stray_write_into_a_group_stops_no_worker() {
    everywhere(async |fixture| {
        fixture.run(fixture.job(), failed_for_good("Refused: 1")).await;
        let (key, id) = (fixture.of_queue(keys::errors), fixture.only_error().await.id);
        for junk in ["", "7", "[]", r#"{"text":"x","count":"y"}"#, r#"{"text":1,"hours":3}"#] {
            fixture.ask::<()>("HSET", &key, &[&id, junk, "other", junk]).await;
            assert!(fixture.errors().await.groups.is_empty(), "{junk}");
            fixture.run(fixture.job(), failed_for_good("Refused: 1")).await;
            assert_eq!(fixture.only_error().await.count, 1, "{junk}");
        }
    })
    .await;
}
