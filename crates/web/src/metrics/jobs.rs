//! The job queues as metrics.
//!
//! The store counts what happened in each of the last sixty minutes. Totals are what these have grown by since the
//! server first looked: they never go down, and are exact as long as somebody asks once an hour.

use std::{
    collections::{BTreeMap, HashMap},
    sync::{Mutex, PoisonError, atomic::AtomicU64},
};

use futures_util::{StreamExt as _, stream};
use keyrack_jobs::bee::{
    Minute, Place, Stats, errors::ErrorCounts, keys::QueueName, times::Record,
};
use prometheus_client::{
    encoding::EncodeLabelSet,
    metrics::{counter::Counter, family::Family, gauge::Gauge},
    registry::{Registry, Unit},
};

use super::{errors, snapshot::gauge, times};
use crate::App;

/// Queues that have time series unless the server is told otherwise; further ones are only counted, since names come from
/// outside.
pub const QUEUES_MAX: usize = 200;
/// Queues that are asked at once.
const AT_ONCE: usize = 8;

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct QueueLabels {
    pub(super) queue: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct PlaceLabels {
    queue: String,
    place: &'static str,
}

/// What is known about the queues at one moment.
pub(super) struct JobMetrics {
    queues: u64,
    now_ms: u64,
    stats: Vec<(Stats, Counts)>,
    /// What was ever counted in each queue.
    totals: Vec<(String, Record)>,
    /// How many groups of failures each queue has.
    errors: Vec<(String, ErrorCounts)>,
    /// The workers that each queue needs.
    workers_wanted: Vec<(String, u64)>,
}

/// What has happened in a queue since the server first looked.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Counts {
    submitted: u64,
    started: u64,
    completed: u64,
    failed: u64,
}

/// One of the counts.
type Pick = fn(&Counts) -> u64;

impl Counts {
    /// Adds what a minute has grown by.
    fn grow(&mut self, from: Minute, to: Minute) {
        self.submitted += to.submitted.saturating_sub(from.submitted);
        self.started += to.started.saturating_sub(from.started);
        self.completed += to.completed.saturating_sub(from.completed);
        self.failed += to.failed.saturating_sub(from.failed);
    }
}

/// The totals of all queues, and the minutes they were last made from.
#[derive(Debug, Default)]
pub(crate) struct Totals {
    queues: Mutex<HashMap<String, Total>>,
}

#[derive(Debug, Default)]
struct Total {
    /// By their beginning, as they were last seen.
    minutes: BTreeMap<u64, Minute>,
    counts: Counts,
}

impl Totals {
    fn update(&self, stats: &Stats) -> Counts {
        let mut queues = self.queues.lock().unwrap_or_else(PoisonError::into_inner);
        let total = queues.entry(stats.queue.clone()).or_default();
        for minute in &stats.minutes {
            let before = total.minutes.get(&minute.at).copied().unwrap_or_default();
            total.counts.grow(before, *minute);
        }
        total.minutes = stats.minutes.iter().map(|minute| (minute.at, *minute)).collect();
        total.counts
    }

    /// Forgets all queues but these.
    fn retain(&self, names: &[QueueName]) {
        let mut queues = self.queues.lock().unwrap_or_else(PoisonError::into_inner);
        queues.retain(|queue, _| names.iter().any(|name| name.as_str() == queue));
    }
}

impl JobMetrics {
    /// Asks every queue; nothing when the store does not answer.
    pub(super) async fn take(app: &App) -> Option<JobMetrics> {
        let hive = &app.services.jobs().await.ok()?.hive;
        let mut names = hive.queues().await.ok()?;
        let queues = names.len() as u64;
        names.truncate(app.metrics_queues);
        app.totals.retain(&names);
        let asked = stream::iter(names).map(async |name| {
            let (stats, total, errors) =
                tokio::join!(hive.stats(&name), hive.times_total(&name), hive.error_counts(&name));
            let stats = stats.ok()?;
            let scaling = hive.scaling_of(&name, &stats, None).await.ok()?;
            Some((stats, total.ok()?, errors.ok()?, scaling.workers))
        });
        let found =
            asked.buffered(AT_ONCE).filter_map(std::future::ready).collect::<Vec<_>>().await;
        let (mut all, mut totals, mut errors) = (Vec::new(), Vec::new(), Vec::new());
        let mut workers_wanted = Vec::new();
        for (stats, total, of_errors, wanted) in found {
            workers_wanted.push((stats.queue.clone(), wanted));
            let counts = app.totals.update(&stats);
            errors.push((stats.queue.clone(), of_errors));
            totals.push((stats.queue.clone(), total));
            all.push((stats, counts));
        }
        let now_ms = hive.now_ms();
        Some(JobMetrics { queues, now_ms, stats: all, totals, errors, workers_wanted })
    }

    pub(super) fn add_to(&self, registry: &mut Registry) {
        gauge(registry, "queues", "Queues that are known", self.queues);
        let left_out = self.queues.saturating_sub(self.stats.len() as u64);
        let help = "Queues without metrics of their own; the setting metrics-queues says how many have them";
        gauge(registry, "queues_left_out", help, left_out);
        self.add_places(registry);
        self.add_states(registry);
        self.add_totals(registry);
        times::add_to(registry, &self.totals);
        errors::add_to(registry, &self.errors);
    }

    fn add_places(&self, registry: &mut Registry) {
        let places = Family::<PlaceLabels, Gauge<u64, AtomicU64>>::default();
        for (stats, _) in &self.stats {
            let numbers = [
                (Place::Queued, stats.queued),
                (Place::Delayed, stats.delayed),
                (Place::Waiting, stats.waiting),
                (Place::Parked, stats.parked),
                (Place::Running, stats.running),
                (Place::Failed, stats.failed),
                (Place::Ended, stats.ended),
            ];
            for (place, n) in numbers {
                let labels = PlaceLabels { queue: stats.queue.clone(), place: place.as_str() };
                places.get_or_create(&labels).set(n);
            }
        }
        registry.register("held", "Jobs in each place of each queue", places);
    }

    fn add_states(&self, registry: &mut Registry) {
        let oldest = Family::<QueueLabels, Gauge<f64, AtomicU64>>::default();
        let workers = Family::<QueueLabels, Gauge<u64, AtomicU64>>::default();
        let paused = Family::<QueueLabels, Gauge<u64, AtomicU64>>::default();
        let wanted = Family::<QueueLabels, Gauge<u64, AtomicU64>>::default();
        for (queue, n) in &self.workers_wanted {
            wanted.get_or_create(&QueueLabels { queue: queue.clone() }).set(*n);
        }
        for (stats, _) in &self.stats {
            let labels = QueueLabels { queue: stats.queue.clone() };
            oldest.get_or_create(&labels).set(stats.oldest_ms.unwrap_or(0) as f64 / 1000.0);
            workers.get_or_create(&labels).set(stats.workers_alive(self.now_ms));
            paused.get_or_create(&labels).set(u64::from(stats.paused));
        }
        let help = "For how long the first job of the queue could have started";
        registry.register_with_unit("oldest", help, Unit::Seconds, oldest);
        registry.register("workers", "Workers heard of in the last minute", workers);
        let help = "Workers that the queue needs to start 95 % of its jobs in time";
        registry.register("workers_wanted", help, wanted);
        registry.register("paused", "Whether the queue is paused", paused);
    }

    fn add_totals(&self, registry: &mut Registry) {
        let totals: [(&str, &str, Pick); 4] = [
            ("submitted", "Jobs submitted", |counts| counts.submitted),
            ("claimed", "Jobs claimed by workers", |counts| counts.started),
            ("completed", "Jobs completed", |counts| counts.completed),
            ("failed", "Jobs failed for good", |counts| counts.failed),
        ];
        for (name, help, value) in totals {
            let family = Family::<QueueLabels, Counter>::default();
            for (stats, counts) in &self.stats {
                let labels = QueueLabels { queue: stats.queue.clone() };
                family.get_or_create(&labels).inc_by(value(counts));
            }
            registry.register(name, help, family);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stats(minutes: &[(u64, u64)]) -> Stats {
        let minutes = minutes.iter().map(|(at, completed)| Minute {
            at: *at,
            completed: *completed,
            ..Minute::default()
        });
        Stats { queue: "emails".into(), minutes: minutes.collect(), ..Stats::default() }
    }

    #[test]
    fn totals_grow_by_what_is_new_and_stay_when_minutes_are_forgotten() {
        let totals = Totals::default();
        let completed = |minutes: &[(u64, u64)]| totals.update(&stats(minutes)).completed;
        assert_eq!(completed(&[(1, 5)]), 5);
        assert_eq!(completed(&[(1, 5)]), 5);
        assert_eq!(completed(&[(1, 7), (2, 1)]), 8);
        assert_eq!(completed(&[(2, 3)]), 10, "the first minute is an hour old");
        assert_eq!(completed(&[]), 10);
        assert_eq!(completed(&[(9, 1)]), 11, "the queue was deleted and is back");
    }
}
