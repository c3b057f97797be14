//! What limits the jobs of one queue, and how many a claim must therefore bring.

use std::collections::{BTreeMap, BTreeSet};

use keyrack_jobs::bee::{self, Rate};

use super::{
    facts::{Facts, Place},
    named::NamedCounts,
    steps::Setting,
};

/// Workers that were silent for longer have no share of what waits.
const SHARE_MS: u64 = 30_000;
/// Workers that were silent for longer are forgotten.
const FORGOTTEN_MS: u64 = 3_600_000;

/// How long workers say that they need to stop a job.
pub(super) const STOP_MS: u64 = 3_000;

/// The limits of a queue, and what counts against them.
#[derive(Debug, Default)]
pub(super) struct Limits {
    paused: bool,
    pub(super) set: bee::Limits,
    /// When jobs started since there is this rate.
    starts: Vec<u64>,
    /// When jobs of a tenant started while it had a rate over so many milliseconds.
    tenant_starts: BTreeMap<(&'static str, u64), Vec<u64>>,
    pub(super) named: NamedCounts,
    /// The last heartbeat of each worker.
    beats: BTreeMap<String, u64>,
    /// Workers that have told about themselves.
    infos: BTreeSet<String>,
    /// Canceled jobs that their worker has to stop, in which attempt, and until when that is waited for.
    stopping: Vec<(String, u64, u64)>,
}

impl Limits {
    pub(super) fn set(&mut self, setting: Setting) {
        match setting {
            Setting::Paused(paused) => self.paused = paused,
            Setting::Concurrency(limit) => self.set.concurrency = limit,
            Setting::Rate(rate) => {
                let rate = rate.map(|(max, per_ms)| Rate { max, per_ms });
                if rate != self.set.rate {
                    self.starts.clear();
                }
                self.set.rate = rate;
            }
            Setting::CompletedMax(limit) => self.set.completed_max = limit,
            Setting::FailedMax(limit) => self.set.failed_max = limit,
            Setting::FailedTtl(ttl) => self.set.failed_ttl_ms = ttl,
            Setting::Retries(retries) => self.set.retries = retries,
            Setting::Backoff(backoff) => self.set.backoff = backoff,
            Setting::Timeout(timeout) => self.set.timeout_ms = timeout,
            Setting::TenantConcurrency(limit) => self.set.tenant_concurrency = limit,
            Setting::OneTenant(tenant, Some(limit)) => {
                self.set.tenants.insert(tenant.into(), limit);
            }
            Setting::OneTenant(tenant, None) => {
                self.set.tenants.remove(tenant);
            }
            Setting::TenantRate(rate) => {
                self.set.tenant_rate = rate.map(|(max, per_ms)| Rate { max, per_ms });
            }
            Setting::OneTenantRate(tenant, rate) => {
                self.set.tenant_rates.remove(tenant);
                let rate = rate.map(|(max, per_ms)| (tenant.to_owned(), Rate { max, per_ms }));
                self.set.tenant_rates.extend(rate);
            }
            Setting::Weight(tenant, weight) => {
                self.set.tenant_weights.remove(tenant);
                self.set.tenant_weights.extend(weight.map(|weight| (tenant.to_owned(), weight)));
            }
            Setting::Named(name, concurrency, rate) => self.set_named(name, concurrency, rate),
            Setting::TenantPaused(tenant, true) => {
                self.set.paused_tenants.insert(tenant.into());
            }
            Setting::TenantPaused(tenant, false) => {
                self.set.paused_tenants.remove(tenant);
            }
        }
    }

    pub(super) fn tenant_rate(&self, tenant: &str) -> Option<Rate> {
        self.set.tenant_rates.get(tenant).copied().or(self.set.tenant_rate)
    }

    pub(super) fn weight(&self, tenant: &str) -> usize {
        self.set.tenant_weights.get(tenant).copied().unwrap_or(1) as usize
    }

    pub(super) fn tenant_started_at(&mut self, tenant: &'static str, now: u64) {
        if let Some(rate) = self.tenant_rate(tenant) {
            self.tenant_starts.entry((tenant, rate.per_ms)).or_default().push(now);
        }
    }

    /// How many jobs of a tenant may start by its rate, and unless it is paused.
    pub(super) fn tenant_may_start(&self, tenant: &str, now: u64) -> u64 {
        if self.set.paused_tenants.contains(tenant) {
            return 0;
        }
        let Some(Rate { max, per_ms }) = self.tenant_rate(tenant) else { return u64::MAX };
        let starts =
            self.tenant_starts.iter().filter(|((of, ms), _)| (*of, *ms) == (tenant, per_ms));
        let recent = starts.flat_map(|(_, at)| at).filter(|at| **at + per_ms > now).count();
        max.saturating_sub(recent as u64)
    }

    pub(super) fn beat(&mut self, worker: &str, now: u64) {
        self.beats.retain(|_, at| *at > now - FORGOTTEN_MS);
        self.beats.insert(worker.into(), now);
        self.infos.insert(worker.into());
    }

    /// A job was canceled while a worker ran it.
    pub(super) fn await_stop(&mut self, jid: &str, attempt: u64, worker: &str, now: u64) {
        if self.infos.contains(worker) {
            self.stopping.push((jid.into(), attempt, now + STOP_MS));
        }
    }

    /// A worker has told of an attempt that does not count.
    pub(super) fn has_stopped(&mut self, jid: &str, attempt: u64) {
        self.stopping.retain(|(other, n, _)| (other.as_str(), *n) != (jid, attempt));
    }

    /// The entries of what is to stop.
    pub(super) fn stopping(&self) -> BTreeMap<String, f64> {
        let entries = self.stopping.iter();
        entries.map(|(jid, attempt, until)| (format!("{jid} {attempt}"), *until as f64)).collect()
    }

    fn n_stopping(&self, now: u64) -> u64 {
        self.stopping.iter().filter(|(_, _, until)| *until > now).count() as u64
    }

    /// What a sweep forgets.
    pub(super) fn sweep(&mut self, now: u64) {
        self.infos.retain(|worker| self.beats.contains_key(worker));
        self.stopping.retain(|(_, _, until)| *until > now);
    }

    pub(super) fn bury(&mut self, workers: &[String]) {
        self.beats.retain(|worker, _| !workers.contains(worker));
        self.infos.retain(|worker| !workers.contains(worker));
    }

    pub(super) fn workers(&self) -> BTreeSet<&str> {
        self.beats.keys().map(String::as_str).collect()
    }

    pub(super) fn started_at(&mut self, now: u64) {
        if self.set.rate.is_some() {
            self.starts.push(now);
        }
    }

    /// How many jobs may start by the rate: in no stretch of its time do more start than it says.
    fn rate_allows(&self, now: u64) -> u64 {
        let Some(Rate { max, per_ms }) = self.set.rate else { return u64::MAX };
        let recent = self.starts.iter().filter(|start| **start + per_ms > now).count();
        max.saturating_sub(recent as u64)
    }

    pub(super) fn tenant_allows(&self, tenant: &str) -> u64 {
        self.set.tenants.get(tenant).copied().or(self.set.tenant_concurrency).unwrap_or(u64::MAX)
    }

    pub(super) fn workers_that_share(&self, now: u64) -> u64 {
        self.beats.values().filter(|at| **at + SHARE_MS >= now && **at <= now).count() as u64
    }
}

impl Facts {
    /// How many jobs a claim must bring. `standing` is how many jobs each tenant has in the working queue.
    pub(super) fn claims(
        &self,
        queue: usize,
        max: usize,
        standing: &BTreeMap<String, u64>,
    ) -> usize {
        let limits = &self.limits[queue];
        if limits.paused {
            return 0;
        }
        let running = self.running(queue).count() as u64
            + self.n_reserved(queue)
            + limits.n_stopping(self.now);
        let free = limits.set.concurrency.map_or(u64::MAX, |most| most.saturating_sub(running));
        let allowed = (max as u64).min(free).min(limits.rate_allows(self.now));
        let (ready, has_tenants) = self.claimable(queue, standing);
        let workers = limits.workers_that_share(self.now);
        let share = if workers > 1 && !has_tenants { ready.div_ceil(workers) } else { u64::MAX };
        allowed.min(ready).min(share) as usize
    }

    /// Whether jobs of the queue may be reserved: nothing is counted that runs.
    pub(super) fn may_reserve(&self, queue: usize) -> bool {
        let set = &self.limits[queue].set;
        let has_tenants = self.claimable(queue, &BTreeMap::new()).1;
        set.concurrency.is_none() && set.rate.is_none() && set.named.is_empty() && !has_tenants
    }

    /// How many jobs are ready and may run as far as their tenants go, and whether there are tenants at all.
    fn claimable(&self, queue: usize, standing: &BTreeMap<String, u64>) -> (u64, bool) {
        let mut of_nobody = 0;
        let mut of_tenants: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
        for job in self.jobs.values().filter(|job| job.asked.queue == queue) {
            match (&job.place, job.asked.tenant) {
                (Place::Ready, None) => of_nobody += 1,
                (Place::Ready, Some(tenant)) => of_tenants.entry(tenant).or_default().0 += 1,
                (Place::Running { .. }, Some(tenant)) => {
                    of_tenants.entry(tenant).or_default().1 += 1
                }
                _ => {}
            }
        }
        let has_tenants = !of_tenants.is_empty();
        let claimable = of_tenants.into_iter().map(|(tenant, (ready, running))| {
            let free = self.limits[queue].tenant_allows(tenant).saturating_sub(running);
            // A job that stood in the queue before the limit was lowered still runs.
            let free = free.max(standing.get(tenant).copied().unwrap_or(0));
            ready.min(free).min(self.limits[queue].tenant_may_start(tenant, self.now))
        });
        (of_nobody + claimable.sum::<u64>(), has_tenants)
    }
}
