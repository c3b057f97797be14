//! Changes of jobs that wait: what must follow, and the step itself.

use keyrack_jobs::{
    Error,
    bee::{Backoff, BackoffKind, Change, keys::Jid},
};

use super::{
    check::same,
    facts::{Facts, Place},
    random::Random,
    seen::Seen,
    steps::{QUEUES, backoff},
    world::{Checks, World},
};

/// What is different about a job afterwards.
#[derive(Debug, Clone, Copy)]
pub(super) enum Different {
    RunsNow,
    Delay(u64),
    Priority(i32),
    Data(u8),
    Timeout(Option<u64>),
    StartWithin(Option<u64>),
    Queue(usize),
    Retries(u32),
    /// A part of it, or all.
    Backoff {
        kind: Option<BackoffKind>,
        delay: Option<f64>,
        max: Option<f64>,
        jitter: Option<f64>,
    },
    Ttl(u64),
    FailedTtl(Option<u64>),
    /// Several at once: all of it happens, or nothing.
    Much {
        data: u8,
        queue: usize,
        delay: u64,
        priority: i32,
    },
}

impl Different {
    pub(super) fn new(random: &mut Random) -> Different {
        let (data, queue) = (random.below(6) as u8, random.below(QUEUES.len()));
        let (delay, priority) =
            (random.pick(&[0, 40, 9_000]), random.pick(&[0, 0, 3, 5, 10, 20, -3, -1]));
        match random.below(13) {
            0 => Different::RunsNow,
            1 => Different::Delay(delay),
            2 | 3 => Different::Priority(priority.min(10)),
            4 => Different::Data(data),
            5 => Different::Timeout(random.pick(&[None, Some(700), Some(50_000)])),
            6 => Different::StartWithin(random.pick(&[None, Some(30), Some(7_000)])),
            7 => Different::Queue(queue),
            8 => Different::Retries(random.pick(&[0, 1, 5, 7])),
            9 => {
                let Backoff { kind, delay_ms, max_ms, jitter } = backoff(random);
                let (kind, delay) = random.pick(&[
                    (Some(kind), Some(delay_ms)),
                    (Some(kind), None),
                    (None, Some(delay_ms)),
                ]);
                Different::Backoff { kind, delay, max: max_ms, jitter }
            }
            10 => Different::Ttl(random.pick(&[1_000, 60_000, 86_400_000])),
            11 => Different::FailedTtl(random.pick(&[None, Some(0), Some(5_000)])),
            _ => Different::Much { data, queue, delay, priority: priority.min(10) },
        }
    }

    fn change(self) -> Change {
        let mut change = Change::default();
        match self {
            Different::RunsNow => change.run_now = true,
            Different::Delay(delay) => change.delay = Some(delay as f64),
            Different::Priority(priority) => change.priority = Some(f64::from(priority)),
            Different::Data(data) => return change.with_args(&[data]).expect("JSON"),
            Different::Timeout(timeout) => change.timeout = Some(timeout),
            Different::StartWithin(within) => change.start_within = Some(within),
            Different::Queue(queue) => change.queue = Some(QUEUES[queue].into()),
            Different::Retries(retries) => change.retries = Some(retries),
            Different::Backoff { kind, delay, max, jitter } => {
                (change.backoff, change.retry_delay) = (kind, delay);
                (change.retry_delay_max, change.retry_jitter) = (max, jitter);
            }
            Different::Ttl(ttl) => change.ttl = Some(ttl),
            Different::FailedTtl(ttl) => change.failed_ttl = Some(ttl),
            Different::Much { data, queue, delay, priority } => {
                change.delay = Some(delay as f64);
                change.priority = Some(f64::from(priority));
                change.queue = Some(QUEUES[queue].into());
                return change.with_args(&[data]).expect("JSON");
            }
        }
        change
    }
}

impl Facts {
    /// Changes a job. Returns whether that is possible.
    pub(super) fn change(&mut self, jid: &str, different: Different) -> bool {
        let (now, job) = (self.now, &self.jobs[jid]);
        let awaits = job.place == Place::Waiting;
        if !matches!(job.place, Place::Waiting | Place::Delayed { .. } | Place::Ready) {
            return false;
        }
        match different {
            Different::RunsNow if awaits => return false,
            Different::RunsNow => self.job(jid).place = Place::Ready,
            Different::Delay(delay) => return self.delay(jid, now + delay),
            Different::Priority(priority) => self.job(jid).asked.priority = priority,
            Different::Data(data) => return self.set_data(jid, data),
            Different::Timeout(timeout) => self.job(jid).asked.timeout = timeout,
            Different::StartWithin(Some(_)) if job.attempts > 0 || job.retries > 0 => return false,
            Different::StartWithin(within) => {
                let (at, queue) = (within.map(|within| now + within), job.asked.queue);
                self.job(jid).start_by = at;
                self.start_by.remove(jid);
                self.start_by.extend(at.map(|at| (jid.to_owned(), (queue, at))));
            }
            Different::Queue(queue) => return self.move_to(jid, queue),
            Different::Retries(retries) => self.job(jid).asked.retries = Some(retries),
            Different::Backoff { kind, delay, max, jitter } => {
                let own = job.asked.backoff.unwrap_or_default();
                self.job(jid).asked.backoff = Some(Backoff {
                    kind: kind.unwrap_or(own.kind),
                    delay_ms: delay.unwrap_or(own.delay_ms),
                    max_ms: max.or(own.max_ms),
                    jitter: jitter.or(own.jitter),
                });
            }
            Different::Ttl(ttl) => self.job(jid).asked.ttl = ttl,
            Different::FailedTtl(ttl) => self.job(jid).asked.failed_ttl = ttl,
            Different::Much { data, queue, delay, priority } => {
                let leaves_hash = job.asked.data != data || job.asked.queue != queue;
                if awaits || (leaves_hash && !self.leave_hash(jid)) {
                    return false;
                }
                self.job(jid).asked.priority = priority;
                return self.set_data(jid, data)
                    && self.move_to(jid, queue)
                    && self.delay(jid, now + delay);
            }
        }
        true
    }

    fn delay(&mut self, jid: &str, due: u64) -> bool {
        let job = self.job(jid);
        let retried = match job.place {
            Place::Waiting => return false,
            Place::Delayed { retried, .. } => retried,
            _ => false,
        };
        job.place = Place::Delayed { due, retried };
        true
    }

    fn set_data(&mut self, jid: &str, data: u8) -> bool {
        if self.jobs[jid].asked.data == data {
            return true;
        }
        if !self.leave_hash(jid) {
            return false;
        }
        self.forget_args(jid);
        self.job(jid).asked.data = data;
        true
    }

    fn move_to(&mut self, jid: &str, queue: usize) -> bool {
        if self.jobs[jid].asked.queue == queue {
            return true;
        }
        if !self.leave_hash(jid) {
            return false;
        }
        self.job(jid).asked.queue = queue;
        if let Some((of, _)) = self.start_by.get_mut(jid) {
            *of = queue;
        }
        true
    }

    /// A job that has duplicates has to stay what it is.
    fn leave_hash(&mut self, jid: &str) -> bool {
        let job = &self.jobs[jid];
        let Some(hash) = job.hash.clone() else { return true };
        let key = (job.asked.queue, hash);
        if self.hashes.get(&key).is_some_and(|same| same.len() > 1) {
            return false;
        }
        self.hashes.remove(&key);
        self.job(jid).hash = None;
        true
    }
}

impl World {
    pub(super) async fn change(&mut self, job: u64, different: Different) -> Checks {
        let Some(jid) = self.nth_job(job) else { return Ok(()) };
        let id = Jid::new(&jid).expect("an id");
        let exists = self.facts.jobs.contains_key(&jid);
        let before = self.facts.jobs.get(&jid).cloned();
        let changed = self.hive.change_job(&id, &different.change()).await;
        match (changed, exists) {
            (Err(Error::NoSuchJob { .. }), false) => return Ok(()),
            // Nothing was ever submitted to it.
            (Err(Error::NoSuchQueue { .. }), _) => return Ok(()),
            (Ok(_), true) if self.facts.change(&jid, different) => {}
            (Err(Error::Conflict { .. }), true) if !self.facts.change(&jid, different) => {
                return Ok(());
            }
            (changed, _) => {
                return Err(format!(
                    "{jid}, {before:?}, was changed by {different:?}: {changed:?}"
                ));
            }
        }
        let before = before.expect("it exists");
        self.check_direction(&jid, different, before.asked.priority).await
    }

    /// A higher priority brings a job no further back, a lower one no further forward, and who runs now is first.
    async fn check_direction(&self, jid: &str, different: Different, before: i32) -> Checks {
        let queue = QUEUES[self.facts.jobs[jid].asked.queue];
        let place = |seen: &Seen| seen.standing(queue).iter().position(|other| other == jid);
        let now = Seen::read(self.hive.store()).await?;
        let (Some(was), Some(is)) = (place(&self.seen), place(&now)) else { return Ok(()) };
        let is_right = match different {
            Different::Priority(priority) if priority > before => is <= was,
            Different::Priority(priority) if priority < before => is >= was,
            Different::RunsNow => {
                let ranks = now.ranks(queue);
                let is_first =
                    |other: &String| ranks.get(other).is_some_and(|(rank, _)| *rank == 0.0);
                now.standing(queue)[..is].iter().all(is_first)
            }
            _ => true,
        };
        same(&format!("whether {different:?} puts {jid} where it belongs"), &true, &is_right)
            .map_err(|error| format!("{error}: from {was} to {is}"))
    }
}
