//! Rules about queues: what is told of one.

use keyrack_format as format;
use keyrack_jobs::bee::{QueueCounts, SILENT_MS, Stats, WorkerStats};

use super::{Alert, AlertAction, AlertKind, AlertPage, MINUTE_MS, QueueState, Severity};

/// A job is old when it has been queued for this long.
pub(super) const OLD_MS: u64 = 5 * MINUTE_MS;
/// For so long a queue may have jobs and no worker: workers are started again, and a new queue begins with its first job.
pub(super) const GRACE_MS: u64 = MINUTE_MS;
/// A queue is failing when this many jobs, and this share of all that ended, failed in the last minutes.
pub(super) const FAILING_MINUTES: u64 = 10;
const FAILING_MIN: u64 = 3;
const FAILING_PERCENT: u64 = 10;

/// What can be told of a queue of which only counts are known.
pub(super) fn of_counts(counts: &QueueCounts) -> Vec<Alert> {
    let queue = counts.queue.to_string();
    let jobs = format::counted(counts.queued, "job");
    let oldest = counts.oldest_ms.unwrap_or(0);
    let mut found = Vec::new();
    let mut add = |kind, severity, text, page, jobs, age_ms, action| {
        let alert = Alert::new(severity, &queue, text, page);
        found.push(Alert { kind, jobs, age_ms, action: Some(action), ..alert });
    };
    let show = AlertAction::ShowJobs(queue.clone());
    let (waiting, is_worked_on) = (AlertPage::QueuedJobs(queue.clone()), counts.has_worker);
    if QueueState::NoWorker.is_of(counts) && oldest >= GRACE_MS {
        let text = format!(
            "{jobs} queued and no worker is alive; the oldest has waited for {}",
            format::age(oldest)
        );
        let page = AlertPage::Queue(queue.clone());
        add(AlertKind::NoWorker, Severity::Broken, text, page, counts.queued, oldest, show);
    } else if counts.paused && counts.queued > 0 {
        let text = format!("paused with {jobs} queued");
        let page = AlertPage::Queue(queue.clone());
        let resume = AlertAction::Resume(queue.clone());
        add(AlertKind::Paused, Severity::Note, text, page, counts.queued, oldest, resume);
    } else if counts.queued > 0 && oldest >= OLD_MS && is_worked_on {
        let text = format!("the oldest job has waited for {}", format::age(oldest));
        add(AlertKind::Behind, Severity::Warning, text, waiting, counts.queued, oldest, show);
    }
    if counts.failed > 0 {
        let text = format!("{} held", format::counted(counts.failed, "failed job"));
        let page = AlertPage::Errors(queue.clone());
        let retry = AlertAction::Retry(queue.clone());
        // For how long they are held is not known.
        add(AlertKind::FailedHeld, Severity::Note, text, page, counts.failed, 1_000, retry);
    }
    found
}

/// What else can be told of a queue whose minutes and workers are known.
pub(super) fn of_stats(stats: &Stats, now_ms: u64) -> Vec<Alert> {
    let queue = || stats.queue.clone();
    let mut found = Vec::new();
    if let Some((failed, percent)) = failing(stats, now_ms) {
        let text = format!("{percent} % failed in the last {FAILING_MINUTES} minutes");
        let page = AlertPage::Errors(queue());
        let alert = Alert::new(Severity::Broken, &stats.queue, text, page);
        let age_ms = FAILING_MINUTES * MINUTE_MS;
        let retry = Some(AlertAction::Retry(queue())).filter(|_| stats.failed > 0);
        let kind = AlertKind::Failing;
        found.push(Alert { kind, jobs: failed, age_ms, action: retry, ..alert });
    }
    for worker in stats.workers.iter().filter(|worker| is_lost(worker, now_ms)) {
        let age_ms = now_ms.saturating_sub(worker.seen_at);
        let silent = format::age(age_ms);
        let held = format::counted(worker.running, "job");
        let text = format!("worker {} is silent for {silent} and holds {held}", worker.worker);
        let alert = Alert::new(Severity::Warning, &stats.queue, text, AlertPage::Queue(queue()));
        let kind = AlertKind::LostWorker;
        found.push(Alert { kind, jobs: worker.running, age_ms, ..alert });
    }
    if stats.dropped > 0 {
        let ended = format::counted(stats.dropped, "ended job");
        let text = format!("{ended} deleted early in the last hour: the queue keeps no more");
        let alert = Alert::new(Severity::Warning, &stats.queue, text, AlertPage::Queue(queue()));
        let (kind, age_ms) = (AlertKind::Dropped, 60 * MINUTE_MS);
        found.push(Alert { kind, jobs: stats.dropped, age_ms, ..alert });
    }
    found
}

/// A job whose workers died.
pub(super) fn poison(jid: &str, deaths: u64) -> Alert {
    let text = format!("poison job: {} died running it", format::counted(deaths, "worker"));
    let alert = Alert::new(Severity::Broken, jid, text, AlertPage::Job(jid.to_owned()));
    Alert { kind: AlertKind::Poison, jobs: 1, ..alert }
}

/// How many jobs failed in the last minutes and which share of all, if it is too large. A minute without jobs has no entry.
/// Nobody wants to hear of failures of muted groups.
fn failing(stats: &Stats, now_ms: u64) -> Option<(u64, u64)> {
    let from = now_ms.saturating_sub(FAILING_MINUTES * MINUTE_MS);
    let recent = stats.minutes.iter().filter(|minute| minute.at + MINUTE_MS > from);
    let (completed, failed) = recent.fold((0, 0), |(completed, failed), minute| {
        (completed + minute.completed, failed + minute.failed.saturating_sub(minute.muted))
    });
    let percent = failed * 100 / (completed + failed).max(1);
    (failed >= FAILING_MIN && percent >= FAILING_PERCENT).then_some((failed, percent))
}

/// A silent worker that holds jobs is lost; one that holds none has left.
fn is_lost(worker: &WorkerStats, now_ms: u64) -> bool {
    worker.running > 0 && now_ms.saturating_sub(worker.seen_at) > SILENT_MS
}
