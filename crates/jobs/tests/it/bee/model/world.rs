//! A store in simulated time, its workers, and the facts that it is held against.

use std::collections::BTreeSet;

use keyrack_engine::SimulatedHost;
use keyrack_jobs::{
    Error,
    bee::{
        Care, Checked, Claimed, End, Failure, Hive, Job, Outcome, Status, Submission, Verdict,
        WorkerInfo,
        keys::{Jid, JobHash, QueueName, Tag, Tenant, WorkerId},
    },
};
use keyrack_testkit::simulated_store;

use super::{
    check::{check, same},
    ears::Ears,
    facts::Facts,
    seen::Seen,
    steps::{Ending, Plan, QUEUES, Request, Setting, Step},
};

const START_MS: u64 = 1_794_709_387_000;
const WORKERS_PER_QUEUE: usize = 2;

pub(super) struct World {
    pub(super) hive: Hive,
    clock: SimulatedHost,
    pub(super) care: Care,
    finds_duplicates: bool,
    ears: Option<Ears>,
    pub(super) facts: Facts,
    /// The store as it was after the last step.
    pub(super) seen: Seen,
    pub(super) workers: Vec<Worker>,
    dead: Vec<Worker>,
    n_workers: usize,
    n_jobs: usize,
    /// What workers believe to have that have lost it.
    stale: Vec<Claim>,
    /// Every job there ever was.
    submitted: Vec<String>,
}

#[derive(Debug, Clone)]
pub(super) struct Worker {
    pub(super) id: WorkerId,
    pub(super) queue: usize,
    pub(super) claims: Vec<Claim>,
}

/// A job that a worker believes to have.
#[derive(Debug, Clone)]
pub(super) struct Claim {
    worker: WorkerId,
    queue: usize,
    jid: String,
    attempt: u64,
    job: Job,
    locked_until: u64,
}

type Checks = Result<(), String>;

/// The queue's name as a key has it.
pub(super) fn queue_name(queue: usize) -> QueueName {
    QueueName::new(QUEUES[queue]).expect("a queue")
}

fn failed(error: impl std::fmt::Display) -> String {
    format!("the store failed: {error}")
}

impl World {
    pub(super) async fn new(plan: &Plan, seed: u64) -> World {
        let (store, clock) = simulated_store(START_MS, seed).await;
        let hive = Hive::named(store, "sim:1:hive");
        let ears = if plan.listens { Some(Ears::open(&hive).await) } else { None };
        let mut world = World {
            hive,
            ears,
            clock,
            care: plan.care,
            finds_duplicates: plan.finds_duplicates,
            facts: Facts { now: START_MS, ..Facts::default() },
            seen: Seen::default(),
            workers: Vec::new(),
            dead: Vec::new(),
            n_workers: 0,
            n_jobs: 0,
            stale: Vec::new(),
            submitted: Vec::new(),
        };
        for at in 0..WORKERS_PER_QUEUE * QUEUES.len() {
            let worker = world.new_worker(at % QUEUES.len());
            world.workers.push(worker);
        }
        world
    }

    fn new_worker(&mut self, queue: usize) -> Worker {
        self.n_workers += 1;
        let id = format!("sim:1:hive:{}:w{}", QUEUES[queue], self.n_workers);
        Worker { id: WorkerId::new(id).expect("a worker"), queue, claims: Vec::new() }
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
            Step::SettleLate { claim, end } => self.settle_late(*claim, *end).await?,
            Step::CheckLate { claim } => self.check_late(*claim).await?,
            Step::Leave { worker } => self.leave(self.nth_worker(*worker)).await?,
            Step::Die { worker } => self.bury(self.nth_worker(*worker)),
            Step::Cancel { job } => self.cancel(*job).await?,
            Step::Retry { job } => self.retry(*job).await?,
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
        if let Some(ears) = &mut self.ears {
            ears.listen(&self.hive).await?;
            let mut jobs = self.seen.jobs.iter();
            jobs.try_for_each(|(jid, job)| ears.check(jid, &job.history))?;
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
        Ok(())
    }

    fn nth_worker(&self, n: u64) -> usize {
        (n % self.workers.len() as u64) as usize
    }

    fn nth_job(&self, n: u64) -> Option<String> {
        let n_jobs = self.submitted.len() as u64;
        (n_jobs > 0).then(|| self.submitted[(n % n_jobs) as usize].clone())
    }

    fn lock_ms(&self) -> u64 {
        self.care.lock.as_millis() as u64
    }

    async fn submit(&mut self, requests: &[Request]) -> Checks {
        let (mut jobs, mut expected) = (Vec::new(), Vec::new());
        for request in requests {
            let jid = format!("j{:03}", self.n_jobs);
            self.n_jobs += 1;
            let after: Vec<String> =
                request.after.iter().filter_map(|job| self.nth_job(*job)).collect();
            let parent = request.parent.and_then(|job| self.nth_job(job));
            jobs.push(submission(request, &jid, &after, parent.as_deref()));
            let is_welcome =
                parent.as_ref().is_none_or(|parent| self.facts.may_have_children(parent));
            expected.push(is_welcome);
            if is_welcome {
                self.facts.submit(jid.clone(), request.clone(), &after, parent);
                self.submitted.push(jid);
            }
        }
        let answers = self.hive.submit_many(jobs).await.map_err(failed)?;
        let answers: Vec<bool> = answers
            .into_iter()
            .map(|answer| match answer {
                Ok(_) => Ok(true),
                Err(Error::ParentCanceled { .. }) => Ok(false),
                Err(error) => Err(failed(error)),
            })
            .collect::<Result<_, _>>()?;
        same("which jobs were accepted", &expected, &answers)
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

    pub(super) async fn claim(&mut self, at: usize, max: usize) -> Checks {
        let worker = self.workers[at].clone();
        let claimed = self
            .hive
            .claim(&queue_name(worker.queue), &worker.id, max, self.care.lock)
            .await
            .map_err(failed)?;
        self.take(at, max, claimed).await
    }

    /// What a claim brought is what it must bring.
    async fn take(&mut self, at: usize, max: usize, claimed: Claimed) -> Checks {
        let Worker { id, queue, .. } = self.workers[at].clone();
        let name = QUEUES[queue];
        self.facts.promote(queue);
        let tenants = self.seen.map("tenants", name).into_iter();
        let standing = tenants.filter(|(_, jid)| !jid.is_empty()).map(|(tenant, _)| tenant);
        let expected = self.facts.claims(queue, max, &standing.collect());
        same(
            &format!("how many of {max} jobs are claimed from {name}"),
            &expected,
            &claimed.jobs.len(),
        )?;
        // Others may have come in between, but of those that stood there nobody is passed over.
        let stood = self.seen.in_order("queue", name);
        let taken: Vec<&str> = claimed.jobs.iter().map(Job::jid).collect();
        let of_them: Vec<&str> =
            taken.iter().copied().filter(|jid| stood.iter().any(|other| other == jid)).collect();
        same(
            "who was first",
            &stood[..of_them.len()].iter().map(String::as_str).collect(),
            &of_them,
        )?;
        let locked_until = self.facts.now + self.lock_ms();
        for job in &claimed.jobs {
            self.facts.start(job.jid(), id.as_str(), &self.care)?;
            same("the attempt", &self.facts.job(job.jid()).attempts, &job.attempts())?;
            same(
                "the claimed job",
                &(Status::Running, id.as_str()),
                &(job.status(), job.worker()),
            )?;
            // A worker that gets a job again which it had lost knows by that.
            self.forget(at, |claim| claim.jid == job.jid());
            self.workers[at].claims.push(Claim {
                worker: id.clone(),
                queue,
                jid: job.jid().into(),
                attempt: job.attempts(),
                job: job.clone(),
                locked_until,
            });
        }
        if self.finds_duplicates { self.find_duplicates(at, &claimed.jobs).await } else { Ok(()) }
    }

    async fn find_duplicates(&mut self, at: usize, jobs: &[Job]) -> Checks {
        let Worker { id, queue, .. } = self.workers[at].clone();
        let hashed: Vec<(&Job, JobHash)> = jobs
            .iter()
            .map(|job| (job, JobHash::new(job.data_hash().expect("JSON")).expect("a hash")))
            .collect();
        let found =
            self.hive.check_duplicates(&queue_name(queue), &id, &hashed).await.map_err(failed)?;
        for ((job, hash), found) in hashed.iter().zip(found) {
            let expected = match self.facts.find_duplicate(job.jid(), hash.as_str()) {
                None => Checked::Original,
                Some(original) => {
                    self.workers[at].claims.retain(|claim| claim.jid != job.jid());
                    Checked::DuplicateOf(original)
                }
            };
            same(&format!("what {} is", job.jid()), &expected, &found)?;
        }
        Ok(())
    }

    pub(super) async fn heartbeat(&mut self, at: usize) -> Checks {
        let Worker { id, queue, .. } = self.workers[at].clone();
        let info = WorkerInfo { started_at: START_MS, concurrency: 1, lock_ms: 1, listens: false };
        let kept = self
            .hive
            .heartbeat(&queue_name(queue), &id, self.care.lock, Some(&info))
            .await
            .map_err(failed)?;
        let expected = self.facts.heartbeat(queue, id.as_str(), &self.care);
        same(&format!("what {id} has"), &expected, &kept.into_iter().collect())?;
        self.forget(at, |claim| !expected.contains(&claim.jid));
        let locked_until = self.facts.now + self.lock_ms();
        self.workers[at].claims.iter_mut().for_each(|claim| claim.locked_until = locked_until);
        Ok(())
    }

    pub(super) async fn settle(&mut self, at: usize, ends: &[Ending], max: usize) -> Checks {
        let claims = std::mem::take(&mut self.workers[at].claims);
        let mut settled = Vec::new();
        for (n, claim) in claims.into_iter().enumerate() {
            match ends.get(n) {
                None | Some(Ending::Keep) => self.workers[at].claims.push(claim),
                Some(end) => settled.push((claim, *end)),
            }
        }
        let Worker { id, queue, .. } = self.workers[at].clone();
        let claimed = self.settle_claims(&id, queue, &settled, max).await?;
        if max > 0 { self.take(at, max, claimed).await } else { Ok(()) }
    }

    async fn settle_late(&mut self, claim: u64, end: Ending) -> Checks {
        if self.stale.is_empty() || matches!(end, Ending::Keep) {
            return Ok(());
        }
        let claim = self.stale[(claim % self.stale.len() as u64) as usize].clone();
        let (worker, queue) = (claim.worker.clone(), claim.queue);
        self.settle_claims(&worker, queue, &[(claim, end)], 0).await?;
        Ok(())
    }

    async fn check_late(&mut self, claim: u64) -> Checks {
        if self.stale.is_empty() {
            return Ok(());
        }
        let claim = self.stale[(claim % self.stale.len() as u64) as usize].clone();
        let verdict = self.facts.verdict(&claim.jid, claim.worker.as_str(), claim.attempt);
        if verdict == Verdict::Ok {
            return Ok(());
        }
        let jobs = [(&claim.job, JobHash::new("late").expect("a hash"))];
        let queue = queue_name(claim.queue);
        let checked = self.hive.check_duplicates(&queue, &claim.worker, &jobs).await;
        same("a late check", &vec![Checked::NotOurs(verdict)], &checked.map_err(failed)?)
    }

    async fn settle_claims(
        &mut self,
        worker: &WorkerId,
        queue: usize,
        settled: &[(Claim, Ending)],
        max: usize,
    ) -> Result<Claimed, String> {
        let outcomes: Vec<Outcome> = settled
            .iter()
            .map(|(claim, end)| Outcome {
                jid: claim.jid.clone(),
                attempt: Some(claim.attempt),
                options: None,
                end: end_of(*end),
            })
            .collect();
        let settled_now = self
            .hive
            .settle(&queue_name(queue), worker, &outcomes, max, self.care.lock)
            .await
            .map_err(failed)?;
        let mut expected = Vec::new();
        for (claim, end) in settled {
            let verdict = self.facts.verdict(&claim.jid, worker.as_str(), claim.attempt);
            expected.push(verdict);
            if verdict == Verdict::Ok {
                match *end {
                    Ending::Complete { ttl } => self.facts.complete(&claim.jid, ttl),
                    Ending::Fail { retry, delay } => {
                        self.facts.fail_attempt(&claim.jid, retry, delay);
                    }
                    Ending::Release | Ending::Keep => self.facts.release(&claim.jid),
                }
            }
        }
        same(&format!("the verdicts on {outcomes:?}"), &expected, &settled_now.verdicts)?;
        Ok(settled_now.claimed)
    }

    pub(super) async fn leave(&mut self, at: usize) -> Checks {
        let Worker { id, queue, .. } = self.workers[at].clone();
        let given_back = self.hive.leave(&queue_name(queue), &id).await.map_err(failed)?;
        let running = self.facts.running(queue).filter(|(_, job)| job.worker == id.as_str());
        let expected: BTreeSet<String> = running.map(|(jid, _)| jid.clone()).collect();
        same("what was given back", &expected, &given_back.iter().cloned().collect())?;
        for jid in &given_back {
            self.facts.release(jid);
        }
        self.facts.limits[queue].bury(&[id.to_string()]);
        self.bury(at);
        Ok(())
    }

    /// Another worker takes the place of this one, which may still believe to have its jobs.
    fn bury(&mut self, at: usize) {
        let fresh = self.new_worker(self.workers[at].queue);
        let dead = std::mem::replace(&mut self.workers[at], fresh);
        self.stale.extend(dead.claims.clone());
        self.dead.push(dead);
    }

    async fn cancel(&mut self, job: u64) -> Checks {
        let Some(jid) = self.nth_job(job) else { return Ok(()) };
        let canceled = self.hive.cancel(&Jid::new(&jid).expect("an id")).await;
        if !self.facts.jobs.contains_key(&jid) {
            return match canceled {
                Err(Error::NoSuchJob { .. }) => Ok(()),
                other => Err(format!("a job that is gone was cancelled: {other:?}")),
            };
        }
        let canceled = canceled.map_err(failed)?;
        let expected: BTreeSet<String> = self.facts.cancel(&jid).into_iter().collect();
        same("what was cancelled", &expected, &canceled.iter().cloned().collect())?;
        same("what was cancelled last", &Some(&jid), &canceled.last())?;
        // The workers are told, so they stop.
        for at in 0..self.workers.len() {
            self.forget(at, |claim| expected.contains(&claim.jid));
        }
        Ok(())
    }

    /// A worker learns that it has lost jobs. What it did with them may arrive late.
    fn forget(&mut self, at: usize, is_lost: impl Fn(&Claim) -> bool) {
        let claims = self.workers[at].claims.drain(..);
        let (lost, kept) = claims.partition(is_lost);
        self.workers[at].claims = kept;
        self.stale.extend::<Vec<_>>(lost);
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
            self.hive.sweep(&queue_name(queue), &self.care, "", &gone).await.map_err(failed)?;
        let gone: Vec<String> = gone.iter().map(ToString::to_string).collect();
        let expected = self.facts.sweep(queue, &self.care, &gone);
        same("what the sweep did", &expected, &(swept.expired, swept.taken_away))
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
        .retries(request.retries)
        .retry_delay_ms(request.retry_delay as f64, request.progressive)
        .ttl_ms(request.ttl);
    job = after.iter().fold(job, |job, jid| job.after(id(jid)));
    job = request.tags.iter().fold(job, |job, tag| job.tag(Tag::new(*tag).expect("a tag")));
    if request.after_tags {
        job = job.after_tags();
    }
    if let Some(parent) = parent {
        job = job.parent(id(parent));
    }
    if let Some(tenant) = request.tenant {
        job = job.tenant(Tenant::new(tenant).expect("a tenant"));
    }
    job
}

fn end_of(end: Ending) -> End {
    match end {
        Ending::Complete { ttl } => End::Completed { result: "1".into(), ttl_ms: ttl },
        Ending::Fail { retry, delay } => End::Failed(Failure {
            retry,
            retry_delay: delay.map(|delay| delay as f64),
            ..Failure::new("no luck")
        }),
        Ending::Release | Ending::Keep => End::Released,
    }
}
