//! When jobs are tried again, until when they have to start, and how long they may run.

use keyrack_jobs::bee::{BackoffKind, DEFAULT_RETRIES};

use super::{
    facts::{Facts, Place},
    seen::Scores,
};

impl Facts {
    /// How often a job is tried again.
    pub(super) fn retry_limit(&self, jid: &str) -> u64 {
        let asked = &self.jobs[jid].asked;
        let of_queue = self.limits[asked.queue].set.retries;
        u64::from(asked.retries.or(of_queue).unwrap_or(DEFAULT_RETRIES))
    }

    /// An attempt failed: the job is tried again, or fails for good.
    pub(super) fn fail_attempt(&mut self, jid: &str, retry: bool, delay: Option<u64>, exact: bool) {
        let (now, limit) = (self.now, self.retry_limit(jid));
        let of_queue = self.limits[self.jobs[jid].asked.queue].set.backoff;
        let job = self.job(jid);
        if !retry || job.retries >= limit {
            return self.fail(jid);
        }
        job.retries += 1;
        let (own, retries) = (job.asked.backoff, job.retries);
        let wait = match delay {
            Some(delay) if !exact && own.is_some_and(|own| own.kind != BackoffKind::Fixed) => {
                delay * retries
            }
            Some(delay) => delay,
            None => own.or(of_queue).unwrap_or_default().wait_ms(jid, retries as u32) as u64,
        };
        job.place = Place::Delayed { due: now + wait, retried: true };
    }

    /// A job begins to run.
    pub(super) fn begin_deadline(&mut self, jid: &str) {
        self.start_by.remove(jid);
        let now = self.now;
        let of_queue = self.limits[self.jobs[jid].asked.queue].set.timeout_ms;
        let job = self.job(jid);
        job.timeout_at = job.asked.timeout.or(of_queue).map(|timeout| now + timeout);
    }

    /// A job that is given back in its first attempt still has to start in time.
    pub(super) fn restore_start_by(&mut self, jid: &str) {
        let job = &self.jobs[jid];
        if let Some(at) = job.start_by.filter(|_| job.attempts == 1) {
            self.start_by.insert(jid.into(), (job.asked.queue, at));
        }
    }

    /// Fails the attempts that have taken too long. Returns how many.
    pub(super) fn time_out(&mut self, queue: usize) -> u64 {
        let now = self.now;
        let is_over = |at: Option<u64>| at.is_some_and(|at| at <= now);
        let over = self.running(queue).filter(|(_, job)| is_over(job.timeout_at));
        let over: Vec<String> = over.map(|(jid, _)| jid.clone()).collect();
        for jid in &over {
            self.job(jid).last_end = None;
            self.fail_attempt(jid, true, None, false);
        }
        over.len() as u64
    }

    /// Ends the jobs that should have started by now.
    pub(super) fn end_unstarted(&mut self, queue: usize) {
        let due = self.start_by.iter().filter(|(_, (of, at))| *of == queue && *at <= self.now);
        let due: Vec<String> = due.map(|(jid, _)| jid.clone()).collect();
        for jid in due {
            let Some(job) = self.jobs.get(&jid) else {
                // The store notices here that the job is gone.
                self.start_by.remove(&jid);
                continue;
            };
            if matches!(job.place, Place::Reserved { .. }) {
                continue;
            }
            let waits = matches!(
                job.place,
                Place::Waiting | Place::Ready | Place::Delayed { retried: false, .. }
            );
            let never_failed = job.retries == 0;
            self.start_by.remove(&jid);
            if waits && never_failed {
                self.job(&jid).ends += 1;
                self.die(&jid, Place::Expired);
                self.release_dependants(&jid);
            }
        }
    }

    /// The deadlines of a queue as they stand in the store: of attempts, and of starts.
    pub(super) fn deadlines(&self, queue: usize) -> (Scores, Scores) {
        let timeouts = self.running(queue);
        let timeouts =
            timeouts.filter_map(|(jid, job)| Some((jid.clone(), job.timeout_at? as f64)));
        let starts = self.start_by.iter().filter(|(_, (of, _))| *of == queue);
        let starts = starts.map(|(jid, (_, at))| (jid.clone(), *at as f64));
        (timeouts.collect(), starts.collect())
    }
}
