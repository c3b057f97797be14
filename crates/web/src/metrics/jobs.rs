//! The job queues as metrics.
//!
//! Each metric has a series for each queue with metrics of its own, and one for all other queues together. `queue` reads a queue,
//! `survey` chooses queues and sums the others. Counters and histograms are totals that the store keeps, so they outlive the server.

use std::{sync::atomic::AtomicU64, time::Duration};

use keyrack_jobs::bee::{JobState, keys::QueueName};
use prometheus_client::{
    encoding::EncodeLabelSet,
    metrics::{counter::Counter, family::Family, gauge::Gauge},
    registry::{Registry, Unit},
};

use super::{
    queue::QueueMetrics,
    snapshot::{float, gauge},
    survey::read_all,
    times,
};
use crate::App;

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
    n_queues: u64,
    n_left_out: u64,
    /// How old the sum of the queues without metrics of their own is, if there is one.
    others_age: Option<Duration>,
    pub(super) queues: Vec<QueueMetrics>,
}

type NumberOf = fn(&QueueMetrics) -> u64;

const GAUGES: [(&str, &str, NumberOf); 4] = [
    ("workers", "Workers heard of in the last minute", |queue| queue.workers),
    ("workers_wanted", "Workers that the queue needs to start 95 % of its jobs in time", |queue| {
        queue.workers_wanted
    }),
    ("paused", "Whether the queue is paused", |queue| queue.paused),
    ("error_groups", "Groups of failures; at most 100 in a queue", |queue| queue.error_groups),
];

const COUNTERS: [(&str, &str, NumberOf); 10] = [
    ("submitted", "Jobs submitted", |queue| queue.totals.record.submitted),
    ("claimed", "Jobs claimed by workers", |queue| queue.totals.record.started),
    ("completed", "Jobs completed", |queue| queue.totals.record.completed),
    ("failed", "Jobs failed for good", |queue| queue.totals.record.failed),
    ("muted", "Jobs failed for good whose group of failures was muted", |queue| {
        queue.totals.record.muted
    }),
    ("retried", "Attempts that failed or were lost, and are retried", |queue| {
        queue.totals.record.retried
    }),
    ("canceled", "Jobs canceled", |queue| queue.totals.record.canceled),
    ("expired", "Jobs that had not started in time", |queue| queue.totals.record.expired),
    ("error_groups_folded", "Groups of failures that made room for others", |queue| {
        queue.totals.groups_folded
    }),
    ("errors_folded", "Failed attempts counted in groups that made room", |queue| {
        queue.totals.errors_folded
    }),
];

impl JobMetrics {
    /// Reads the queues with metrics of their own; nothing when the store does not answer.
    pub(super) async fn take(app: &App) -> Option<JobMetrics> {
        let hive = &app.services.jobs().await.ok()?.hive;
        let (names, rules) = (hive.queues().await.ok()?, &app.metrics_queues);
        let n_queues = names.len() as u64;
        let latest = match rules.leave_out_some(&names) {
            true => app.surveyor.latest(hive, rules).await,
            false => None,
        };
        let names: Vec<QueueName> = match &latest {
            Some(latest) => {
                let own = &latest.survey.own;
                names.into_iter().filter(|name| own.contains(name.as_str())).collect()
            }
            None => {
                let own = rules.choose(names.iter().map(|name| (name.as_str(), 0)));
                names.into_iter().filter(|name| own.contains(name.as_str())).collect()
            }
        };
        let mut queues = read_all(hive, &names).await;
        let n_left_out = n_queues.saturating_sub(queues.len() as u64);
        let others_age = latest.as_ref().map(|latest| latest.at.elapsed());
        queues.extend(latest.map(|latest| latest.survey.others.clone()));
        Some(JobMetrics { n_queues, n_left_out, others_age, queues })
    }

    pub(super) fn add_to(&self, registry: &mut Registry) {
        gauge(registry, "queues", "Queues that are known", self.n_queues);
        let help = "Queues without metrics of their own; queue=\"(others)\" has their sum";
        gauge(registry, "queues_left_out", help, self.n_left_out);
        if let Some(age) = self.others_age {
            let help = "Time since the queues without metrics of their own were summed";
            float(registry, "others_age", help, age.as_secs_f64());
        }
        self.add_places(registry);
        self.add_oldest(registry);
        for (name, help, number) in GAUGES {
            let family = Family::<QueueLabels, Gauge<u64, AtomicU64>>::default();
            for queue in &self.queues {
                family.get_or_create(&labels_of(queue)).set(number(queue));
            }
            registry.register(name, help, family);
        }
        for (name, help, number) in COUNTERS {
            let family = Family::<QueueLabels, Counter>::default();
            for queue in &self.queues {
                family.get_or_create(&labels_of(queue)).inc_by(number(queue));
            }
            registry.register(name, help, family);
        }
        times::add_to(registry, &self.queues);
    }

    fn add_places(&self, registry: &mut Registry) {
        let places = Family::<PlaceLabels, Gauge<u64, AtomicU64>>::default();
        for queue in &self.queues {
            for (place, n) in JobState::ALL.into_iter().zip(queue.held) {
                let labels = PlaceLabels { queue: queue.queue.clone(), place: place.as_str() };
                places.get_or_create(&labels).set(n);
            }
        }
        registry.register("held", "Jobs in each place of each queue", places);
    }

    fn add_oldest(&self, registry: &mut Registry) {
        let oldest = Family::<QueueLabels, Gauge<f64, AtomicU64>>::default();
        for queue in &self.queues {
            oldest.get_or_create(&labels_of(queue)).set(queue.oldest_ms as f64 / 1000.0);
        }
        let help = "How long the first queued job has been ready to start";
        registry.register_with_unit("oldest", help, Unit::Seconds, oldest);
    }
}

fn labels_of(queue: &QueueMetrics) -> QueueLabels {
    QueueLabels { queue: queue.queue.clone() }
}
