//! What somebody ought to look at, worst first: a function of what was read, so that each rule can be tested.

use keyrack_entitlements::{BreakerReport, State};
use keyrack_files::Entry;
use keyrack_format as format;
use keyrack_jobs::bee::{SILENT_MS, Stats, WorkerStats};

use super::{link, queues::alive};

/// A job that waits for longer than this in the working queue is worth a look.
const OLD_MS: u64 = 5 * 60_000;
/// Over how many minutes failures are counted, and what share of how many is too much.
const FAILING_MINUTES: u64 = 10;
const FAILING_MIN: u64 = 3;
const FAILING_PERCENT: u64 = 10;
const MINUTE_MS: u64 = 60_000;
/// From so many failures on a file is worth a look.
const FILE_FAILURES_MIN: u32 = 3;
/// The most concerns that are listed.
pub(super) const CONCERNS_MAX: usize = 12;

/// How bad something is; the worst comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Weight {
    Broken,
    Warning,
    Note,
}

impl Weight {
    /// Its word in the stylesheet, and for those who do not see colours.
    pub(super) fn word(self) -> &'static str {
        match self {
            Weight::Broken => "broken",
            Weight::Warning => "warning",
            Weight::Note => "note",
        }
    }
}

/// Something to look at.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Concern {
    pub(super) weight: Weight,
    /// What it is about.
    pub(super) subject: String,
    pub(super) text: String,
    pub(super) link: String,
}

/// What is known beside the queues.
#[derive(Debug, Default)]
pub(super) struct Other {
    /// Why the store does not answer.
    pub(super) store_trouble: Option<String>,
    /// Keys that no family declares.
    pub(super) undeclared: u64,
    /// Problems that the last lint has found.
    pub(super) lint_problems: u64,
    /// Failed jobs that took workers with them, by id.
    pub(super) poisonous: Vec<(String, u64)>,
    /// Accounts whose rules spoke lately, and how often.
    pub(super) spoken: Vec<(String, u64)>,
    /// Whether the source of entitlements is asked.
    pub(super) breaker: Option<BreakerReport>,
    /// Files that could not be deleted, and the one that failed most often.
    pub(super) failing_files: u64,
    pub(super) worst_file: Option<Entry>,
}

/// Everything that ought to be looked at.
pub(super) fn concerns(queues: &[Stats], other: &Other, now: u64) -> Vec<Concern> {
    let mut concerns: Vec<Concern> = queues.iter().flat_map(|stats| of_queue(stats, now)).collect();
    let mut add = |weight, subject: &str, text: String, link: &str| {
        let (subject, link) = (subject.to_owned(), link.to_owned());
        concerns.push(Concern { weight, subject, text, link });
    };
    if let Some(reason) = &other.store_trouble {
        add(Weight::Broken, "store", format!("does not answer: {reason}"), "/readyz");
    }
    for (jid, deaths) in &other.poisonous {
        let workers = format::counted(*deaths, "worker");
        add(Weight::Broken, jid, format!("poison job: {workers} died running it"), &link::job(jid));
    }
    if let Some((weight, text)) = other.breaker.as_ref().and_then(of_breaker) {
        add(weight, "entitlements", text.into(), "/entitlements");
    }
    if let Some((weight, text)) = of_files(other) {
        add(weight, "files", text, "/files");
    }
    for (account, times) in &other.spoken {
        let text = format!("rules of the account spoke {}", format::counted(*times, "time"));
        let page = link::with_query("/calculations", &[("account", account)]);
        add(Weight::Note, account, format!("{text} in the last 10 minutes"), &page);
    }
    if other.lint_problems > 0 {
        let problems = format::counted(other.lint_problems, "problem");
        add(Weight::Warning, "lint", format!("{problems} in the store"), "/lint");
    }
    if other.undeclared > 0 {
        let rest = if other.undeclared == 1 { "belongs" } else { "belong" };
        let text = format!("{} {rest} to no family", format::counted(other.undeclared, "key"));
        add(Weight::Note, "keys", text, "/lint");
    }
    concerns.sort();
    concerns.truncate(CONCERNS_MAX);
    concerns
}

fn of_breaker(report: &BreakerReport) -> Option<(Weight, &'static str)> {
    match report.state {
        State::Closed => None,
        State::HalfOpen => {
            Some((Weight::Warning, "the source failed; it is being found out whether it is back"))
        }
        State::Open => {
            Some((Weight::Broken, "the source fails and is not asked; what is known has to do"))
        }
    }
}

/// A file that fails for the first time is tried again by itself; one that never can be deleted is not.
fn of_files(other: &Other) -> Option<(Weight, String)> {
    let worst = other.worst_file.as_ref()?;
    let failures = worst.failure.as_ref().map_or(0, |failure| failure.failures);
    let is_poisoned = worst.file.is_err();
    if failures < FILE_FAILURES_MIN && !is_poisoned {
        return None;
    }
    let files = format::counted(other.failing_files, "file");
    let times = format::counted(failures.into(), "time");
    let why = if is_poisoned { "an entry stands for no file" } else { "one has failed" };
    let times = if is_poisoned { String::new() } else { format!(" {times}") };
    Some((Weight::Warning, format!("{files} cannot be deleted; {why}{times}")))
}

fn of_queue(stats: &Stats, now: u64) -> Vec<Concern> {
    let mut found = Vec::new();
    let mut add = |weight, text: String, link: String| {
        found.push(Concern { weight, subject: stats.queue.clone(), text, link });
    };
    let page = link::queue(&stats.queue);
    if stats.queued > 0 && !stats.paused && alive(stats, now) == 0 {
        let jobs = format::counted(stats.queued, "job");
        add(Weight::Broken, format!("{jobs} queued and no worker is alive"), page.clone());
    }
    if let Some(percent) = failing(stats, now) {
        let text = format!("{percent} % failed in the last {FAILING_MINUTES} minutes");
        let failed = [("queue", stats.queue.as_str()), ("place", "failed")];
        add(Weight::Broken, text, link::with_query("/find", &failed));
    }
    for worker in stats.workers.iter().filter(|worker| is_lost(worker, now)) {
        let silent = format::age(now.saturating_sub(worker.seen_at));
        let jobs = format::counted(worker.running, "job");
        add(
            Weight::Warning,
            format!("worker {} is silent for {silent} and holds {jobs}", worker.worker),
            page.clone(),
        );
    }
    if stats.dropped > 0 {
        let jobs = format::counted(stats.dropped, "ended job");
        let text = format!("{jobs} deleted before their time in the last hour: more are not kept");
        add(Weight::Warning, text, page.clone());
    }
    if stats.paused && stats.queued > 0 {
        let jobs = format::counted(stats.queued, "job");
        add(Weight::Note, format!("paused with {jobs} queued"), page);
    } else if let Some(oldest) = stats.oldest_ms.filter(|oldest| *oldest >= OLD_MS) {
        let text = format!("the oldest job waits for {}", format::age(oldest));
        let queued = [("queue", stats.queue.as_str()), ("place", "queued")];
        add(Weight::Warning, text, link::with_query("/find", &queued));
    }
    found
}

/// The share of jobs that failed lately, if it is too large.
fn failing(stats: &Stats, now: u64) -> Option<u64> {
    let from = now.saturating_sub(FAILING_MINUTES * MINUTE_MS);
    let recent = stats.minutes.iter().filter(|minute| minute.at + MINUTE_MS > from);
    let (completed, failed) = recent.fold((0, 0), |(completed, failed), minute| {
        (completed + minute.completed, failed + minute.failed)
    });
    let percent = failed * 100 / (completed + failed).max(1);
    (failed >= FAILING_MIN && percent >= FAILING_PERCENT).then_some(percent)
}

/// A worker that says nothing and has jobs; one that has none just went away.
fn is_lost(worker: &WorkerStats, now: u64) -> bool {
    worker.running > 0 && now.saturating_sub(worker.seen_at) > SILENT_MS
}

#[cfg(test)]
mod tests {
    use keyrack_files::{Failure, File};
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
            minutes: vec![Minute {
                at: NOW - MINUTE_MS,
                completed: 97,
                failed: 3,
                ..Minute::default()
            }],
            ..Stats::default()
        }
    }

    #[track_caller]
    fn check(stats: Stats, expected: &[(Weight, &str)]) {
        let found = concerns(&[stats], &Other::default(), NOW);
        let found: Vec<_> =
            found.iter().map(|concern| (concern.weight, concern.text.as_str())).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn healthy_queue_is_no_concern() {
        check(healthy(), &[]);
        check(Stats::default(), &[]);
    }

    #[test]
    fn jobs_without_a_living_worker_are_broken() {
        let workers = vec![worker(NOW - SILENT_MS - 1, 0)];
        let told = [(Weight::Broken, "4 jobs queued and no worker is alive")];
        check(Stats { workers, ..healthy() }, &told);
    }

    #[test]
    fn failing_queue_is_told_from_one_that_fails_now_and_then() {
        let minute = |completed, failed| {
            vec![Minute { at: NOW - MINUTE_MS, completed, failed, ..Minute::default() }]
        };
        check(Stats { minutes: minute(0, 2), ..healthy() }, &[]);
        let told = [(Weight::Broken, "50 % failed in the last 10 minutes")];
        check(Stats { minutes: minute(5, 5), ..healthy() }, &told);
    }

    #[test]
    fn worker_that_died_with_jobs_is_told_and_one_that_left_is_not() {
        let workers = vec![worker(NOW, 1), worker(NOW - 120_000, 2), worker(NOW - 120_000, 0)];
        let told = [(Weight::Warning, "worker w is silent for 2 min and holds 2 jobs")];
        check(Stats { workers, ..healthy() }, &told);
    }

    #[test]
    fn ended_jobs_that_were_deleted_early_are_told() {
        let text = "5 ended jobs deleted before their time in the last hour: more are not kept";
        check(Stats { dropped: 5, ..healthy() }, &[(Weight::Warning, text)]);
    }

    #[test]
    fn old_jobs_are_told_unless_the_queue_is_paused() {
        let old = Stats { oldest_ms: Some(OLD_MS), ..healthy() };
        check(old.clone(), &[(Weight::Warning, "the oldest job waits for 5 min")]);
        check(Stats { paused: true, ..old }, &[(Weight::Note, "paused with 4 jobs queued")]);
    }

    #[test]
    fn worst_comes_first_and_there_is_an_end() {
        let other = Other {
            store_trouble: Some("gone".into()),
            undeclared: 1,
            lint_problems: 2,
            poisonous: vec![("j1".into(), 3)],
            ..Other::default()
        };
        let paused = Stats { paused: true, ..healthy() };
        let found = concerns(&vec![paused; 30], &other, NOW);
        assert_eq!(found.len(), CONCERNS_MAX);
        let weights: Vec<_> = found.iter().map(|concern| concern.weight).collect();
        assert!(weights.is_sorted());
        assert_eq!(found[0].text, "poison job: 3 workers died running it");
    }

    #[test]
    fn rules_that_spoke_are_told_with_their_account() {
        let other = Other { spoken: vec![("7".into(), 3)], ..Other::default() };
        let [concern] = &concerns(&[], &other, NOW)[..] else { panic!("one concern") };
        assert_eq!(concern.text, "rules of the account spoke 3 times in the last 10 minutes");
        assert_eq!(concern.link, "/calculations?account=7");
    }

    #[test]
    fn breaker_is_a_concern_unless_it_is_closed() {
        let told = |state| {
            let breaker = Some(BreakerReport { state, failures: vec![], next_trial_at: None });
            let found = concerns(&[], &Other { breaker, ..Other::default() }, NOW);
            found.first().map(|concern| (concern.weight, concern.link.clone()))
        };
        assert_eq!(told(State::Closed), None);
        assert_eq!(told(State::HalfOpen), Some((Weight::Warning, "/entitlements".into())));
        assert_eq!(told(State::Open), Some((Weight::Broken, "/entitlements".into())));
    }

    #[test]
    fn files_are_a_concern_when_they_keep_failing_or_are_none() {
        let told = |file, failures| {
            let failure = Failure { failures, failed_at: 0.0, reason: "no".into() };
            let entry = Entry { member: vec![], file, at: 0.0, failure: Some(failure) };
            let other = Other { failing_files: 2, worst_file: Some(entry), ..Other::default() };
            concerns(&[], &other, NOW).first().map(|concern| concern.text.clone())
        };
        let file = || Ok(File::new("b", "k"));
        assert_eq!(told(file(), 2), None);
        let text = "2 files cannot be deleted; one has failed 3 times";
        assert_eq!(told(file(), 3).as_deref(), Some(text));
        let text = "2 files cannot be deleted; an entry stands for no file";
        assert_eq!(told(Err("no JSON".into()), 1).as_deref(), Some(text));
    }
}
