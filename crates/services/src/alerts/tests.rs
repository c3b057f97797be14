//! Each rule, with what is just inside and just outside it.

use keyrack_files::{Entry, Failure, File};
use keyrack_identity::AlertMuteKind;
use keyrack_jobs::bee::{Minute, SILENT_MS, WorkerStats, keys::QueueName};

use super::{
    queues::{GRACE_MS, OLD_MS},
    *,
};

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
    let dead = Stats { workers, oldest_ms: Some(GRACE_MS), ..healthy() };
    let text = "4 jobs queued and no worker is alive; the oldest has waited for 1 min";
    check(dead.clone(), &[(Severity::Broken, text)]);
    // A worker may just be starting.
    check(Stats { oldest_ms: Some(GRACE_MS - 1), ..dead }, &[]);
}

#[test]
fn failed_jobs_are_a_note_for_as_long_as_they_are_held() {
    check(Stats { failed: 18, ..healthy() }, &[(Severity::Note, "18 failed jobs held")]);
    let found = alerts(&AlertFacts { queues: vec![Stats { failed: 18, ..healthy() }], ..facts() });
    assert_eq!(found[0].action, Some(AlertAction::Retry("mail".into())));
    assert_eq!(found[0].page, AlertPage::Errors("mail".into()));
}

#[test]
fn many_queues_with_one_trouble_are_one_alert() {
    let dead = |n: u64| QueueCounts {
        queue: QueueName::new(format!("q{n}")).expect("a name"),
        paused: false,
        queued: n,
        delayed: 0,
        running: 0,
        failed: 0,
        oldest_ms: Some(n * MINUTE_MS),
        has_worker: false,
    };
    let others = |n| AlertFacts { other_queues: (1..=n).map(dead).collect(), ..facts() };
    assert_eq!(alerts(&others(2)).len(), 2, "two are told of one by one");
    let found = alerts(&others(304));
    let [alert] = &found[..] else { panic!("one alert: {found:?}") };
    assert_eq!(alert.subject, "304 queues");
    let text = "have no worker: 46,360 jobs queued, the oldest has waited for 5 h";
    assert_eq!((alert.text.as_str(), alert.count()), (text, 304));
    assert_eq!(alert.page, AlertPage::Queues(QueueState::NoWorker));
    assert_eq!(alert.members[0].subject, "q304", "the worst of them is the first");
}

#[test]
fn the_most_harm_comes_first() {
    let old = |name: &str, queued, minutes| Stats {
        queue: name.into(),
        queued,
        oldest_ms: Some(minutes * MINUTE_MS),
        ..healthy()
    };
    let queues = vec![old("few", 2, 60), old("many", 1_000, 6)];
    let found = alerts(&AlertFacts { queues, ..facts() });
    let subjects: Vec<&str> = found.iter().map(|alert| alert.subject.as_str()).collect();
    assert_eq!(subjects, ["many", "few"]);
    // What is broken comes before any harm.
    let queues = vec![old("many", 100_000, 600)];
    let store_error = Some("gone".into());
    assert_eq!(alerts(&AlertFacts { queues, store_error, ..facts() })[0].subject, "store");
}

#[test]
fn few_failures_are_no_alert_and_many_are() {
    check(Stats { minutes: vec![minute(1, 0, 2)], ..healthy() }, &[]);
    check(Stats { minutes: vec![minute(1, 97, 3)], ..healthy() }, &[]);
    let expected = [(Severity::Broken, "50 % failed in the last 10 minutes")];
    check(Stats { minutes: vec![minute(1, 5, 5)], ..healthy() }, &expected);
}

#[test]
fn failures_of_muted_groups_raise_no_alert() {
    let muted = |failed, muted| Stats {
        minutes: vec![Minute { muted, ..minute(1, 5, failed) }],
        ..healthy()
    };
    check(muted(8, 8), &[]);
    check(muted(8, 6), &[]);
    let expected = [(Severity::Broken, "50 % failed in the last 10 minutes")];
    check(muted(8, 3), &expected);
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
            "store does not answer: gone",
            "j1 poison job: 3 workers died running it",
            "hot queue 1 job without a handler",
            "lint 2 problems in the store",
            "mail paused with 4 jobs queued",
            "keys 1 key belongs to no family",
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
fn what_is_acknowledged_comes_last_and_what_is_muted_is_left_out_until_its_end() {
    let paused = |queue: &str| Stats {
        queue: queue.into(),
        queued: 2,
        oldest_ms: Some(OLD_MS),
        paused: true,
        ..healthy()
    };
    let queues = ["a", "b", "c", "d"].map(paused).to_vec();
    let mute = |alert: &str, kind, until| AlertMute {
        alert: alert.into(),
        kind,
        reason: "moved".into(),
        actor: "ada".into(),
        at: NOW,
        until,
    };
    let told = |mutes: Vec<AlertMute>| {
        let facts = AlertFacts { queues: queues.clone(), mutes, ..facts() };
        let names = |alerts: Vec<Alert>| -> Vec<String> {
            let alerts = alerts.into_iter().filter(|alert| alert.kind == AlertKind::Paused);
            alerts.map(|alert| alert.subject).collect()
        };
        (names(alerts(&facts)), names(muted_alerts(&facts)))
    };
    let names = |names: &[&str]| names.iter().map(ToString::to_string).collect::<Vec<_>>();
    use AlertMuteKind::{Acknowledged, Muted};
    assert_eq!(told(vec![]), (names(&["4 queues"]), names(&[])));
    let one = mute("paused a", Muted, NOW + 1);
    assert_eq!(told(vec![one.clone()]), (names(&["3 queues"]), names(&["a"])));
    assert_eq!(
        told(vec![AlertMute { until: NOW, ..one.clone() }]),
        (names(&["4 queues"]), names(&[]))
    );
    let other = mute("paused b", Acknowledged, NOW + 1);
    assert_eq!(told(vec![one, other.clone()]), (names(&["c", "d", "b"]), names(&["a"])));
    // All of a kind, but for one of which something else was said.
    let all = mute("paused", Muted, NOW + 1);
    assert_eq!(told(vec![all, other]), (names(&["b"]), names(&["3 queues"])));
    assert_eq!(told(vec![mute("no-worker", Muted, NOW + 1)]), (names(&["4 queues"]), names(&[])));
}

#[test]
fn several_alerts_as_one_can_be_acted_on() {
    let stats = |queue: &str| Stats { queue: queue.into(), failed: 18, ..healthy() };
    let queues = ["a", "b", "c"].map(stats).to_vec();
    let found = alerts(&AlertFacts { queues, ..facts() });
    let [alert] = &found[..] else { panic!("one alert: {found:?}") };
    assert_eq!(
        (alert.subject.as_str(), &alert.action),
        ("3 queues", &Some(AlertAction::ShowCauses))
    );
    assert_eq!(
        (alert.mute_key().as_str(), alert.members[0].mute_key().as_str()),
        ("failed-held", "failed-held a")
    );
}

#[test]
fn key_of_an_alert_stays_while_its_numbers_change_and_is_its_own() {
    let keys = |queued, silent_ms, oldest_ms| {
        let of_queue = |queue: &str| Stats {
            queue: queue.into(),
            queued,
            failed: queued,
            oldest_ms: Some(oldest_ms),
            workers: vec![
                worker(NOW - silent_ms, 2),
                WorkerStats { worker: "x".into(), ..worker(NOW - silent_ms, 1) },
                WorkerStats { worker: "alive".into(), ..worker(NOW, 1) },
            ],
            dropped: queued,
            ..healthy()
        };
        let queues = ["a", "b", "c", "d"].map(of_queue).to_vec();
        let facts = AlertFacts { queues, breaker: Some(State::Open), ..facts() };
        let mut keys: Vec<_> = single_alerts(&facts).iter().map(Alert::key).collect();
        keys.sort();
        keys.dedup();
        keys
    };
    let first = keys(1, 10 * MINUTE_MS, OLD_MS);
    assert_eq!(first, keys(22, 100 * MINUTE_MS, 90 * OLD_MS));
    // Although the dashboard shows the queues as one.
    let kinds = ["behind", "dropped", "failed-held", "lost-worker"];
    let expected =
        kinds.iter().flat_map(|kind| ["a", "b", "c", "d"].map(|q| format!("{kind} {q}")));
    let expected: Vec<String> = expected.chain(["service entitlements".to_owned()]).collect();
    assert_eq!(first, expected);
}
