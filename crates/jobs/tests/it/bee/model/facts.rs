//! What must be true: jobs, locks and limits in plain Rust, changed by the same steps as the store.
//!
//! Knows nothing of keys and scores. A job that is ready may stand in the working queue or wait for its tenant's
//! turn: which of them is the queue's business, as long as the order holds.

use std::collections::{BTreeMap, BTreeSet};

use keyrack_jobs::bee::{Verdict, WorkerTimeouts};

use super::{
    limits::Limits,
    reserved::{ReservationId, Reserved},
    steps::{Ending, QUEUES, Request},
    unique::{EntryId, UniqueEntry},
};

/// A missed lock is remembered for so long.
const LOCK_WAITS_MS: u64 = 86_400_000;
/// A failed job is kept for so long, unless it or its queue says otherwise.
const FAILED_TTL_MS: u64 = 7 * 86_400_000;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Place {
    Waiting,
    Delayed { due: u64, retried: bool },
    Ready,
    Reserved { reservation: ReservationId },
    Running { worker: String, locked_until: u64 },
    Completed,
    Failed,
    Duplicate,
    Canceled,
    Expired,
}

impl Place {
    pub(super) fn has_ended(&self) -> bool {
        use Place::*;
        matches!(self, Completed | Failed | Duplicate | Canceled | Expired)
    }
}

/// What is known about one job.
#[derive(Debug, Clone)]
pub(super) struct Fact {
    pub(super) asked: Request,
    pub(super) parent: Option<String>,
    pub(super) tags: BTreeSet<&'static str>,
    pub(super) place: Place,
    pub(super) submitted_at: u64,
    pub(super) worker: String,
    pub(super) retries: u64,
    pub(super) attempts: u64,
    /// When its attempt has to have ended.
    pub(super) timeout_at: Option<u64>,
    /// When it has to have started, if it never has.
    pub(super) start_by: Option<u64>,
    /// The end that counted last, with its attempt, unless the job was run again by hand since.
    pub(super) last_end: Option<(u64, Ending)>,
    /// Attempts that nobody told of: it was in a reservation, and the reservation was given up.
    pub(super) unseen: u64,
    pub(super) deaths: u64,
    pub(super) hash: Option<String>,
    pub(super) duplicate_of: Option<String>,
    /// When its result stops being valid.
    pub(super) expires_at: Option<u64>,
    /// When it failed for good, if it did.
    pub(super) failed_at: Option<u64>,
    /// When it is gone altogether.
    pub(super) dies_at: Option<u64>,
    /// How often it was completed, failed for good, or found to be a duplicate.
    pub(super) ends: usize,
    /// How often somebody let it run again after that.
    pub(super) restarts: usize,
}

/// Everything that is known.
#[derive(Debug, Default)]
pub(super) struct Facts {
    pub(super) now: u64,
    pub(super) jobs: BTreeMap<String, Fact>,
    /// What each job still waits for.
    pub(super) dependencies: BTreeMap<String, BTreeSet<String>>,
    pub(super) children: BTreeMap<String, BTreeSet<String>>,
    /// Jobs with the same hash, by queue and hash, the original first.
    pub(super) hashes: BTreeMap<(usize, String), Vec<String>>,
    /// How often a worker let the lock of a job expire, and until when that counts.
    pub(super) lock_waits: BTreeMap<(String, String), (u64, u64)>,
    pub(super) reservations: BTreeMap<ReservationId, Reserved>,
    /// The jobs that have not started and have to by some time, each with its queue.
    pub(super) start_by: BTreeMap<String, (usize, u64)>,
    /// The jobs that stand for equal submissions.
    pub(super) unique: BTreeMap<EntryId, UniqueEntry>,
    pub(super) limits: [Limits; 2],
}

impl Facts {
    /// Time goes on; what was set to die is gone.
    pub(super) fn wait_until(&mut self, now: u64) {
        self.now = now;
        self.jobs.retain(|_, job| job.dies_at.is_none_or(|at| at > now));
        self.lock_waits.retain(|_, (_, until)| *until > now);
    }

    pub(super) fn job(&mut self, jid: &str) -> &mut Fact {
        self.jobs.get_mut(jid).expect("a job that is known")
    }

    /// The jobs of a queue that run, with their workers.
    pub(super) fn running(&self, queue: usize) -> impl Iterator<Item = (&String, &Fact)> {
        self.jobs.iter().filter(move |(_, job)| {
            job.asked.queue == queue && matches!(job.place, Place::Running { .. })
        })
    }

    /// Whether a job may be submitted with this parent.
    pub(super) fn may_have_children(&self, parent: &str) -> bool {
        self.jobs.get(parent).is_none_or(|job| job.place != Place::Canceled)
    }

    pub(super) fn submit(
        &mut self,
        jid: String,
        asked: Request,
        after: &[String],
        parent: Option<String>,
    ) {
        // A job that had the id before may have ended while it waited.
        self.dependencies.remove(&jid);
        let tags: BTreeSet<&str> = asked.tags.iter().copied().collect();
        let tagged = self.jobs.iter().filter(|(_, job)| {
            asked.after_tags && job.dies_at.is_none() && job.tags.is_superset(&tags)
        });
        let named = after.iter().filter_map(|jid| self.jobs.get_key_value(jid));
        let open = tagged.chain(named).filter(|(_, job)| !job.place.has_ended());
        let open: BTreeSet<String> = open.map(|(jid, _)| jid.clone()).collect();
        for jid in &open {
            self.touch(jid);
        }
        let place = if !open.is_empty() { Place::Waiting } else { self.place_after(asked.delay) };
        if !open.is_empty() {
            self.dependencies.insert(jid.clone(), open);
        }
        if let Some(parent) = &parent {
            self.children.entry(parent.clone()).or_default().insert(jid.clone());
        }
        let start_by = asked.start_within.map(|within| self.now + within);
        if let Some(at) = start_by {
            self.start_by.insert(jid.clone(), (asked.queue, at));
        }
        let job = Fact {
            asked,
            parent,
            tags,
            place,
            submitted_at: self.now,
            worker: String::new(),
            retries: 0,
            attempts: 0,
            timeout_at: None,
            start_by,
            last_end: None,
            unseen: 0,
            deaths: 0,
            hash: None,
            duplicate_of: None,
            expires_at: None,
            failed_at: None,
            dies_at: None,
            ends: 0,
            restarts: 0,
        };
        self.jobs.insert(jid, job);
    }

    fn place_after(&self, delay: u64) -> Place {
        match delay {
            0 => Place::Ready,
            delay => Place::Delayed { due: self.now + delay, retried: false },
        }
    }

    /// What is due is ready.
    pub(super) fn promote(&mut self, queue: usize) {
        let now = self.now;
        for job in self.jobs.values_mut().filter(|job| job.asked.queue == queue) {
            if matches!(job.place, Place::Delayed { due, .. } if due <= now) {
                job.place = Place::Ready;
            }
        }
    }

    /// A worker has claimed a job. Says so if it could not have.
    pub(super) fn start(
        &mut self,
        jid: &str,
        worker: &str,
        timeouts: &WorkerTimeouts,
    ) -> Result<(), String> {
        let (now, lock) = (self.now, timeouts.lock.as_millis() as u64);
        let job =
            self.jobs.get_mut(jid).ok_or_else(|| format!("{jid} is gone, but was claimed"))?;
        if job.place != Place::Ready {
            return Err(format!("{jid} was claimed by {worker} although it is {:?}", job.place));
        }
        job.place = Place::Running { worker: worker.into(), locked_until: now + lock };
        job.worker = worker.into();
        job.attempts += 1;
        let (queue, tenant) = (job.asked.queue, job.asked.tenant);
        let (attempt, names) = (job.attempts, job.asked.limits.clone());
        self.start_within_limits(jid, attempt, queue, &names)?;
        self.limits[queue].started_at(now);
        if let Some(tenant) = tenant {
            self.limits[queue].tenant_started_at(tenant, now);
        }
        self.begin_deadline(jid);
        Ok(())
    }

    /// What a worker must be told that wants to settle a job.
    pub(super) fn verdict(&self, jid: &str, worker: &str, attempt: u64) -> Verdict {
        let Some(job) = self.jobs.get(jid) else { return Verdict::Gone };
        match &job.place {
            Place::Canceled => Verdict::Canceled,
            Place::Running { worker: holder, .. }
                if holder == worker && job.attempts == attempt =>
            {
                Verdict::Ok
            }
            _ => Verdict::Lost,
        }
    }

    /// Whether the worker has reported the same end of the same attempt before. All results and messages are alike.
    pub(super) fn was_reported(&self, jid: &str, worker: &str, attempt: u64, end: Ending) -> bool {
        let Some(job) = self.jobs.get(jid) else { return false };
        let Some((last_attempt, last_end)) = job.last_end else { return false };
        // Somebody may have moved it to another queue since, and the worker tells of its own.
        let same_queue = worker.split(':').nth(3) == Some(QUEUES[job.asked.queue]);
        let same_attempt = [last_attempt, job.attempts] == [attempt; 2] && job.worker == worker;
        let same_attempt = same_attempt && same_queue;
        same_attempt
            && match (last_end, end) {
                (Ending::Complete { .. }, Ending::Complete { .. }) => job.place == Place::Completed,
                // The history of a failed job does not change when its result expires.
                (Ending::Fail { .. }, Ending::Fail { .. }) => matches!(
                    job.place,
                    Place::Delayed { .. }
                        | Place::Ready
                        | Place::Reserved { .. }
                        | Place::Failed
                        | Place::Expired
                ),
                (Ending::Snooze { .. }, Ending::Snooze { .. }) => matches!(
                    job.place,
                    Place::Delayed { .. } | Place::Ready | Place::Reserved { .. }
                ),
                (Ending::Release | Ending::Keep, Ending::Release | Ending::Keep) => matches!(
                    job.place,
                    Place::Delayed { .. } | Place::Ready | Place::Reserved { .. }
                ),
                _ => false,
            }
    }

    /// An attempt has ended.
    pub(super) fn settle(&mut self, jid: &str, end: Ending) {
        let job = self.job(jid);
        job.last_end = Some((job.attempts, end));
        match end {
            Ending::Complete { ttl } => self.complete(jid, ttl),
            Ending::Fail { retry, delay, exact } => self.fail_attempt(jid, retry, delay, exact),
            Ending::Snooze { delay } => {
                let due = self.now + delay;
                self.job(jid).place = Place::Delayed { due, retried: false };
            }
            Ending::Release | Ending::Keep => self.release(jid),
        }
    }

    fn complete(&mut self, jid: &str, ttl: Option<u64>) {
        let now = self.now;
        let job = self.job(jid);
        job.expires_at = Some(now + ttl.unwrap_or(job.asked.ttl));
        self.end(jid, Place::Completed);
    }

    pub(super) fn fail(&mut self, jid: &str) {
        let now = self.now;
        let queue = self.job(jid).asked.queue;
        let of_queue = self.limits[queue].set.failed_ttl_ms.unwrap_or(FAILED_TTL_MS);
        let job = self.job(jid);
        let ttl = match job.asked.failed_ttl.unwrap_or(of_queue) {
            0 => job.asked.ttl,
            ttl => ttl,
        };
        (job.expires_at, job.failed_at) = (Some(now + ttl), Some(now));
        self.end(jid, Place::Failed);
    }

    fn end(&mut self, jid: &str, place: Place) {
        let job = self.job(jid);
        job.place = place;
        job.ends += 1;
        self.release_dependants(jid);
    }

    pub(super) fn release(&mut self, jid: &str) {
        let job = self.job(jid);
        job.last_end = Some((job.attempts, Ending::Release));
        job.place = Place::Ready;
        self.restore_start_by(jid);
    }

    pub(super) fn release_dependants(&mut self, jid: &str) {
        let mut released = Vec::new();
        self.dependencies.retain(|dependant, open| {
            if open.remove(jid) && open.is_empty() {
                released.push(dependant.clone());
            }
            !open.is_empty()
        });
        for dependant in released {
            let Some(job) = self.jobs.get(&dependant) else { continue };
            if job.place == Place::Waiting {
                let place = self.place_after(job.asked.delay);
                self.job(&dependant).place = place;
            }
        }
    }

    /// A worker has found a job's hash. Returns the original if the job is a duplicate.
    pub(super) fn find_duplicate(&mut self, jid: &str, hash: &str) -> Option<String> {
        let job = self.job(jid);
        if job.hash.is_some() {
            return None;
        }
        job.hash = Some(hash.into());
        let queue = job.asked.queue;
        self.disown_failed(queue, hash);
        let same = self.hashes.entry((queue, hash.into())).or_default();
        same.push(jid.into());
        let original = same[0].clone();
        if original == jid {
            return None;
        }
        self.job(jid).duplicate_of = Some(original.clone());
        self.end(jid, Place::Duplicate);
        Some(original)
    }

    /// A job that failed longer ago than its result would be kept is no original any more.
    fn disown_failed(&mut self, queue: usize, hash: &str) {
        let key = (queue, hash.to_owned());
        let Some(original) = self.hashes.get(&key).map(|same| same[0].clone()) else { return };
        let now = self.now;
        let job = self.job(&original);
        let is_over = |at: u64| at + job.asked.ttl <= now;
        if job.place != Place::Failed || !job.failed_at.is_some_and(is_over) {
            return;
        }
        job.hash = None;
        for other in self.hashes.remove(&key).unwrap_or_default() {
            if other != original {
                let ttl = self.job(&other).asked.ttl;
                self.set_to_die(&other, ttl);
            }
        }
    }

    /// Cancels a job and its children. Returns all of them, children first.
    pub(super) fn cancel(&mut self, jid: &str) -> Vec<String> {
        let mut canceled = Vec::new();
        self.cancel_into(jid, &mut canceled, &mut BTreeSet::new());
        canceled
    }

    fn cancel_into(&mut self, jid: &str, canceled: &mut Vec<String>, seen: &mut BTreeSet<String>) {
        if !self.jobs.contains_key(jid) || !seen.insert(jid.into()) {
            return;
        }
        let keeps_result = self.jobs[jid].place == Place::Completed;
        if !keeps_result {
            self.leave_reservation(jid);
            self.start_by.remove(jid);
            let (now, job) = (self.now, &self.jobs[jid]);
            if let Place::Running { worker, .. } = &job.place {
                self.limits[job.asked.queue].await_stop(jid, job.attempts, worker, now);
            }
            self.die(jid, Place::Canceled);
        }
        for child in self.children.get(jid).cloned().unwrap_or_default() {
            self.cancel_into(&child, canceled, seen);
        }
        if !keeps_result {
            self.release_dependants(jid);
            canceled.push(jid.into());
        }
    }

    /// The last step of a job. An original takes its duplicates with it.
    pub(super) fn die(&mut self, jid: &str, place: Place) {
        let job = self.job(jid);
        job.place = place;
        let (ttl, queue) = (job.asked.ttl, job.asked.queue);
        let key = (queue, job.hash.clone().unwrap_or_default());
        if let Some(same) = self.hashes.get_mut(&key) {
            if same[0] == jid {
                for other in self.hashes.remove(&key).unwrap_or_default() {
                    self.set_to_die(&other, ttl);
                }
            } else {
                same.retain(|other| other != jid);
            }
        }
        self.set_to_die(jid, ttl);
    }

    fn set_to_die(&mut self, jid: &str, ttl: u64) {
        let now = self.now;
        let job = self.job(jid);
        job.dies_at = Some(now + ttl);
        job.expires_at = None;
        if let Some(parent) = job.parent.clone()
            && let Some(children) = self.children.get_mut(&parent)
        {
            children.remove(jid);
            if children.is_empty() {
                self.children.remove(&parent);
            }
        }
    }

    /// Lets a job run again by hand. Returns whether that is possible.
    pub(super) fn retry(&mut self, jid: &str) -> bool {
        let job = self.job(jid);
        if !matches!(job.place, Place::Failed | Place::Canceled | Place::Expired) {
            return false;
        }
        // A job that failed is still the original of its duplicates.
        if job.place != Place::Failed {
            job.hash = None;
        }
        job.place = Place::Ready;
        (job.retries, job.deaths) = (0, 0);
        (job.duplicate_of, job.expires_at, job.dies_at) = (None, None, None);
        job.restarts += 1;
        job.last_end = None;
        if let Some(parent) = job.parent.clone() {
            self.children.entry(parent).or_default().insert(jid.into());
        }
        self.dependencies.remove(jid);
        true
    }

    /// A worker sends a heartbeat. Returns the jobs that it has.
    pub(super) fn heartbeat(
        &mut self,
        queue: usize,
        worker: &str,
        timeouts: &WorkerTimeouts,
    ) -> BTreeSet<String> {
        let (now, lock) = (self.now, timeouts.lock.as_millis() as u64);
        self.limits[queue].beat(worker, now);
        let mut kept = BTreeSet::new();
        for (jid, job) in &mut self.jobs {
            if let Place::Running { worker: holder, locked_until } = &mut job.place
                && holder == worker
            {
                *locked_until = now + lock;
                self.lock_waits.remove(&(worker.to_owned(), jid.clone()));
                kept.insert(jid.clone());
            }
        }
        kept
    }

    /// Cleans up a queue. Returns how many results expired and how many jobs lost their worker.
    pub(super) fn sweep(
        &mut self,
        queue: usize,
        timeouts: &WorkerTimeouts,
        gone: &[String],
    ) -> (u64, u64) {
        let expired = self.expire(queue, timeouts.finished_max);
        let mut taken = 0;
        let running: Vec<String> = self.running(queue).map(|(jid, _)| jid.clone()).collect();
        for jid in &running {
            taken += u64::from(self.miss_lock(jid, timeouts));
        }
        taken += self.take_reservations(queue, timeouts, gone);
        for jid in &running {
            if let Place::Running { worker, .. } = &self.jobs[jid].place
                && gone.contains(worker)
            {
                self.take_away(jid, timeouts);
                taken += 1;
            }
        }
        self.limits[queue].bury(gone);
        taken += self.time_out(queue);
        self.end_unstarted(queue);
        self.sweep_unique(queue);
        self.limits[queue].sweep(self.now);
        (expired, taken)
    }

    /// Ends what has expired, and then what the queue keeps no longer: completed and failed jobs are counted apart.
    fn expire(&mut self, queue: usize, finished_max: u64) -> u64 {
        let kept = |facts: &Facts, place: Place| -> Vec<(u64, String)> {
            let jobs = facts.jobs.iter();
            let jobs = jobs.filter(|(_, job)| job.asked.queue == queue && job.place == place);
            let order = |job: &Fact| match place {
                Place::Failed => job.failed_at,
                _ => job.expires_at,
            };
            let mut kept: Vec<(u64, String)> =
                jobs.filter_map(|(jid, job)| Some((order(job)?, jid.clone()))).collect();
            kept.sort();
            kept
        };
        let due = self.jobs.iter().filter(|(_, job)| {
            job.asked.queue == queue && job.expires_at.is_some_and(|at| at <= self.now)
        });
        let due: Vec<String> = due.map(|(jid, _)| jid.clone()).collect();
        for jid in &due {
            self.die(jid, Place::Expired);
        }
        let set = &self.limits[queue].set;
        let most = [
            (Place::Completed, set.completed_max.unwrap_or(finished_max)),
            (Place::Failed, set.failed_max.unwrap_or(finished_max)),
        ];
        let mut n_dropped = 0;
        for (place, most) in most {
            let kept = kept(self, place);
            for (_, jid) in kept.iter().take(kept.len().saturating_sub(most as usize)) {
                self.die(jid, Place::Expired);
                self.jobs.remove(jid);
                n_dropped += 1;
            }
        }
        due.len() as u64 + n_dropped
    }

    /// Whether a job is taken from its worker because its lock has expired once too often.
    fn miss_lock(&mut self, jid: &str, timeouts: &WorkerTimeouts) -> bool {
        let (now, lock) = (self.now, timeouts.lock.as_millis() as u64);
        let Place::Running { worker, locked_until } = &mut self.job(jid).place else {
            return false;
        };
        if *locked_until > now {
            return false;
        }
        let worker = worker.clone();
        if timeouts.waits_max > 0 {
            let waits = self.lock_waits.entry((worker, jid.into())).or_default();
            *waits = (waits.0 + 1, now + LOCK_WAITS_MS);
            if waits.0 <= u64::from(timeouts.waits_max) {
                if let Place::Running { locked_until, .. } = &mut self.job(jid).place {
                    *locked_until = now + lock;
                }
                return false;
            }
        }
        self.take_away(jid, timeouts);
        true
    }

    pub(super) fn take_away(&mut self, jid: &str, timeouts: &WorkerTimeouts) {
        let limit = self.retry_limit(jid);
        self.start_by.remove(jid);
        let job = self.job(jid);
        job.deaths += 1;
        let is_poison = timeouts.deaths_max > 0 && job.deaths >= u64::from(timeouts.deaths_max);
        if is_poison || job.retries >= limit {
            self.fail(jid);
        } else {
            job.retries += 1;
            job.place = Place::Ready;
        }
    }
}
