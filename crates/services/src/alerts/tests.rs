//! Each rule, with what is just inside and just outside it.

use keyrack_files::{Entry, Failure, File};
use keyrack_jobs::bee::Minute;

use super::*;

const NOW: u64 = 1_000 * MINUTE_MS;

fn worker(seen_at: u64, running: u64) -> WorkerStats {
    WorkerStats { worker: "w".into(), seen_at, running, info: None }
}

fn healthy() -> Stats {
    Stats {
        queue: "mail".into(),
        queued: 4,
        oldest_ms: Some(1_000),
        workers: vec![worker(NOW - 1_000, 1)],
        minutes: vec![minute(1, 97, 3)],
        ..Stats::default()
    }
}

fn minute(ago: u64, completed: u64, failed: u64) -> Minute {
    Minute { at: NOW - ago * MINUTE_MS, completed, failed, ..Minute::default() }
}

fn facts() -> AlertFacts {
    AlertFacts { now_ms: NOW, ..AlertFacts::default() }
}

#[track_caller]
fn check(stats: Stats, expected: &[(Severity, &str)]) {
    let found = alerts(&AlertFacts { queues: vec![stats], ..facts() });
    let found: Vec<_> = found.iter().map(|alert| (alert.severity, alert.text.as_str())).collect();
    assert_eq!(found, expected);
}

#[test]
fn healthy_queue_has_no_alert() {
    check(healthy(), &[]);
    check(Stats::default(), &[]);
}

#[test]
fn jobs_without_a_living_worker_are_broken() {
    let workers = vec![worker(NOW - SILENT_MS - 1, 0)];
    let expected = [(Severity::Broken, "4 jobs queued and no worker is alive")];
    check(Stats { workers, ..healthy() }, &expected);
}

#[test]
fn few_failures_are_no_alert_and_many_are() {
    check(Stats { minutes: vec![minute(1, 0, 2)], ..healthy() }, &[]);
    check(Stats { minutes: vec![minute(1, 97, 3)], ..healthy() }, &[]);
    let expected = [(Severity::Broken, "50 % failed in the last 10 minutes")];
    check(Stats { minutes: vec![minute(1, 5, 5)], ..healthy() }, &expected);
}

#[test]
fn failures_older_than_ten_minutes_do_not_count() {
    check(Stats { minutes: vec![minute(50, 0, 5), minute(11, 0, 5)], ..healthy() }, &[]);
    let expected = [(Severity::Broken, "100 % failed in the last 10 minutes")];
    check(Stats { minutes: vec![minute(50, 0, 5), minute(9, 0, 5)], ..healthy() }, &expected);
}

#[test]
fn worker_that_died_with_jobs_is_an_alert_and_one_that_left_is_not() {
    let workers = vec![worker(NOW, 1), worker(NOW - 120_000, 2), worker(NOW - 120_000, 0)];
    let expected = [(Severity::Warning, "worker w is silent for 2 min and holds 2 jobs")];
    check(Stats { workers, ..healthy() }, &expected);
}

#[test]
fn ended_jobs_that_were_deleted_early_are_an_alert() {
    let text = "5 ended jobs deleted early in the last hour: the queue keeps no more";
    check(Stats { dropped: 5, ..healthy() }, &[(Severity::Warning, text)]);
}

#[test]
fn old_jobs_are_an_alert_unless_the_queue_is_paused() {
    let old = Stats { oldest_ms: Some(OLD_MS), ..healthy() };
    check(Stats { oldest_ms: Some(OLD_MS - 1), ..healthy() }, &[]);
    check(old.clone(), &[(Severity::Warning, "the oldest job has waited for 5 min")]);
    check(Stats { paused: true, ..old }, &[(Severity::Note, "paused with 4 jobs queued")]);
}

#[test]
fn worst_comes_first() {
    let facts = AlertFacts {
        store_error: Some("gone".into()),
        queues: vec![Stats { paused: true, ..healthy() }],
        undeclared_keys: 1,
        lint_problems: 2,
        poison_jobs: vec![("j1".into(), 3)],
        unknown_hot_jobs: 1,
        ..facts()
    };
    let found = alerts(&facts);
    let found: Vec<_> =
        found.iter().map(|alert| format!("{} {}", alert.subject, alert.text)).collect();
    assert_eq!(
        found,
        [
            "j1 poison job: 3 workers died running it",
            "store does not answer: gone",
            "hot queue 1 job without a handler",
            "lint 2 problems in the store",
            "keys 1 key belongs to no family",
            "mail paused with 4 jobs queued",
        ]
    );
}

#[test]
fn rules_that_fired_are_shown_with_their_account() {
    let found = alerts(&AlertFacts { recent_rules: vec![("7".into(), 3)], ..facts() });
    let [alert] = &found[..] else { panic!("one alert") };
    assert_eq!(alert.text, "rules fired 3 times in the last 10 minutes");
    assert_eq!(alert.page, AlertPage::Account("7".into()));
}

#[test]
fn breaker_is_an_alert_unless_it_is_closed() {
    let severity = |state| {
        let found = alerts(&AlertFacts { breaker: Some(state), ..facts() });
        found.first().map(|alert| (alert.severity, alert.page.clone()))
    };
    assert_eq!(severity(State::Closed), None);
    assert_eq!(severity(State::HalfOpen), Some((Severity::Warning, AlertPage::Entitlements)));
    assert_eq!(severity(State::Open), Some((Severity::Broken, AlertPage::Entitlements)));
}

#[test]
fn files_are_an_alert_when_they_keep_failing_or_are_none() {
    let text = |file, failures| {
        let failure = Failure { failures, failed_at: 0.0, reason: "no".into() };
        let worst = Some(Entry { member: vec![], file, at: 0.0, failure: Some(failure) });
        let files = FileFacts { failing: 2, worst, ..FileFacts::default() };
        alerts(&AlertFacts { files, ..facts() }).first().map(|alert| alert.text.clone())
    };
    let file = || Ok(File::new("b", "k"));
    assert_eq!(text(file(), 2), None);
    let expected = "2 files cannot be deleted; one has failed 3 times";
    assert_eq!(text(file(), 3).as_deref(), Some(expected));
    let expected = "2 files cannot be deleted; an entry names no file";
    assert_eq!(text(Err("no JSON".into()), 1).as_deref(), Some(expected));
}

#[test]
fn key_of_an_alert_stays_while_its_numbers_change() {
    let keys = |queued, silent_ms, oldest_ms| {
        let stats = Stats {
            queued,
            oldest_ms: Some(oldest_ms),
            workers: vec![
                worker(NOW - silent_ms, 2),
                WorkerStats { worker: "x".into(), ..worker(0, 1) },
            ],
            dropped: queued,
            ..healthy()
        };
        let found = alerts(&AlertFacts { queues: vec![stats], ..facts() });
        let mut keys: Vec<_> = found.iter().map(Alert::key).collect();
        keys.sort();
        keys
    };
    let first = keys(1, 10 * MINUTE_MS, OLD_MS);
    assert_eq!(first, keys(22, 100 * MINUTE_MS, 90 * OLD_MS));
    let mut different = first.clone();
    different.dedup();
    assert_eq!((first.len(), different.len()), (5, 5), "{first:?}");
}
