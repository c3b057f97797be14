//! How entitlements are doing, as metrics.

use std::sync::atomic::AtomicU64;

use keyrack_entitlements::{Counts, State};
use prometheus_client::{
    encoding::EncodeLabelSet,
    metrics::{counter::Counter, family::Family, gauge::Gauge},
    registry::Registry,
};

use crate::App;

/// How entitlements are doing at one moment.
pub(super) struct EntitlementMetrics {
    counts: Counts,
    breaker: Option<State>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OriginLabels {
    origin: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct StateLabels {
    state: &'static str,
}

impl EntitlementMetrics {
    /// `None` where there are no entitlements.
    pub(super) async fn take(app: &App) -> Option<EntitlementMetrics> {
        let entitlements = &app.services.billing.as_ref()?.entitlements;
        let breaker = entitlements.breaker().await.ok();
        Some(EntitlementMetrics { counts: entitlements.counts(), breaker })
    }

    pub(super) fn add_to(&self, registry: &mut Registry) {
        let counts = &self.counts;
        let lookups = Family::<OriginLabels, Counter>::default();
        let origins = [
            ("local", counts.local),
            ("store", counts.store),
            ("source", counts.source),
            ("last_known", counts.last_known),
            ("assumed", counts.assumed),
        ];
        for (origin, count) in origins {
            lookups.get_or_create(&OriginLabels { origin }).inc_by(count);
        }
        registry.register("lookups", "Reads of entitlements, by who answered", lookups);
        let totals = [
            ("source_requests", "Requests to the source of entitlements", counts.requests),
            ("source_failures", "Requests to the source that failed", counts.failures),
            ("source_held_back", "Requests not sent to a source that fails", counts.held_back),
            ("purges", "Messages that made something void", counts.purges),
        ];
        for (name, help, count) in totals {
            let counter = Counter::<u64>::default();
            counter.inc_by(count);
            registry.register(name, help, counter);
        }
        let Some(breaker) = self.breaker else { return };
        let states = Family::<StateLabels, Gauge<u64, AtomicU64>>::default();
        for (state, is_in) in [
            ("closed", breaker == State::Closed),
            ("half_open", breaker == State::HalfOpen),
            ("open", breaker == State::Open),
        ] {
            states.get_or_create(&StateLabels { state }).set(u64::from(is_in));
        }
        registry.register("breaker", "Whether the source is asked", states);
    }
}
