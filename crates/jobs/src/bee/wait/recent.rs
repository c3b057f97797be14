//! What this process knows of workers that come again and again: the jobs that it has handed out, and who is registered.
//!
//! A worker that is not connected to the store comes back with its outcomes, mostly to the same server. What that server
//! remembers of the jobs need not be read from the store once more. Nothing depends on it: the store checks every outcome,
//! and what was forgotten is read.

use std::{collections::HashMap, time::Duration};

use parking_lot::Mutex;
use tokio::time::Instant;

use super::Claim;
use crate::bee::{
    job::Job,
    keys::{Jid, QueueName, WorkerId},
    settle::{End, Outcome},
};

/// The most jobs, bytes and workers of one generation; two are remembered.
const JOBS_MAX: usize = 10_000;
const BYTES_MAX: usize = 16 * 1024 * 1024;
const WORKERS_MAX: usize = 10_000;
/// A worker is registered again after this time, or a quarter of its lock if that is less.
const REGISTER_EVERY: Duration = Duration::from_secs(1);

/// Jobs that were handed out and have not come back.
#[derive(Debug)]
pub(super) struct RecentClaims {
    generations: Mutex<Generations>,
    jobs_max: usize,
}

impl Default for RecentClaims {
    fn default() -> RecentClaims {
        RecentClaims { generations: Mutex::default(), jobs_max: JOBS_MAX }
    }
}

/// When the young ones are too many, they become the old ones, and those are forgotten.
#[derive(Debug, Default)]
struct Generations {
    young: HashMap<String, Job>,
    old: HashMap<String, Job>,
    young_bytes: usize,
}

impl RecentClaims {
    /// Remembers jobs that a worker got.
    pub(super) fn remember(&self, jobs: &[Job]) {
        let mut generations = self.generations.lock();
        for job in jobs {
            generations.young_bytes += job.stored_bytes();
            generations.young.insert(job.jid().to_owned(), job.clone());
            if generations.young.len() >= self.jobs_max || generations.young_bytes >= BYTES_MAX {
                generations.old = std::mem::take(&mut generations.young);
                generations.young_bytes = 0;
            }
        }
    }

    /// The queue of a job that was handed out.
    pub(super) fn queue_of(&self, jid: &Jid) -> Option<QueueName> {
        let generations = self.generations.lock();
        let job =
            generations.young.get(jid.as_str()).or_else(|| generations.old.get(jid.as_str()))?;
        job.queue_name()
    }

    /// Adds to an outcome what is known of its job, if this worker got it in this attempt.
    pub(super) fn complete(&self, outcome: &mut Outcome, worker: &WorkerId) {
        let Some(job) = self.take(&outcome.jid) else { return };
        let is_it = job.worker() == worker.as_str() && outcome.attempt == Some(job.attempts());
        if !is_it {
            return;
        }
        let known = Outcome::of(&job, End::Released);
        if let (End::Completed { ttl_ms: ttl_ms @ None, .. }, true) =
            (&mut outcome.end, known.told.is_some())
        {
            *ttl_ms = Some(job.options().ttl);
        }
        outcome.told = known.told;
    }

    fn take(&self, jid: &str) -> Option<Job> {
        let mut generations = self.generations.lock();
        match generations.young.remove(jid) {
            Some(job) => {
                let bytes = generations.young_bytes.saturating_sub(job.stored_bytes());
                generations.young_bytes = bytes;
                Some(job)
            }
            None => generations.old.remove(jid),
        }
    }
}

/// When each worker was registered last, with how many jobs and which lock.
#[derive(Debug, Default)]
pub(super) struct RecentWorkers {
    workers: Mutex<HashMap<(QueueName, WorkerId), Registered>>,
}

#[derive(Debug)]
struct Registered {
    at: Instant,
    max: usize,
    lock: Duration,
}

impl RecentWorkers {
    /// The lock that a worker has asked for last, if that was a moment ago.
    pub(super) fn lock_of(&self, queue: &QueueName, worker: &WorkerId) -> Option<Duration> {
        let workers = self.workers.lock();
        let registered = workers.get(&(queue.clone(), worker.clone()))?;
        registered.is_recent().then_some(registered.lock)
    }

    /// Whether the same was registered a moment ago.
    pub(super) fn has(&self, claim: &Claim) -> bool {
        let workers = self.workers.lock();
        let registered = workers.get(&(claim.queue.clone(), claim.worker.clone()));
        registered.is_some_and(|registered| {
            registered.is_recent() && registered.max == claim.max && registered.lock == claim.lock
        })
    }

    pub(super) fn remember(&self, claim: &Claim) {
        let mut workers = self.workers.lock();
        if workers.len() >= WORKERS_MAX {
            workers.retain(|_, registered| registered.is_recent());
        }
        if workers.len() < WORKERS_MAX {
            let registered = Registered { at: Instant::now(), max: claim.max, lock: claim.lock };
            workers.insert((claim.queue.clone(), claim.worker.clone()), registered);
        }
    }

    pub(super) fn forget(&self, queue: &QueueName, worker: &WorkerId) {
        self.workers.lock().remove(&(queue.clone(), worker.clone()));
    }
}

impl Registered {
    fn is_recent(&self) -> bool {
        self.at.elapsed() < REGISTER_EVERY.min(self.lock / 4)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bee::test_support::{completed, queue, simulated_hive};

    /// Some claimed jobs, and the worker that has them.
    async fn claimed(n: usize) -> (Vec<Job>, WorkerId) {
        let (hive, _) = simulated_hive().await;
        for n in 0..n {
            hive.put(&n.to_string()).await;
        }
        let worker = hive.worker();
        let jobs = hive.take(&worker, n).await;
        assert_eq!(jobs.len(), n);
        (jobs, worker)
    }

    fn end_of(job: &Job, attempt: Option<u64>) -> Outcome {
        let end = completed("1");
        Outcome { jid: job.jid().to_owned(), attempt, options: None, end, told: None }
    }

    #[tokio::test]
    async fn an_outcome_gets_the_job_of_its_worker_and_attempt_once() {
        let (jobs, worker) = claimed(1).await;
        let recent = RecentClaims::default();
        let other = WorkerId::new("other:0:http:emails").expect("a worker");
        for (attempt, by, known) in [
            (Some(1), &worker, true),
            (Some(2), &worker, false),
            (None, &worker, false),
            (Some(1), &other, false),
        ] {
            recent.remember(&jobs);
            let mut outcome = end_of(&jobs[0], attempt);
            recent.complete(&mut outcome, by);
            assert_eq!(outcome.told.is_some(), known, "{attempt:?} {by}");
            let mut again = end_of(&jobs[0], Some(1));
            recent.complete(&mut again, &worker);
            assert!(again.told.is_none(), "it was told of before");
        }
    }

    #[tokio::test]
    async fn at_most_two_generations_are_remembered() {
        let (jobs, worker) = claimed(9).await;
        let recent = RecentClaims { jobs_max: 2, ..RecentClaims::default() };
        recent.remember(&jobs);
        let is_known = |job: &&Job| {
            let mut outcome = end_of(job, Some(1));
            recent.complete(&mut outcome, &worker);
            outcome.told.is_some()
        };
        let known: Vec<&str> = jobs.iter().filter(is_known).map(Job::jid).collect();
        let last: Vec<&str> = jobs[6..].iter().map(Job::jid).collect();
        assert_eq!(known, last, "two old ones and one young one");
    }

    #[tokio::test(start_paused = true)]
    async fn a_worker_is_registered_anew_after_a_while_or_with_another_lock() {
        let claim = |max, lock| Claim {
            queue: queue(),
            worker: WorkerId::new("w:0:http:emails").expect("a worker"),
            max,
            lock: Duration::from_secs(lock),
        };
        let recent = RecentWorkers::default();
        assert!(!recent.has(&claim(1, 10)));
        recent.remember(&claim(1, 10));
        assert!(
            recent.has(&claim(1, 10)) && !recent.has(&claim(2, 10)) && !recent.has(&claim(1, 9))
        );
        tokio::time::advance(Duration::from_millis(999)).await;
        assert!(recent.has(&claim(1, 10)));
        tokio::time::advance(Duration::from_millis(1)).await;
        assert!(!recent.has(&claim(1, 10)));
        // A short lock is renewed well before it ends.
        recent.remember(&claim(1, 1));
        tokio::time::advance(Duration::from_millis(250)).await;
        assert!(!recent.has(&claim(1, 1)));
        recent.remember(&claim(1, 10));
        recent.forget(&queue(), &claim(1, 10).worker);
        assert!(!recent.has(&claim(1, 10)));
    }
}
