//! Waiting until nothing is left to do in some queues.

use std::time::Duration;

use keyrack_jobs::bee::{Filter, Hive, JobState, PAGE_MAX, Stats, keys::QueueName};

/// How often to look. Other workers may run the last jobs, so our own ends do not tell.
const LOOK_EVERY: Duration = Duration::from_millis(250);

/// Why there is nothing to wait for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum DrainEnd {
    /// No job is left to run, and none runs.
    Empty,
    /// None runs, and none may.
    Paused,
}

/// Waits until nothing is left to do in any of the queues, and returns those that are paused and have jobs. A store that
/// cannot be reached is asked again.
pub(super) async fn wait(hive: &Hive, queues: &[QueueName]) -> Vec<QueueName> {
    loop {
        if let Some(paused) = look(hive, queues).await {
            return paused;
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
}

/// The queues that are paused and have jobs, if there is nothing to do in the others. A job may submit to a queue that was
/// looked at before it, so all are looked at twice.
async fn look(hive: &Hive, queues: &[QueueName]) -> Option<Vec<QueueName>> {
    let mut paused = Vec::new();
    for (at, queue) in queues.iter().chain(queues.iter().filter(|_| queues.len() > 1)).enumerate() {
        let mut stats = hive.stats(queue).await.ok()?;
        if stats.parked > 0 && waits_for_paused_tenants(hive, queue, &stats).await? {
            stats.parked = 0;
        }
        match end(&stats, hive.now_ms())? {
            DrainEnd::Paused if at < queues.len() => paused.push(queue.clone()),
            _ => {}
        }
    }
    Some(paused)
}

/// Whether all parked jobs are of tenants that are paused. They wait for somebody to resume these.
async fn waits_for_paused_tenants(hive: &Hive, queue: &QueueName, stats: &Stats) -> Option<bool> {
    let paused = &stats.limits.paused_tenants;
    if paused.is_empty() || stats.running + stats.queued > 0 {
        return Some(false);
    }
    let (parked, mut cursor) = (Filter::at(JobState::Parked), None);
    loop {
        let page = hive.list(queue, &parked, cursor.as_deref(), PAGE_MAX).await.ok()?;
        let is_paused = |tenant: Option<&str>| tenant.is_some_and(|name| paused.contains(name));
        if !page.jobs.iter().all(|job| is_paused(job.tenant())) {
            return Some(false);
        }
        cursor = page.next;
        if cursor.is_none() {
            return Some(true);
        }
    }
}

fn end(stats: &Stats, now_ms: u64) -> Option<DrainEnd> {
    let is_due = stats.next_due_at.is_some_and(|due| due <= now_ms);
    let has_work = stats.queued + stats.parked > 0 || is_due;
    match (stats.running, has_work) {
        (0, false) => Some(DrainEnd::Empty),
        (0, true) if stats.paused => Some(DrainEnd::Paused),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(change: impl FnOnce(&mut Stats), expected: Option<DrainEnd>) {
        let mut stats = Stats::default();
        change(&mut stats);
        assert_eq!(end(&stats, 1_000), expected, "{stats:?}");
    }

    #[test]
    fn it_ends_when_no_job_could_start_or_runs() {
        check(|_| {}, Some(DrainEnd::Empty));
        check(|stats| stats.queued = 1, None);
        check(|stats| stats.parked = 1, None);
        check(|stats| stats.running = 1, None);
    }

    #[test]
    fn jobs_that_are_not_due_are_not_waited_for() {
        check(|stats| (stats.delayed, stats.next_due_at) = (1, Some(1_001)), Some(DrainEnd::Empty));
        check(|stats| (stats.delayed, stats.next_due_at) = (1, Some(1_000)), None);
        check(|stats| stats.waiting = 1, Some(DrainEnd::Empty));
    }

    #[test]
    fn a_paused_queue_is_not_waited_for_once_nothing_runs() {
        check(|stats| (stats.paused, stats.queued) = (true, 1), Some(DrainEnd::Paused));
        check(|stats| (stats.paused, stats.queued, stats.running) = (true, 1, 1), None);
        check(|stats| stats.paused = true, Some(DrainEnd::Empty));
    }
}
