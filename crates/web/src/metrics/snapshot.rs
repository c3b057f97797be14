//! The state of process and store at one moment, as metrics.
//!
//! Values that somebody else counts are read when asked for and put into a registry of their own, so there is no
//! copy of them to keep up to date.

use std::{
    sync::{Arc, atomic::AtomicU64},
    time::Duration,
};

use keyrack_services::{Walked, census::Counts};
use keyrack_store::{Info, Kind};
use prometheus_client::{
    encoding::EncodeLabelSet,
    metrics::{counter::Counter, family::Family, gauge::Gauge, info::Info as Labelled},
    registry::{Registry, Unit},
};

use super::{
    entitlements::EntitlementMetrics, jobs::JobMetrics, lint, native::NativeHistograms,
    process::Process, times,
};
use crate::App;

/// How long a request waits for keys to be counted. The numbers of a scrape may be those that the one before had counted.
const CENSUS_PATIENCE: Duration = Duration::from_millis(50);

/// The state of process and store at one moment.
pub(super) struct Snapshot {
    uptime: Duration,
    process: Option<Process>,
    ping: Option<Duration>,
    info: Option<Info>,
    counts: Option<Arc<Counts>>,
    lint: Option<Walked>,
    jobs: Option<JobMetrics>,
    entitlements: Option<EntitlementMetrics>,
    kind: Kind,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct DatabaseLabels {
    db: i64,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct FamilyLabels {
    pub(super) family: String,
}

impl Snapshot {
    pub(super) async fn take(app: &App) -> Snapshot {
        let ping = app.probe().await.ok();
        // A store that does not answer a PING would only hold up the rest.
        let (info, counts, jobs, entitlements) = match ping {
            Some(_) => {
                let info = async { app.services.store.info().await.ok() };
                let entitlements = EntitlementMetrics::take(app);
                tokio::join!(
                    info,
                    app.services.census.latest_within(CENSUS_PATIENCE),
                    JobMetrics::take(app),
                    entitlements
                )
            }
            None => (None, None, None, None),
        };
        let kind = app.services.store.kind();
        Snapshot {
            uptime: app.uptime(),
            process: Process::now(),
            ping,
            info,
            counts,
            lint: app.services.lint.latest(),
            jobs,
            entitlements,
            kind,
        }
    }

    /// The snapshot as metrics. What is not known is left out rather than told as zero.
    pub(super) fn registry(&self) -> Registry {
        let mut registry = Registry::default();
        self.add_process(registry.sub_registry_with_prefix("process"));
        let keyrack = registry.sub_registry_with_prefix("keyrack");
        let version = env!("CARGO_PKG_VERSION").to_owned();
        let build = vec![("version", version), ("store", self.kind.to_string())];
        keyrack.register("build", "Version and kind of store", Labelled::new(build));
        add_spans(keyrack.sub_registry_with_prefix("trace_spans"));
        float(keyrack, "uptime", "Time since the start", self.uptime.as_secs_f64());
        let store = keyrack.sub_registry_with_prefix("store");
        gauge(store, "up", "Whether the store takes writes", u64::from(self.ping.is_some()));
        if let Some(ping) = self.ping {
            float(store, "ping", "Time the store takes to answer", ping.as_secs_f64());
        }
        if let Some(info) = &self.info {
            add_info(store, info);
        }
        if let Some(counts) = &self.counts {
            add_counts(store, counts);
        }
        if let Some(walked) = &self.lint {
            lint::add_to(keyrack.sub_registry_with_prefix("lint"), walked);
        }
        if let Some(jobs) = &self.jobs {
            jobs.add_to(keyrack.sub_registry_with_prefix("jobs"));
        }
        if let Some(entitlements) = &self.entitlements {
            entitlements.add_to(keyrack.sub_registry_with_prefix("entitlements"));
        }
        registry
    }

    /// Histograms of which the text tells less.
    pub(super) fn native_histograms(&self) -> NativeHistograms<'_> {
        self.jobs.as_ref().map(|jobs| times::native(&jobs.queues)).unwrap_or_default()
    }

    fn add_process(&self, registry: &mut Registry) {
        let Some(process) = self.process else { return };
        let cpu = Counter::<f64, AtomicU64>::default();
        cpu.inc_by(process.cpu_s);
        registry.register_with_unit("cpu", "Processor time used", Unit::Seconds, cpu);
        let resident = process.resident_bytes;
        gauge(registry, "resident_memory_bytes", "Memory in use", resident);
        gauge(registry, "open_fds", "Open files and sockets", process.open_files);
        gauge(registry, "threads", "Threads", process.threads);
    }
}

/// What became of the spans that the process exports.
fn add_spans(registry: &mut Registry) {
    let spans = keyrack_trace::span_counts();
    counter(registry, "sent", "Spans that the collector has taken", spans.sent);
    counter(registry, "dropped", "Spans that were dropped", spans.dropped);
    gauge(registry, "waiting", "Spans that wait for the collector", spans.waiting);
}

fn add_info(store: &mut Registry, info: &Info) {
    gauge(store, "memory_bytes", "Memory the store has in use", info.memory_bytes);
    gauge(store, "clients", "Clients connected to the store", info.clients);
    counter(store, "commands", "Commands the store has carried out", info.commands);
    if let Some(bytes) = info.log_bytes {
        gauge(store, "log_bytes", "Size of the append-only log", bytes);
    }
    let keys = Family::<DatabaseLabels, Gauge<u64, AtomicU64>>::default();
    for database in &info.databases {
        keys.get_or_create(&DatabaseLabels { db: database.db }).set(database.keys);
    }
    store.register("keys", "Keys in each database", keys);
}

fn add_counts(store: &mut Registry, counts: &Counts) {
    let keys = Family::<FamilyLabels, Gauge<u64, AtomicU64>>::default();
    for family in keyrack_contract::registry().families() {
        if let Some(n) = counts.of(family) {
            keys.get_or_create(&FamilyLabels { family: family.id() }).set(n);
        }
    }
    store.register("family_keys", "Keys of each family, estimated when there are many", keys);
    gauge(store, "undeclared_keys", "Keys that no family declares", counts.undeclared);
}

pub(super) fn gauge(registry: &mut Registry, name: &str, help: &str, value: u64) {
    let gauge = Gauge::<u64, AtomicU64>::default();
    gauge.set(value);
    registry.register(name, help, gauge);
}

pub(super) fn counter(registry: &mut Registry, name: &str, help: &str, value: u64) {
    let counter = Counter::<u64>::default();
    counter.inc_by(value);
    registry.register(name, help, counter);
}

/// A gauge of seconds.
pub(super) fn float(registry: &mut Registry, name: &str, help: &str, value: f64) {
    let gauge = Gauge::<f64, AtomicU64>::default();
    gauge.set(value);
    registry.register_with_unit(name, help, Unit::Seconds, gauge);
}
