//! How many groups of failures queues have, and what did not fit into them.

use std::sync::atomic::AtomicU64;

use keyrack_jobs::bee::errors::ErrorCounts;
use prometheus_client::{
    metrics::{counter::Counter, family::Family, gauge::Gauge},
    registry::Registry,
};

use super::jobs::QueueLabels;

/// Adds what is known of the queues.
pub(super) fn add_to(registry: &mut Registry, queues: &[(String, ErrorCounts)]) {
    let groups = Family::<QueueLabels, Gauge<u64, AtomicU64>>::default();
    let (folded, in_other) =
        (Family::<QueueLabels, Counter>::default(), Family::<QueueLabels, Counter>::default());
    for (queue, counts) in queues {
        let labels = QueueLabels { queue: queue.clone() };
        groups.get_or_create(&labels).set(counts.groups);
        folded.get_or_create(&labels).inc_by(counts.folded);
        in_other.get_or_create(&labels).inc_by(counts.in_other);
    }
    registry.register("error_groups", "Groups of failures; at most 100 in a queue", groups);
    let help = "Groups of failures that made room for others";
    registry.register("error_groups_folded", help, folded);
    registry.register(
        "errors_folded",
        "Failed attempts counted in groups that made room",
        in_other,
    );
}
