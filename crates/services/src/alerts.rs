//! What somebody should look at, worst first. The only place with rules of alerts: the dashboard and `keyrack top` draw what
//! [`alerts`] returns, and webhooks are told when it changes.
//!
//! [`AlertFacts::read`] reads the store, [`alerts`] judges without reading, so that each rule can be tested.
//! `mute` sets apart what somebody has acknowledged or muted.

mod group;
mod mute;
mod queues;
mod read;
mod rules;

use std::cmp::Reverse;

use keyrack_entitlements::State;
use keyrack_format as format;
use keyrack_identity::AlertMute;
use keyrack_jobs::bee::{QueueCounts, Stats};

use self::group::grouped;
pub(crate) use self::read::AlertReader;
pub use self::read::{FileFacts, QUEUES_MAX};

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

/// What an alert is about. Alerts of one kind about queues and jobs are shown as one when there are several.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum AlertKind {
    /// Jobs are queued and no worker is alive.
    NoWorker,
    /// Many jobs failed lately.
    Failing,
    /// A worker is silent and holds jobs.
    LostWorker,
    /// Jobs have waited for long.
    Behind,
    /// Ended jobs were deleted early.
    Dropped,
    /// Nothing starts although jobs are queued.
    Paused,
    /// Failed jobs are kept.
    FailedHeld,
    /// A job whose workers died.
    Poison,
    /// Anything else, of which there is one.
    Single,
}

impl AlertKind {
    /// Its word in the events of webhooks.
    pub(crate) fn word(self) -> &'static str {
        match self {
            AlertKind::NoWorker => "no-worker",
            AlertKind::Failing => "failing",
            AlertKind::LostWorker => "lost-worker",
            AlertKind::Behind => "behind",
            AlertKind::Dropped => "dropped",
            AlertKind::Paused => "paused",
            AlertKind::FailedHeld => "failed-held",
            AlertKind::Poison => "poison",
            AlertKind::Single => "service",
        }
    }
}

/// Something to look at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Alert {
    /// What it is about.
    pub kind: AlertKind,
    /// How bad it is.
    pub severity: Severity,
    /// What it is about, by name.
    pub subject: String,
    /// What is wrong.
    pub text: String,
    /// Where it is shown in full.
    pub page: AlertPage,
    /// How many jobs are concerned.
    pub jobs: u64,
    /// For how long, in milliseconds.
    pub age_ms: u64,
    /// What can be done about it at once.
    pub action: Option<AlertAction>,
    /// Those it stands for; none if it stands for itself.
    pub members: Vec<Alert>,
    /// Who has acknowledged or muted it, why, and until when.
    pub mute: Option<AlertMute>,
}

impl Alert {
    /// An alert about no jobs.
    fn new(severity: Severity, subject: &str, text: String, page: AlertPage) -> Alert {
        Alert {
            kind: AlertKind::Single,
            severity,
            subject: subject.to_owned(),
            text,
            page,
            jobs: 0,
            age_ms: 0,
            action: None,
            members: Vec::new(),
            mute: None,
        }
    }

    /// How many jobs for how long: the worst of a severity comes first.
    pub fn harm(&self) -> u64 {
        self.jobs.saturating_mul(self.age_ms / 1_000)
    }

    /// What tells it from all other alerts, and stays the same while its numbers and its severity change. Of one subject, several of
    /// one kind, such as two silent workers of a queue, are the same.
    pub(crate) fn key(&self) -> String {
        format!("{} {}", self.kind.word(), self.subject)
    }

    /// How many alerts it stands for.
    pub fn count(&self) -> usize {
        self.members.len().max(1)
    }
}

/// What can be done about an alert.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AlertAction {
    /// To let the jobs of a queue start again.
    Resume(String),
    /// To let the failed jobs of a queue run again.
    Retry(String),
    /// To look at the jobs that wait in a queue.
    ShowJobs(String),
    /// To look at the queues in a state.
    ShowQueues(QueueState),
    /// To look at why jobs of all queues failed.
    ShowCauses,
}

/// Which queues a list shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum QueueState {
    /// Jobs are queued and no worker is alive.
    NoWorker,
    /// Paused ones.
    Paused,
    /// Those that hold failed jobs.
    Failed,
    /// Those with jobs queued.
    Queued,
}

impl QueueState {
    /// All of them.
    pub const ALL: [QueueState; 4] =
        [QueueState::NoWorker, QueueState::Paused, QueueState::Failed, QueueState::Queued];

    /// Its word in addresses.
    pub const fn word(self) -> &'static str {
        match self {
            QueueState::NoWorker => "no-worker",
            QueueState::Paused => "paused",
            QueueState::Failed => "failed",
            QueueState::Queued => "queued",
        }
    }

    /// Whether a queue is in this state.
    pub fn is_of(self, counts: &QueueCounts) -> bool {
        match self {
            QueueState::NoWorker => counts.queued > 0 && !counts.paused && !counts.has_worker,
            QueueState::Paused => counts.paused,
            QueueState::Failed => counts.failed > 0,
            QueueState::Queued => counts.queued > 0,
        }
    }
}

/// The page of the dashboard that shows the subject of an alert.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum AlertPage {
    /// Whether the server is ready.
    Readiness,
    /// A queue.
    Queue(String),
    /// The queues in a state.
    Queues(QueueState),
    /// Why jobs of a queue failed.
    Errors(String),
    /// Why jobs of all queues failed.
    AllErrors,
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
    /// The queues, as many as are read in full.
    pub queues: Vec<Stats>,
    /// All other queues.
    pub other_queues: Vec<QueueCounts>,
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
    /// What somebody has acknowledged or muted.
    pub mutes: Vec<AlertMute>,
}

/// Everything that somebody should look at, each for itself and in no order.
pub(crate) fn single_alerts(facts: &AlertFacts) -> Vec<Alert> {
    let now_ms = facts.now_ms;
    let mut alerts: Vec<Alert> = Vec::new();
    for stats in &facts.queues {
        alerts.extend(queues::of_stats(stats, now_ms));
        alerts.extend(QueueCounts::of(stats, now_ms).iter().flat_map(queues::of_counts));
    }
    alerts.extend(facts.other_queues.iter().flat_map(queues::of_counts));
    let mut add = |severity, subject: &str, text: String, page| {
        alerts.push(Alert::new(severity, subject, text, page));
    };
    if let Some(reason) = &facts.store_error {
        add(Severity::Broken, "store", format!("does not answer: {reason}"), AlertPage::Readiness);
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
    alerts.extend(facts.poison_jobs.iter().map(|(jid, deaths)| queues::poison(jid, *deaths)));
    alerts
}

/// Everything that somebody should look at, the worst first, and what somebody looks after already behind it. Several of one kind
/// are one. What is muted is left out.
pub fn alerts(facts: &AlertFacts) -> Vec<Alert> {
    let [open, acknowledged, _] = mute::sorted_out(facts);
    [open, acknowledged].into_iter().flat_map(worst_first).collect()
}

/// What is muted, the worst first.
pub fn muted_alerts(facts: &AlertFacts) -> Vec<Alert> {
    let [.., muted] = mute::sorted_out(facts);
    worst_first(muted)
}

fn worst_first(alerts: Vec<Alert>) -> Vec<Alert> {
    let mut alerts = grouped(alerts);
    alerts.sort_by(|a, b| {
        // What is broken for everything comes before what is broken for some jobs.
        let is_of_some = |alert: &Alert| alert.kind != AlertKind::Single;
        let place = |alert: &Alert| match alert.severity {
            Severity::Broken => (alert.severity, is_of_some(alert), Reverse(alert.harm())),
            severity => (severity, false, Reverse(alert.harm())),
        };
        place(a).cmp(&place(b)).then_with(|| (&a.subject, &a.text).cmp(&(&b.subject, &b.text)))
    });
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

#[cfg(test)]
mod tests;
