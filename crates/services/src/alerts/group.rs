//! Several alerts of one kind as one: hundreds of queues have one cause more often than hundreds.

use std::collections::BTreeMap;

use keyrack_format as format;

use super::{Alert, AlertAction, AlertKind, AlertPage, QueueState, queues::FAILING_MINUTES};

/// So many of one kind are shown as one.
const MEMBERS_MIN: usize = 3;

/// The same alerts, several of one kind as one that stands for them.
pub(super) fn grouped(alerts: Vec<Alert>) -> Vec<Alert> {
    let mut by_kind: BTreeMap<AlertKind, Vec<Alert>> = BTreeMap::new();
    for alert in alerts {
        by_kind.entry(alert.kind).or_default().push(alert);
    }
    let groups = by_kind.into_iter().flat_map(|(kind, members)| match page_of(kind) {
        Some(page) if members.len() >= MEMBERS_MIN => vec![group(kind, page, members)],
        _ => members,
    });
    groups.collect()
}

/// Where all of a kind are shown; nothing of those that are never grouped.
fn page_of(kind: AlertKind) -> Option<AlertPage> {
    match kind {
        AlertKind::NoWorker => Some(AlertPage::Queues(QueueState::NoWorker)),
        AlertKind::Failing | AlertKind::FailedHeld | AlertKind::Poison => {
            Some(AlertPage::AllErrors)
        }
        AlertKind::LostWorker | AlertKind::Behind => Some(AlertPage::Queues(QueueState::Queued)),
        AlertKind::Paused => Some(AlertPage::Queues(QueueState::Paused)),
        // Their queues have no state in common.
        AlertKind::Dropped | AlertKind::Single => None,
    }
}

fn group(kind: AlertKind, page: AlertPage, mut members: Vec<Alert>) -> Alert {
    members.sort_by_key(|alert| std::cmp::Reverse(alert.harm()));
    let jobs = members.iter().fold(0, |sum: u64, alert| sum.saturating_add(alert.jobs));
    let age_ms = members.iter().map(|alert| alert.age_ms).max().unwrap_or(0);
    let severity = members.iter().map(|alert| alert.severity).min();
    let severity = severity.expect("a group has members");
    let n = members.len() as u64;
    let noun = match kind {
        AlertKind::Poison => "job",
        AlertKind::LostWorker => "worker",
        _ => "queue",
    };
    let (counted, oldest) = (format::counted(jobs, "job"), format::age(age_ms));
    let text = match kind {
        AlertKind::NoWorker => {
            format!("have no worker: {counted} queued, the oldest has waited for {oldest}")
        }
        AlertKind::Failing => {
            format!("are failing: {counted} failed in the last {FAILING_MINUTES} minutes")
        }
        AlertKind::LostWorker => format!("are silent, for up to {oldest}, and hold {counted}"),
        AlertKind::Behind => {
            format!("are behind: {counted} queued, the oldest has waited for {oldest}")
        }
        AlertKind::Paused => format!("are paused with {counted} queued"),
        AlertKind::FailedHeld => format!("hold {}", format::counted(jobs, "failed job")),
        AlertKind::Poison => "are poison: their workers died running them".into(),
        AlertKind::Dropped | AlertKind::Single => counted,
    };
    let alert = Alert::new(severity, &format::counted(n, noun), text, page);
    let (mute, action) = (members[0].mute.clone(), action_of(kind));
    // Their harm is that of all together, not that of all jobs for as long as the oldest.
    let harm = members.iter().fold(0, |sum: u64, alert| sum.saturating_add(alert.harm()));
    let mean_ms = harm.saturating_mul(1_000) / jobs.max(1);
    Alert { kind, jobs, age_ms: mean_ms, action, members, mute, ..alert }
}

/// What can be done about all of a kind: to look at what they have in common. What changes jobs is done queue by queue, where its
/// number is shown first.
fn action_of(kind: AlertKind) -> Option<AlertAction> {
    match kind {
        AlertKind::Failing | AlertKind::FailedHeld | AlertKind::Poison => {
            Some(AlertAction::ShowCauses)
        }
        AlertKind::NoWorker => Some(AlertAction::ShowQueues(QueueState::NoWorker)),
        AlertKind::LostWorker | AlertKind::Behind => {
            Some(AlertAction::ShowQueues(QueueState::Queued))
        }
        AlertKind::Paused => Some(AlertAction::ShowQueues(QueueState::Paused)),
        AlertKind::Dropped | AlertKind::Single => None,
    }
}
