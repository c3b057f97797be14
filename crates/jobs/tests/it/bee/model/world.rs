//! A store in simulated time, its workers, and the facts that it is held against.

use std::{collections::BTreeSet, time::Duration};

use keyrack_engine::SimulatedHost;
use keyrack_jobs::{
    Error,
    bee::{
        Hive, Submission, SubmitOutcome, Verdict, WorkerTimeouts,
        keys::{Jid, LimitName, QueueName, Tag, Tenant, WorkerId},
    },
};
use keyrack_testkit::simulated_store;

use super::{
    check::{check, same},
    crew::{Claim, Worker},
    facts::{Facts, Place},
    listener::Listener,
    reservations::Reservation,
    seen::Seen,
    steps::{Plan, QUEUES, Request, Setting, Step},
    unique::Rule,
};

pub(super) const START_MS: u64 = 1_794_709_387_000;
const WORKERS_PER_QUEUE: usize = 2;

pub(super) struct World {
    pub(super) hive: Hive,
    clock: SimulatedHost,
    pub(super) timeouts: WorkerTimeouts,
    pub(super) finds_duplicates: bool,
    listener: Option<Listener>,
    pub(super) facts: Facts,
    /// The store as it was after the last step.
    pub(super) seen: Seen,
    pub(super) workers: Vec<Worker>,
    pub(super) dead: Vec<Worker>,
    pub(super) n_workers: usize,
    n_jobs: usize,
    /// What workers believe to have that have lost it.
    pub(super) stale: Vec<Claim>,
    /// Reservations that were told of, or whose workers have died.
    pub(super) stale_reservations: Vec<Reservation>,
    /// Every job there ever was.
    submitted: Vec<String>,
}

pub(super) type Checks = Result<(), String>;

/// The queue's name as a key has it.
pub(super) fn queue_name(queue: usize) -> QueueName {
    QueueName::new(QUEUES[queue]).expect("a queue")
}

pub(super) fn failed(error: impl std::fmt::Display) -> String {
    format!("the store failed: {error}")
}

impl World {
    pub(super) async fn new(plan: &Plan, seed: u64) -> World {
        let (store, clock) = simulated_store(START_MS, seed).await;
        let hive = Hive::named(store, "sim:1:hive");
        let listener = if plan.listens { Some(Listener::open(&hive).await) } else { None };
        let mut world = World {
            hive,
            listener,
            clock,
            timeouts: plan.timeouts,
            finds_duplicates: plan.finds_duplicates,
            facts: Facts { now: START_MS, ..Facts::default() },
            seen: Seen::default(),
            workers: Vec::new(),
            dead: Vec::new(),
            n_workers: 0,
            n_jobs: 0,
            stale: Vec::new(),
            stale_reservations: Vec::new(),
            submitted: Vec::new(),
        };
        for at in 0..WORKERS_PER_QUEUE * QUEUES.len() {
            let worker = world.new_worker(at % QUEUES.len());
            world.workers.push(worker);
        }
        world
    }

    /// Makes one step and looks whether everything is as it must be.
    pub(super) async fn step(&mut self, step: &Step) -> Checks {
        match step {
            Step::Submit(requests) => self.submit(requests).await?,
            Step::SubmitAgain { job } => self.submit_again(*job).await?,
            Step::Claim { worker, max } => self.claim(self.nth_worker(*worker), *max).await?,
            Step::Heartbeat { worker } => self.heartbeat(self.nth_worker(*worker)).await?,
            Step::Settle { worker, ends, max } => {
                self.settle(self.nth_worker(*worker), ends, *max).await?;
            }
            Step::Reserve { worker, request } => {
                self.reserve(self.nth_worker(*worker), *request).await?;
            }
            Step::Close { worker, report } => self.close(*worker, report).await?,
            Step::CloseLate { reservation, ends } => self.close_late(*reservation, ends).await?,
            Step::SettleLate { claim, end } => self.settle_late(*claim, *end).await?,
            Step::CheckLate { claim } => self.check_late(*claim).await?,
            Step::Leave { worker } => self.leave(self.nth_worker(*worker)).await?,
            Step::Die { worker } => self.bury(self.nth_worker(*worker)),
            Step::Cancel { job } => self.cancel(*job).await?,
            Step::Retry { job } => self.retry(*job).await?,
            Step::Change { job, different } => self.change(*job, *different).await?,
            Step::SetTags { job, tags } => self.set_tags(*job, tags).await?,
            Step::Set { queue, setting } => self.set(*queue, *setting).await?,
            Step::Sweep { queue, names_the_dead } => self.sweep(*queue, *names_the_dead).await?,
            Step::Wait { ms } => self.wait(*ms),
        }
        self.look().await
    }

    /// Compares the whole store with the facts, and what live workers believe.
    pub(super) async fn look(&mut self) -> Checks {
        self.seen = Seen::read(self.hive.store()).await?;
        check(&self.facts, &self.seen)?;
        if let Some(listener) = &mut self.listener {
            listener.listen(&self.hive).await?;
            let mut jobs = self.seen.jobs.iter();
            jobs.try_for_each(|(jid, job)| listener.check(jid, &job.history))?;
        }
        let live = self.workers.iter().flat_map(|worker| &worker.claims);
        for claim in live.filter(|claim| claim.locked_until > self.facts.now) {
            let verdict = self.facts.verdict(&claim.jid, claim.worker.as_str(), claim.attempt);
            same(
                &format!("what {} believes of {}", claim.worker, claim.jid),
                &Verdict::Ok,
                &verdict,
            )?;
        }
        let mut reservations = self.workers.iter().flat_map(|worker| &worker.reservations);
        let is_taken = |reservation: &&Reservation| {
            reservation.locked_until > self.facts.now
                && !self.facts.reservations.contains_key(&reservation.id())
        };
        match reservations.find(is_taken) {
            Some(reservation) => {
                Err(format!("{:?} was taken from its worker in time", reservation.id()))
            }
            None => Ok(()),
        }
    }

    fn nth_worker(&self, n: u64) -> usize {
        (n % self.workers.len() as u64) as usize
    }

    pub(super) fn nth_job(&self, n: u64) -> Option<String> {
        let n_jobs = self.submitted.len() as u64;
        (n_jobs > 0).then(|| self.submitted[(n % n_jobs) as usize].clone())
    }

    pub(super) fn lock_ms(&self) -> u64 {
        self.timeouts.lock.as_millis() as u64
    }

    async fn submit(&mut self, requests: &[Request]) -> Checks {
        let (mut jobs, mut expected) = (Vec::new(), Vec::new());
        for request in requests {
            let mut request = request.clone();
            let jid = self.id_for(&mut request);
            let after: Vec<String> =
                request.after.iter().filter_map(|job| self.nth_job(*job)).collect();
            let parent = request.parent.and_then(|job| self.nth_job(job));
            jobs.push(submission(&request, &jid, &after, parent.as_deref()));
            let is_welcome =
                parent.as_ref().is_none_or(|parent| self.facts.may_have_children(parent))
                    && self.facts.jobs.get(&jid).is_none_or(|job| job.asked.queue == request.queue);
            let stood =
                is_welcome.then(|| self.facts.submit_unique(jid.clone(), request, &after, parent));
            let is_created = matches!(stood, Some((_, SubmitOutcome::Created)));
            if let Some(listener) = self.listener.as_mut().filter(|_| is_created) {
                // What was announced of a job that had the id before is no part of its history.
                listener.forget(&jid);
            }
            expected.push(stood);
            if is_created && !self.submitted.contains(&jid) {
                self.submitted.push(jid);
            }
        }
        let answers = self.hive.submit_each(jobs).await.map_err(failed)?;
        let answers: Vec<Option<(String, SubmitOutcome)>> = answers
            .into_iter()
            .map(|answer| match answer {
                Ok(stored) => Ok(Some((stored.jid.to_string(), stored.outcome))),
                Err(Error::ParentCanceled { .. } | Error::Exists { .. }) => Ok(None),
                Err(error) => Err(failed(error)),
            })
            .collect::<Result<_, _>>()?;
        same("what became of the submissions", &expected, &answers)
    }

    /// The id of a new job, or of an old one if that is what equal submissions have in common. Mostly
    /// they go to its queue.
    fn id_for(&mut self, request: &mut Request) -> String {
        let by_id = request.unique.is_some_and(Rule::is_by_id);
        if let Some(jid) = self.nth_job(request.id_of).filter(|_| by_id) {
            request.parent = None;
            if let Some(job) =
                self.facts.jobs.get(&jid).filter(|_| !request.id_of.is_multiple_of(4))
            {
                request.queue = job.asked.queue;
            }
            return jid;
        }
        self.n_jobs += 1;
        format!("j{:03}", self.n_jobs - 1)
    }

    async fn submit_again(&mut self, job: u64) -> Checks {
        let Some(jid) = self.nth_job(job).filter(|jid| self.facts.jobs.contains_key(jid)) else {
            return Ok(());
        };
        let again = Submission::to(queue_name(0)).id(Jid::new(jid).expect("an id"));
        match self.hive.submit(again).await {
            Err(Error::Exists { .. }) => Ok(()),
            other => Err(format!("an id was taken twice: {other:?}")),
        }
    }

    async fn cancel(&mut self, job: u64) -> Checks {
        let Some(jid) = self.nth_job(job) else { return Ok(()) };
        let canceled = self.hive.cancel(&Jid::new(&jid).expect("an id")).await;
        if !self.facts.jobs.contains_key(&jid) {
            return match canceled {
                Err(Error::NoSuchJob { .. }) => Ok(()),
                other => Err(format!("a job that is gone was canceled: {other:?}")),
            };
        }
        if self.facts.jobs[&jid].place == Place::Completed {
            return match canceled {
                Err(Error::Conflict { .. }) => Ok(()),
                other => Err(format!("a completed job was canceled: {other:?}")),
            };
        }
        let canceled = canceled.map_err(failed)?;
        let expected: BTreeSet<String> = self.facts.cancel(&jid).into_iter().collect();
        same("what was canceled", &expected, &canceled.iter().cloned().collect())?;
        same("what was canceled last", &Some(&jid), &canceled.last())?;
        // The workers are told, so they stop.
        for at in 0..self.workers.len() {
            self.forget(at, |claim| expected.contains(&claim.jid));
        }
        Ok(())
    }

    async fn retry(&mut self, job: u64) -> Checks {
        let Some(jid) = self.nth_job(job) else { return Ok(()) };
        let retried = self.hive.retry(&Jid::new(&jid).expect("an id")).await;
        let exists = self.facts.jobs.contains_key(&jid);
        match retried {
            Ok(()) if exists && self.facts.retry(&jid) => Ok(()),
            Err(Error::Conflict { .. }) if exists && !self.facts.retry(&jid) => Ok(()),
            Err(Error::NoSuchJob { .. }) if !exists => Ok(()),
            other => {
                Err(format!("{jid}, {:?}, was run again: {other:?}", self.facts.jobs.get(&jid)))
            }
        }
    }

    async fn set_tags(&mut self, job: u64, tags: &[&'static str]) -> Checks {
        let Some(jid) = self.nth_job(job) else { return Ok(()) };
        let new: Vec<Tag> = tags.iter().map(|tag| Tag::new(*tag).expect("a tag")).collect();
        let set = self.hive.set_tags(&Jid::new(&jid).expect("an id"), &new).await;
        match (set, self.facts.jobs.get_mut(&jid)) {
            (Ok(()), Some(job)) => {
                job.tags = tags.iter().copied().collect();
                Ok(())
            }
            (Err(Error::NoSuchJob { .. }), None) => Ok(()),
            (set, job) => Err(format!("tags of {jid}, {job:?}: {set:?}")),
        }
    }

    pub(super) async fn set(&mut self, queue: usize, setting: Setting) -> Checks {
        let (name, limits) = (queue_name(queue), &mut self.facts.limits[queue]);
        limits.set(setting);
        match setting {
            Setting::Paused(true) => self.hive.pause(&name).await,
            Setting::Paused(false) => self.hive.resume(&name).await,
            _ => self.hive.set_limits(&name, &limits.set).await,
        }
        .map_err(failed)
    }

    pub(super) async fn sweep(&mut self, queue: usize, names_the_dead: bool) -> Checks {
        let gone = self.dead.iter().filter(|dead| names_the_dead && dead.queue == queue);
        let gone: Vec<WorkerId> = gone.map(|dead| dead.id.clone()).collect();
        let swept =
            self.hive.sweep(&queue_name(queue), &self.timeouts, "", &gone).await.map_err(failed)?;
        let gone: Vec<String> = gone.iter().map(ToString::to_string).collect();
        let before: BTreeSet<String> =
            self.facts.running(queue).map(|(jid, _)| jid.clone()).collect();
        let expected = self.facts.sweep(queue, &self.timeouts, &gone);
        same("what the sweep did", &expected, &(swept.expired, swept.taken_away))?;
        // The workers of those that ran for too long are told.
        let after: BTreeSet<String> =
            self.facts.running(queue).map(|(jid, _)| jid.clone()).collect();
        for at in 0..self.workers.len() {
            self.forget(at, |claim| before.contains(&claim.jid) && !after.contains(&claim.jid));
        }
        Ok(())
    }

    pub(super) fn wait(&mut self, ms: u64) {
        self.clock.advance_ms(ms);
        if let Some(engine) = self.hive.store().engine() {
            engine.tick();
        }
        self.facts.wait_until(self.clock.now_ms());
    }
}

fn submission(request: &Request, jid: &str, after: &[String], parent: Option<&str>) -> Submission {
    let id = |jid: &str| Jid::new(jid).expect("an id");
    let mut job = Submission::to(queue_name(request.queue))
        .id(id(jid))
        .arg(request.data)
        .priority(f64::from(request.priority))
        .delay_ms(request.delay as f64)
        .ttl_ms(request.ttl);
    if let Some(retries) = request.retries {
        job = job.retries(retries);
    }
    if let Some(backoff) = request.backoff {
        job = job.backoff(backoff);
    }
    if let Some(timeout) = request.timeout {
        job = job.timeout(Duration::from_millis(timeout));
    }
    if let Some(time) = request.start_within {
        job = job.start_within(Duration::from_millis(time));
    }
    if let Some(rule) = request.unique {
        job = job.unique(rule.unique());
    }
    if let Some(ttl) = request.failed_ttl {
        job = job.failed_ttl_ms(ttl);
    }
    job = after.iter().fold(job, |job, jid| job.after(id(jid)));
    job = request.tags.iter().fold(job, |job, tag| job.tag(Tag::new(*tag).expect("a tag")));
    if request.after_tags {
        job = job.after_tags();
    }
    for limit in &request.limits {
        job = job.limit(&LimitName::new(*limit).expect("a limit"));
    }
    if let Some(parent) = parent {
        job = job.parent(id(parent));
    }
    if let Some(tenant) = request.tenant {
        job = job.tenant(Tenant::new(tenant).expect("a tenant"));
    }
    job
}
