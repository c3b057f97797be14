//! What somebody should look at, worst first. The only place with rules of alerts: the dashboard and `keyrack top` draw what
//! [`alerts`] returns, and webhooks are told when it changes.
//!
//! [`AlertFacts::read`] reads the store, [`alerts`] judges without reading, so that each rule can be tested.

mod read;
mod rules;

use keyrack_entitlements::State;
use keyrack_format as format;
use keyrack_jobs::bee::{SILENT_MS, Stats, WorkerStats};

pub(crate) use self::read::AlertReader;
pub use self::read::{FileFacts, QUEUES_MAX};

/// A job is old when it has been queued for this long.
const OLD_MS: u64 = 5 * 60_000;
/// A queue is failing when this many jobs, and this share of all that ended, failed in the last minutes.
const FAILING_MINUTES: u64 = 10;
const FAILING_MIN: u64 = 3;
const FAILING_PERCENT: u64 = 10;
const MINUTE_MS: u64 = 60_000;
/// A file counts as failing from this number of failed attempts on.
const FILE_FAILURES_MIN: u32 = 3;
/// For how long it is shown that a rule fired.
const RECENT_MINUTES: u64 = 10;

/// How bad something is; the worst comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Work is not done.
    Broken,
    /// Work will not be done, or data is lost, if nobody acts.
    Warning,
    /// Worth knowing.
    Note,
}

impl Severity {
    /// Its word in texts and in the stylesheet.
    pub fn word(self) -> &'static str {
        match self {
            Severity::Broken => "broken",
            Severity::Warning => "warning",
            Severity::Note => "note",
        }
    }
}

/// Something to look at.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Alert {
    /// How bad it is.
    pub severity: Severity,
    /// What it is about.
    pub subject: String,
    /// What is wrong.
    pub text: String,
    /// Where it is shown in full.
    pub page: AlertPage,
}

impl Alert {
    /// What tells it from all other alerts, and stays the same while its numbers change.
    pub(crate) fn key(&self) -> String {
        let (page, name) = match &self.page {
            AlertPage::Readiness => ("store", ""),
            AlertPage::Queue(name) => ("queue", &**name),
            AlertPage::FailedJobs(name) => ("failed", &**name),
            AlertPage::QueuedJobs(name) => ("waiting", &**name),
            AlertPage::Job(jid) => ("job", &**jid),
            AlertPage::Entitlements => ("entitlements", ""),
            AlertPage::Files => ("files", ""),
            AlertPage::Account(name) => ("account", &**name),
            AlertPage::Keys => ("hot queue", ""),
            AlertPage::Lint => ("lint", &*self.subject),
        };
        // A queue can have several silent workers, and may drop jobs as well.
        let worker = self.text.strip_prefix("worker ").and_then(|text| text.split(' ').next());
        format!("{page} {name} {} {}", self.severity.word(), worker.unwrap_or_default())
            .trim()
            .to_owned()
    }
}

/// The page of the dashboard that shows the subject of an alert.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum AlertPage {
    /// Whether the server is ready.
    Readiness,
    /// A queue.
    Queue(String),
    /// The failed jobs of a queue.
    FailedJobs(String),
    /// The queued jobs of a queue.
    QueuedJobs(String),
    /// A job, by its id.
    Job(String),
    /// Entitlements.
    Entitlements,
    /// Files to delete.
    Files,
    /// An account of calculations.
    Account(String),
    /// The key families.
    Keys,
    /// What lint found.
    Lint,
}

/// What the rules judge.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct AlertFacts {
    /// Why the store does not answer.
    pub store_error: Option<String>,
    /// When the facts were read.
    pub now_ms: u64,
    /// The queues.
    pub queues: Vec<Stats>,
    /// Failed jobs whose workers died, by id, and how many workers that were.
    pub poison_jobs: Vec<(String, u64)>,
    /// Jobs of the hot queue that no worker has a handler for.
    pub unknown_hot_jobs: u64,
    /// Accounts with rules that fired recently, and how often.
    pub recent_rules: Vec<(String, u64)>,
    /// Whether the source of entitlements is asked.
    pub breaker: Option<State>,
    /// Files that wait to be deleted.
    pub files: FileFacts,
    /// Keys that no family declares.
    pub undeclared_keys: u64,
    /// Problems that the last lint of this process found.
    pub lint_problems: u64,
}

/// Everything that somebody should look at, the worst first.
pub fn alerts(facts: &AlertFacts) -> Vec<Alert> {
    let mut alerts: Vec<Alert> =
        facts.queues.iter().flat_map(|stats| of_queue(stats, facts.now_ms)).collect();
    let mut add = |severity, subject: &str, text: String, page| {
        alerts.push(Alert { severity, subject: subject.to_owned(), text, page });
    };
    if let Some(reason) = &facts.store_error {
        add(Severity::Broken, "store", format!("does not answer: {reason}"), AlertPage::Readiness);
    }
    for (jid, deaths) in &facts.poison_jobs {
        let workers = format::counted(*deaths, "worker");
        let text = format!("poison job: {workers} died running it");
        add(Severity::Broken, jid, text, AlertPage::Job(jid.clone()));
    }
    if let Some((severity, text)) = facts.breaker.and_then(of_breaker) {
        add(severity, "entitlements", text.into(), AlertPage::Entitlements);
    }
    if let Some(text) = of_files(&facts.files) {
        add(Severity::Warning, "files", text, AlertPage::Files);
    }
    if facts.unknown_hot_jobs > 0 {
        let jobs = format::counted(facts.unknown_hot_jobs, "job");
        add(Severity::Warning, "hot queue", format!("{jobs} without a handler"), AlertPage::Keys);
    }
    for (account, times) in &facts.recent_rules {
        let times = format::counted(*times, "time");
        let text = format!("rules fired {times} in the last {RECENT_MINUTES} minutes");
        add(Severity::Note, account, text, AlertPage::Account(account.clone()));
    }
    if facts.lint_problems > 0 {
        let problems = format::counted(facts.lint_problems, "problem");
        add(Severity::Warning, "lint", format!("{problems} in the store"), AlertPage::Lint);
    }
    if facts.undeclared_keys > 0 {
        let verb = if facts.undeclared_keys == 1 { "belongs" } else { "belong" };
        let keys = format::counted(facts.undeclared_keys, "key");
        add(Severity::Note, "keys", format!("{keys} {verb} to no family"), AlertPage::Lint);
    }
    alerts.sort();
    alerts
}

fn of_breaker(state: State) -> Option<(Severity, &'static str)> {
    match state {
        State::Closed => None,
        State::HalfOpen => Some((
            Severity::Warning,
            "the billing provider failed; one request tests whether it is back",
        )),
        State::Open => Some((
            Severity::Broken,
            "the billing provider is failing; cached entitlements are used until it recovers",
        )),
    }
}

/// A file that fails for the first time is tried again by itself; one that never can be deleted is not.
fn of_files(files: &FileFacts) -> Option<String> {
    let worst = files.worst.as_ref()?;
    let failures = worst.failure.as_ref().map_or(0, |failure| failure.failures);
    let is_invalid = worst.file.is_err();
    if failures < FILE_FAILURES_MIN && !is_invalid {
        return None;
    }
    let why = match is_invalid {
        true => "an entry names no file".to_owned(),
        false => format!("one has failed {}", format::counted(failures.into(), "time")),
    };
    Some(format!("{} cannot be deleted; {why}", format::counted(files.failing, "file")))
}

fn of_queue(stats: &Stats, now_ms: u64) -> Vec<Alert> {
    let mut found = Vec::new();
    let queue = || stats.queue.clone();
    let mut add = |severity, text: String, page| {
        found.push(Alert { severity, subject: queue(), text, page });
    };
    let jobs = format::counted(stats.queued, "job");
    if stats.queued > 0 && !stats.paused && stats.workers_alive(now_ms) == 0 {
        let text = format!("{jobs} queued and no worker is alive");
        add(Severity::Broken, text, AlertPage::Queue(queue()));
    }
    if let Some(percent) = failing(stats, now_ms) {
        let text = format!("{percent} % failed in the last {FAILING_MINUTES} minutes");
        add(Severity::Broken, text, AlertPage::FailedJobs(queue()));
    }
    for worker in stats.workers.iter().filter(|worker| is_lost(worker, now_ms)) {
        let silent = format::age(now_ms.saturating_sub(worker.seen_at));
        let held = format::counted(worker.running, "job");
        let text = format!("worker {} is silent for {silent} and holds {held}", worker.worker);
        add(Severity::Warning, text, AlertPage::Queue(queue()));
    }
    if stats.dropped > 0 {
        let ended = format::counted(stats.dropped, "ended job");
        let text = format!("{ended} deleted early in the last hour: the queue keeps no more");
        add(Severity::Warning, text, AlertPage::Queue(queue()));
    }
    if stats.paused && stats.queued > 0 {
        add(Severity::Note, format!("paused with {jobs} queued"), AlertPage::Queue(queue()));
    } else if let Some(oldest) = stats.oldest_ms.filter(|ms| *ms >= OLD_MS && stats.queued > 0) {
        let text = format!("the oldest job has waited for {}", format::age(oldest));
        add(Severity::Warning, text, AlertPage::QueuedJobs(queue()));
    }
    found
}

/// The share of jobs that failed in the last minutes, if it is too large. A minute without jobs has no entry.
fn failing(stats: &Stats, now_ms: u64) -> Option<u64> {
    let from = now_ms.saturating_sub(FAILING_MINUTES * MINUTE_MS);
    let recent = stats.minutes.iter().filter(|minute| minute.at + MINUTE_MS > from);
    let (completed, failed) = recent.fold((0, 0), |(completed, failed), minute| {
        (completed + minute.completed, failed + minute.failed)
    });
    let percent = failed * 100 / (completed + failed).max(1);
    (failed >= FAILING_MIN && percent >= FAILING_PERCENT).then_some(percent)
}

/// A silent worker that holds jobs is lost; one that holds none has left.
fn is_lost(worker: &WorkerStats, now_ms: u64) -> bool {
    worker.running > 0 && now_ms.saturating_sub(worker.seen_at) > SILENT_MS
}

#[cfg(test)]
mod tests;
