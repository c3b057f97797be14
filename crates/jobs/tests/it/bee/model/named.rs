//! Limits that jobs name: no more of them run, and no more start in any stretch of time, than the
//! limit says.
//!
//! A job that such a limit holds is ready as far as the facts go: when the queue lets it in again
//! is the queue's business, as long as a claim passes by no job whose limits all have room.

use std::collections::{BTreeMap, BTreeSet};

use keyrack_jobs::bee::{NamedLimit, Rate};

use super::{
    facts::{Facts, Place},
    limits::Limits,
    seen::{Scores, Seen},
    steps::QUEUES,
};

/// What counts against the limits of a queue. Jobs count that start while there is the limit.
#[derive(Debug, Default)]
pub(super) struct NamedCounts {
    /// The jobs of each limit, each in its attempt.
    running: BTreeMap<&'static str, BTreeMap<String, u64>>,
    /// When jobs started, by the limit and the time of its rate.
    starts: BTreeMap<(&'static str, u64), Vec<u64>>,
}

/// A claim from a queue whose jobs name limits.
#[derive(Debug)]
pub(super) struct LimitedClaim {
    pub(super) queue: usize,
    /// The most that the queue and its tenants allow.
    pub(super) max: usize,
    pub(super) taken: Vec<String>,
}

impl Limits {
    pub(super) fn set_named(
        &mut self,
        name: &'static str,
        concurrency: Option<u64>,
        rate: Option<(u64, u64)>,
    ) {
        let rate = rate.map(|(max, per_ms)| Rate { max, per_ms });
        let limit = NamedLimit { concurrency, rate };
        self.set.named.remove(name);
        if limit != NamedLimit::default() {
            self.set.named.insert(name.into(), limit);
        }
        if concurrency.is_none() {
            self.named.running.remove(name);
        }
    }

    /// Whether one more job of a limit may start.
    fn has_room(&self, name: &str, now: u64) -> bool {
        let NamedLimit { concurrency, rate } =
            self.set.named.get(name).copied().unwrap_or_default();
        let n_running = self.named.running.get(name).map_or(0, BTreeMap::len) as u64;
        let is_rate_free = rate.is_none_or(|Rate { max, per_ms }| {
            let starts =
                self.named.starts.iter().filter(|((of, ms), _)| (*of, *ms) == (name, per_ms));
            let starts = starts.flat_map(|(_, at)| at);
            (starts.filter(|at| **at + per_ms > now).count() as u64) < max
        });
        concurrency.is_none_or(|most| n_running < most) && is_rate_free
    }
}

impl Facts {
    /// A job starts that names limits. Says so if one of them does not let it.
    pub(super) fn start_within_limits(
        &mut self,
        jid: &str,
        attempt: u64,
        queue: usize,
        names: &[&'static str],
    ) -> Result<(), String> {
        self.forget_ended(queue);
        let (now, limits) = (self.now, &mut self.limits[queue]);
        if let Some(full) = names.iter().find(|name| !limits.has_room(name, now)) {
            let limit = &limits.set.named[*full];
            return Err(format!(
                "{jid} started although {full} allows {limit:?}: {:?}",
                limits.named
            ));
        }
        for name in names {
            let Some(limit) = limits.set.named.get(*name) else { continue };
            if limit.concurrency.is_some() {
                limits.named.running.entry(name).or_default().insert(jid.into(), attempt);
            }
            if let Some(rate) = limit.rate {
                limits.named.starts.entry((name, rate.per_ms)).or_default().push(now);
            }
        }
        Ok(())
    }

    /// What runs no longer in its attempt counts no longer.
    fn forget_ended(&mut self, queue: usize) {
        let jobs = &self.jobs;
        let runs = |jid: &String, attempt: &mut u64| {
            let job = jobs.get(jid).filter(|job| job.attempts == *attempt);
            job.is_some_and(|job| matches!(job.place, Place::Running { .. }))
        };
        let running = &mut self.limits[queue].named.running;
        running.values_mut().for_each(|jobs| jobs.retain(|jid, attempt| runs(jid, attempt)));
    }

    /// The jobs that count against each limit, as they stand in the store.
    pub(super) fn counted(&self, queue: usize) -> BTreeMap<String, BTreeSet<String>> {
        let running = self.limits[queue].named.running.iter().map(|(name, jobs)| {
            let runs = |(jid, attempt): &(&String, &u64)| {
                let job = self.jobs.get(*jid).filter(|job| job.attempts == **attempt);
                job.is_some_and(|job| matches!(job.place, Place::Running { .. }))
            };
            let jobs = jobs.iter().filter(runs).map(|(jid, _)| jid.clone()).collect();
            ((*name).to_owned(), jobs)
        });
        running.filter(|(_, jobs): &(_, BTreeSet<String>)| !jobs.is_empty()).collect()
    }

    /// The jobs of a queue that one of their limits holds, and until when. The list of a limit is
    /// forgotten some time after all of them are due.
    pub(super) fn held(&self, queue: usize, seen: &Seen) -> Scores {
        let name = QUEUES[queue];
        let is_held = |(jid, due): &(String, f64)| {
            let job = self.jobs.get(jid).filter(|job| job.place == Place::Ready);
            let limits = job.map_or(&[][..], |job| &job.asked.limits);
            let mut held_by = limits.iter().filter(|limit| seen.is_held_by(jid, name, limit));
            !limits.is_empty() && (*due <= self.now as f64 || held_by.next().is_some())
        };
        seen.scores("delayed", name).into_iter().filter(is_held).collect()
    }

    /// Whether limits that jobs name say what can be claimed from a queue.
    pub(super) fn has_named_limits(&self, queue: usize, seen: &Seen) -> bool {
        !self.limits[queue].set.named.is_empty() || !self.held(queue, seen).is_empty()
    }

    /// What was taken has started or is reserved by now. Nobody was passed by whose limits all have
    /// room.
    pub(super) fn check_limited(
        &mut self,
        claim: &LimitedClaim,
        seen: &Seen,
    ) -> Result<(), String> {
        let LimitedClaim { queue, max, ref taken } = *claim;
        self.forget_ended(queue);
        let (name, n) = (QUEUES[queue], taken.len());
        if n > max {
            return Err(format!("{n} jobs were taken from {name}, and only {max} may be"));
        }
        // Tenants have their turns, and limits of their own.
        let is_startable = |jid: &&String| {
            let job = &self.jobs[*jid];
            let has_room = |name: &&str| self.limits[queue].has_room(name, self.now);
            let names = &job.asked.limits;
            job.asked.queue == queue
                && job.place == Place::Ready
                && job.asked.tenant.is_none()
                && names.iter().all(has_room)
        };
        let stood = seen.standing(name);
        let of_them: Vec<&String> = taken.iter().filter(|jid| stood.contains(jid)).collect();
        let place = |jid: &String| stood.iter().position(|other| other == jid);
        if !of_them.is_sorted_by_key(|jid| place(jid)) {
            return Err(format!("{taken:?} were taken from {name}, where {stood:?} stood"));
        }
        let end = of_them.last().and_then(|jid| place(jid)).unwrap_or(0);
        if let Some(jid) = stood[..end].iter().find(is_startable) {
            return Err(format!("{jid} was passed by in {name}: {taken:?} of {stood:?}"));
        }
        // Who gets fewer than it may has seen all of them, unless it has its share.
        let n_workers = self.limits[queue].workers_that_share(self.now) as usize;
        let has_share = n_workers > 1 && n > 0;
        match self.jobs.keys().find(is_startable) {
            Some(jid) if n < max && !has_share => {
                Err(format!("{jid} in {name} was not taken although all its limits have room"))
            }
            _ => Ok(()),
        }
    }
}
