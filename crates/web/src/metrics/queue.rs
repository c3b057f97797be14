//! What is exported about one queue, or about several together.

use keyrack_jobs::{
    Error,
    bee::{Hive, JobState, Stats, errors::ErrorCounts, keys::QueueName, times::Record},
};

/// Stands in the label `queue` for all queues without metrics of their own. A queue of this name is one of them.
pub(super) const OTHERS: &str = "(others)";

/// What is exported about one queue, or about several together.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct QueueMetrics {
    pub(super) queue: String,
    /// Jobs in each place, in the order of [`JobState::ALL`].
    pub(super) held: [u64; JobState::ALL.len()],
    /// How long the first queued job has been ready to start. Of several queues the longest.
    pub(super) oldest_ms: u64,
    pub(super) workers: u64,
    pub(super) workers_wanted: u64,
    /// How many of the queues are paused.
    pub(super) paused: u64,
    pub(super) error_groups: u64,
    pub(super) totals: Totals,
    /// Jobs that have not ended, and jobs submitted and started in the last hour.
    pub(super) activity: u64,
}

/// What only grows.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Totals {
    pub(super) record: Record,
    pub(super) groups_folded: u64,
    pub(super) errors_folded: u64,
}

impl QueueMetrics {
    /// Reads a queue.
    pub(super) async fn read(hive: &Hive, name: &QueueName) -> Result<QueueMetrics, Error> {
        let (stats, record, errors) =
            tokio::try_join!(hive.stats(name), hive.times_total(name), hive.error_counts(name))?;
        let workers_wanted = hive.scaling_of(name, &stats, None).await?.workers;
        Ok(QueueMetrics {
            workers_wanted,
            ..QueueMetrics::of(&stats, record, errors, hive.now_ms())
        })
    }

    fn of(stats: &Stats, record: Record, errors: ErrorCounts, now_ms: u64) -> QueueMetrics {
        let waiting = stats.queued + stats.delayed + stats.waiting + stats.parked + stats.running;
        let recent = stats.minutes.iter().map(|minute| minute.submitted + minute.started);
        QueueMetrics {
            queue: stats.queue.clone(),
            held: JobState::ALL.map(|place| stats.jobs_in(place)),
            oldest_ms: stats.oldest_ms.unwrap_or(0),
            workers: stats.workers_alive(now_ms),
            workers_wanted: 0,
            paused: u64::from(stats.paused),
            error_groups: errors.groups,
            totals: Totals { record, groups_folded: errors.folded, errors_folded: errors.in_other },
            activity: waiting + recent.sum::<u64>(),
        }
    }

    /// Adds what another queue holds now.
    pub(super) fn add_present(&mut self, other: &QueueMetrics) {
        for (held, more) in self.held.iter_mut().zip(other.held) {
            *held += more;
        }
        self.oldest_ms = self.oldest_ms.max(other.oldest_ms);
        self.workers += other.workers;
        self.workers_wanted += other.workers_wanted;
        self.paused += other.paused;
        self.error_groups += other.error_groups;
    }
}

impl Totals {
    /// Adds others.
    pub(super) fn add(&mut self, other: &Totals) {
        self.record.merge(&other.record);
        self.groups_folded += other.groups_folded;
        self.errors_folded += other.errors_folded;
    }

    /// By how much they have grown since they were `earlier`. Those of a queue that was deleted have begun anew.
    pub(super) fn since(&self, earlier: &Totals) -> Totals {
        let grown = |now: u64, then: u64| now.checked_sub(then).unwrap_or(now);
        Totals {
            record: self.record.since(&earlier.record),
            groups_folded: grown(self.groups_folded, earlier.groups_folded),
            errors_folded: grown(self.errors_folded, earlier.errors_folded),
        }
    }
}
