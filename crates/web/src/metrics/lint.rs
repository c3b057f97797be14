//! What the lint that goes along with the server has found.

use std::sync::atomic::AtomicU64;

use keyrack_services::Walked;
use prometheus_client::{
    metrics::{family::Family, gauge::Gauge},
    registry::Registry,
};

use super::snapshot::{FamilyLabels, counter, float, gauge};

type ByFamily = Family<FamilyLabels, Gauge<u64, AtomicU64>>;

/// Adds what the latest walk found, by family.
pub(super) fn add_to(registry: &mut Registry, walked: &Walked) {
    let report = &walked.report;
    let (keys, bytes, problems) = (ByFamily::default(), ByFamily::default(), ByFamily::default());
    for (id, tally) in &report.families {
        let labels = FamilyLabels { family: id.clone() };
        keys.get_or_create(&labels).set(tally.keys);
        if let Some(memory) = tally.bytes() {
            bytes.get_or_create(&labels).set(memory);
        }
        let found = report.family_problems.get(id).copied().unwrap_or(0);
        problems.get_or_create(&labels).set(found);
    }
    registry.register("family_keys", "Keys of each family that the lint met", keys);
    registry.register("family_memory_bytes", "Memory of each family, estimated if sampled", bytes);
    let help = "Violations that the lint found in keys of each family";
    registry.register("family_violations", help, problems);
    let help = "Keys that no family declares";
    gauge(registry, "undeclared_keys", help, report.unknown.keys);
    gauge(registry, "keys", "Keys that the lint met", report.keys);
    gauge(registry, "checked_keys", "Keys that the lint looked into", report.checked);
    counter(registry, "walks", "Walks through the store that have ended", walked.walks);
    float(registry, "age", "Time since the end of the walk", walked.at.elapsed().as_secs_f64());
}
