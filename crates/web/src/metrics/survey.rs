//! Which queues have metrics of their own, and what all others hold together.
//!
//! With more queues than may have metrics of their own, a survey reads all of them in the background: now and then, as long as
//! somebody asks for metrics, with pauses, so that it takes a twentieth of the store's time at most. It chooses the queues whose
//! metrics each request reads, and sums the others. A request itself reads no more than the chosen ones.
//!
//! Sums only grow: a queue that gets metrics of its own, or is deleted, leaves its past in the sum, and one that loses them adds
//! what happens from then on.

use std::{
    cmp::Reverse,
    collections::{HashMap, HashSet},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use futures_util::{StreamExt as _, stream};
use keyrack_jobs::{
    Error,
    bee::{Hive, keys::QueueName},
};
use tokio::{
    sync::watch,
    time::{sleep, timeout},
};

use super::queue::{OTHERS, QueueMetrics, Totals};

/// The most queues with metrics of their own, unless the server is told otherwise. Names come from outside, and each queue costs
/// about 5 KB of every answer.
const OWN_MAX: usize = 200;
/// Queues that are read at once.
pub(super) const AT_ONCE: usize = 8;
/// Queues that a survey reads between two pauses.
const STEP: usize = 100;
/// How many times longer than a step the pause after it is.
const PAUSE: u32 = 4;
/// How old a survey may be.
const AGE_MIN: Duration = Duration::from_secs(30);
/// How many times longer than its reads took a survey is good for.
const REST: u32 = 20;
/// How long a request waits for the first survey. Until then queues are chosen by prefix and name.
const PATIENCE: Duration = Duration::from_millis(50);
/// By how much more activity another queue must have to take the place of a queue: series that come and go are of little use.
const STAYS: u64 = 2;

/// Which queues have metrics of their own in `/metrics`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MetricsQueues {
    /// How many at most.
    pub max: usize,
    /// Queues whose names begin with one of these are chosen first, then the busiest.
    pub prefixes: Vec<String>,
}

impl Default for MetricsQueues {
    fn default() -> MetricsQueues {
        MetricsQueues { max: OWN_MAX, prefixes: Vec::new() }
    }
}

impl MetricsQueues {
    /// Whether some of these queues cannot have metrics of their own.
    pub(super) fn leave_out_some(&self, names: &[QueueName]) -> bool {
        names.len() > self.max || names.iter().any(|name| name.as_str() == OTHERS)
    }

    /// Those of some queues that have metrics of their own, given how active each is.
    pub(super) fn choose<'a>(
        &self,
        queues: impl Iterator<Item = (&'a str, u64)>,
    ) -> HashSet<String> {
        let mut ranked: Vec<_> = queues
            .filter(|(name, _)| *name != OTHERS)
            .map(|(name, activity)| (!self.comes_first(name), Reverse(activity), name))
            .collect();
        ranked.sort_unstable();
        ranked.into_iter().take(self.max).map(|(_, _, name)| name.to_owned()).collect()
    }

    fn comes_first(&self, name: &str) -> bool {
        self.prefixes.iter().any(|prefix| name.starts_with(prefix.as_str()))
    }
}

/// What a survey found.
#[derive(Debug, Default)]
pub(super) struct Survey {
    /// The queues with metrics of their own.
    pub(super) own: HashSet<String>,
    /// All others together.
    pub(super) others: QueueMetrics,
    /// The totals of every queue in which something has happened.
    seen: HashMap<String, Totals>,
}

impl Survey {
    /// What follows from reading all queues, and from the survey before.
    fn new(
        rules: &MetricsQueues,
        names: &[QueueName],
        read: Vec<QueueMetrics>,
        before: Option<&Survey>,
    ) -> Survey {
        let had_own = |name: &str| before.is_some_and(|before| before.own.contains(name));
        let activity = |queue: &QueueMetrics| match had_own(&queue.queue) {
            true => queue.activity.saturating_mul(STAYS),
            false => queue.activity,
        };
        let own = rules.choose(read.iter().map(|queue| (queue.queue.as_str(), activity(queue))));
        let totals = before.map(|before| before.others.totals.clone()).unwrap_or_default();
        let mut others = QueueMetrics { queue: OTHERS.into(), totals, ..QueueMetrics::default() };
        // A queue that could not be read this time is not one that begins anew next time.
        let unread = |name: &QueueName| {
            let totals = before?.seen.get(name.as_str())?;
            Some((name.to_string(), totals.clone()))
        };
        let mut seen: HashMap<String, Totals> = names.iter().filter_map(unread).collect();
        for queue in read {
            let QueueMetrics { queue: name, totals, .. } = &queue;
            if !own.contains(name) {
                others.add_present(&queue);
                if !had_own(name) {
                    let earlier = seen.get(name).cloned().unwrap_or_default();
                    others.totals.add(&totals.since(&earlier));
                }
            }
            if *totals != Totals::default() {
                seen.insert(queue.queue, queue.totals);
            }
        }
        Survey { own, others, seen }
    }
}

/// Makes surveys.
#[derive(Debug)]
pub(crate) struct Surveyor {
    latest: Arc<watch::Sender<Option<Arc<Finished>>>>,
    is_surveying: Arc<AtomicBool>,
}

/// A survey with its time.
#[derive(Debug)]
pub(super) struct Finished {
    pub(super) survey: Survey,
    pub(super) at: Instant,
    /// How long its reads took, without the pauses.
    took: Duration,
}

impl Default for Surveyor {
    fn default() -> Surveyor {
        Surveyor { latest: Arc::new(watch::Sender::new(None)), is_surveying: Arc::default() }
    }
}

impl Surveyor {
    /// The latest survey. Begins another if it is old.
    pub(super) async fn latest(&self, hive: &Hive, rules: &MetricsQueues) -> Option<Arc<Finished>> {
        let mut results = self.latest.subscribe();
        let before = results.borrow_and_update().clone();
        if before
            .as_ref()
            .is_some_and(|before| before.at.elapsed() < AGE_MIN.max(before.took * REST))
        {
            return before;
        }
        if !self.is_surveying.swap(true, Ordering::AcqRel) {
            let ending = Ending(Arc::clone(&self.is_surveying));
            let (latest, hive, rules) = (Arc::clone(&self.latest), hive.clone(), rules.clone());
            tokio::spawn(async move {
                let _ending = ending;
                let before = latest.borrow().clone();
                match survey(&hive, &rules, before.as_deref()).await {
                    Ok(finished) => drop(latest.send_replace(Some(Arc::new(finished)))),
                    Err(error) => tracing::warn!(%error, "could not read all queues for /metrics"),
                }
            });
        }
        if before.is_none() {
            let _ = timeout(PATIENCE, results.changed()).await;
        }
        results.borrow().clone()
    }
}

/// Lets the next survey begin, also after a panic.
struct Ending(Arc<AtomicBool>);

impl Drop for Ending {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Release);
    }
}

async fn survey(
    hive: &Hive,
    rules: &MetricsQueues,
    before: Option<&Finished>,
) -> Result<Finished, Error> {
    let names = hive.queues().await?;
    let (mut read, mut took) = (Vec::with_capacity(names.len()), Duration::ZERO);
    for step in names.chunks(STEP) {
        let began = Instant::now();
        read.extend(read_all(hive, step).await);
        let step_took = began.elapsed();
        took += step_took;
        sleep(step_took * PAUSE).await;
    }
    let survey = Survey::new(rules, &names, read, before.map(|before| &before.survey));
    Ok(Finished { survey, at: Instant::now(), took })
}

/// Reads queues. What cannot be read is left out.
pub(super) async fn read_all(hive: &Hive, names: &[QueueName]) -> Vec<QueueMetrics> {
    let reads = stream::iter(names.to_vec())
        .map(async |name| QueueMetrics::read(hive, &name).await.ok())
        .buffered(AT_ONCE);
    reads.filter_map(std::future::ready).collect().await
}

#[cfg(test)]
mod tests;
