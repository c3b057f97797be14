//! What workers do: take jobs, tell of duplicates, give signs of life, settle, leave and die.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use keyrack_jobs::bee::{
    Checked, End, Failure, Job, Settled, Status, Verdict, WorkerInfo,
    keys::{JobHash, WorkerId},
};

use super::{
    check::same,
    facts::Place,
    limits::STOP_MS,
    named::LimitedClaim,
    reservations::{Reservation, SettleCall, split},
    steps::{Ending, QUEUES},
    world::{Checks, START_MS, World, failed, queue_name},
};

/// Somebody who works at one queue.
#[derive(Debug, Clone)]
pub(super) struct Worker {
    pub(super) id: WorkerId,
    pub(super) queue: usize,
    pub(super) claims: Vec<Claim>,
    /// Its open reservations, oldest first.
    pub(super) reservations: Vec<Reservation>,
    pub(super) n_reservations: u64,
}

/// A job that a worker believes to have.
#[derive(Debug, Clone)]
pub(super) struct Claim {
    pub(super) worker: WorkerId,
    pub(super) queue: usize,
    pub(super) jid: String,
    pub(super) attempt: u64,
    pub(super) job: Job,
    pub(super) locked_until: u64,
}

impl Claim {
    pub(super) fn new(worker: &WorkerId, queue: usize, job: Job, locked_until: u64) -> Claim {
        let (jid, attempt) = (job.jid().to_owned(), job.attempts());
        Claim { worker: worker.clone(), queue, jid, attempt, job, locked_until }
    }

    /// Whether both are about the same attempt.
    pub(super) fn is_same(&self, other: &Claim) -> bool {
        (&self.worker, &self.jid, self.attempt) == (&other.worker, &other.jid, other.attempt)
    }
}

impl World {
    pub(super) fn new_worker(&mut self, queue: usize) -> Worker {
        self.n_workers += 1;
        let id = format!("sim:1:hive:{}:w{}", QUEUES[queue], self.n_workers);
        let id = WorkerId::new(id).expect("a worker");
        Worker { id, queue, claims: Vec::new(), reservations: Vec::new(), n_reservations: 0 }
    }

    pub(super) async fn claim(&mut self, at: usize, max: usize) -> Checks {
        let worker = self.workers[at].clone();
        let claimed = self
            .hive
            .claim(&queue_name(worker.queue), &worker.id, max, self.timeouts.lock)
            .await
            .map_err(failed)?;
        let call = SettleCall { max, ..SettleCall::default() };
        self.take(at, &call, Settled { claimed, ..Settled::default() }).await
    }

    /// What a worker got is what it must get.
    pub(super) async fn take(&mut self, at: usize, call: &SettleCall, got: Settled) -> Checks {
        let Worker { id, queue, .. } = self.workers[at].clone();
        let claimed: Vec<String> = got.claimed.jobs.iter().map(|job| job.jid().into()).collect();
        let reservation = call.reserve.map(|number| (id.to_string(), number));
        if let Some(before) =
            reservation.as_ref().and_then(|reservation| self.facts.reservations.get(reservation))
        {
            let before = (Vec::new(), before.jids.clone());
            same("what was reserved before", &before, &(claimed, got.reserved.clone()))?;
            return self.open(at, call, got.reserved).await;
        }
        let limited = self.check_taken(queue, call, &claimed, &got.reserved)?;
        if let Some(reservation) = reservation.filter(|_| !got.reserved.is_empty()) {
            self.facts.reserve(queue, &reservation, &got.reserved, &self.timeouts)?;
            self.check_limited(limited)?;
            return self.open(at, call, got.reserved).await;
        }
        let locked_until = self.facts.now + self.lock_ms();
        for job in &got.claimed.jobs {
            self.facts.start(job.jid(), id.as_str(), &self.timeouts)?;
            same("the attempt", &self.facts.job(job.jid()).attempts, &job.attempts())?;
            same(
                "the claimed job",
                &(Status::Running, id.as_str()),
                &(job.status(), job.worker()),
            )?;
            // A worker that gets a job again which it had lost knows by that.
            self.forget(at, |claim| claim.jid == job.jid());
            self.workers[at].claims.push(Claim::new(&id, queue, job.clone(), locked_until));
        }
        self.check_limited(limited)?;
        let finds_duplicates = self.finds_duplicates;
        if finds_duplicates { self.find_duplicates(at, &got.claimed.jobs).await } else { Ok(()) }
    }

    fn check_limited(&mut self, claim: Option<LimitedClaim>) -> Checks {
        claim.map_or(Ok(()), |claim| self.facts.check_limited(&claim, &self.seen))
    }

    /// As many jobs are taken as must be, in order, and reserved only where they may be. Where jobs
    /// name limits, some of that shows when what was taken has started.
    fn check_taken(
        &mut self,
        queue: usize,
        call: &SettleCall,
        claimed: &[String],
        reserved: &[String],
    ) -> Result<Option<LimitedClaim>, String> {
        let (name, max) = (QUEUES[queue], call.max);
        self.facts.promote(queue);
        self.facts.end_unstarted(queue);
        let stands =
            |jid: &&str| self.facts.jobs.get(*jid).is_some_and(|job| job.place != Place::Expired);
        let standing =
            self.seen.map("tenants", name).into_iter().map(|(tenant, jids)| {
                (tenant, jids.split_whitespace().filter(stands).count() as u64)
            });
        let standing = standing.collect();
        let expected = self.facts.claims(queue, max, &standing);
        let reserves = call.reserve.is_some() && self.facts.may_reserve(queue);
        if self.facts.has_named_limits(queue, &self.seen) {
            let (taken, others) = if reserves { (reserved, claimed) } else { (claimed, reserved) };
            same("what is taken in another way", &[].as_slice(), &others)?;
            return Ok(Some(LimitedClaim { queue, max: expected, taken: taken.into() }));
        }
        same(
            &format!("how many of {max} jobs are claimed from {name}, and how many reserved"),
            &(if reserves { (0, expected) } else { (expected, 0) }),
            &(claimed.len(), reserved.len()),
        )?;
        // Others may have come in between, but of those that stood there nobody is passed over.
        let mut stood = self.seen.standing(name);
        stood.retain(|jid| self.facts.jobs[jid].place != Place::Expired);
        // Those of a tenant that may not start more step back.
        let mut left: BTreeMap<&str, u64> = BTreeMap::new();
        stood.retain(|jid| {
            let Some(tenant) = self.facts.jobs[jid].asked.tenant else { return true };
            let may_start = || self.facts.limits[queue].tenant_may_start(tenant, self.facts.now);
            let left = left.entry(tenant).or_insert_with(may_start);
            let starts = *left > 0;
            *left = left.saturating_sub(1);
            starts
        });
        let taken = claimed.iter().chain(reserved).cloned();
        let of_them: Vec<String> = taken.filter(|jid| stood.contains(jid)).collect();
        same("who was first", &stood[..of_them.len()].to_vec(), &of_them)?;
        Ok(None)
    }

    pub(super) async fn find_duplicates(&mut self, at: usize, jobs: &[Job]) -> Checks {
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
        let info = WorkerInfo {
            started_at: START_MS,
            concurrency: 1,
            lock_ms: STOP_MS,
            listens: false,
            isolates: false,
            stop_ms: None,
            version: None,
        };
        let kept = self
            .hive
            .heartbeat(&queue_name(queue), &id, self.timeouts.lock, Some(&info))
            .await
            .map_err(failed)?;
        let expected = self.facts.heartbeat(queue, id.as_str(), &self.timeouts);
        same(&format!("what {id} has"), &expected, &kept.into_iter().collect())?;
        self.forget(at, |claim| !expected.contains(&claim.jid));
        let locked_until = self.facts.now + self.lock_ms();
        self.workers[at].claims.iter_mut().for_each(|claim| claim.locked_until = locked_until);
        Ok(())
    }

    pub(super) async fn settle(&mut self, at: usize, ends: &[Ending], max: usize) -> Checks {
        let claims = std::mem::take(&mut self.workers[at].claims);
        let (settled, kept) = split(claims, &mut ends.iter().copied());
        self.workers[at].claims = kept;
        let Worker { id, queue, .. } = self.workers[at].clone();
        let call = SettleCall { settled, max, ..SettleCall::default() };
        let (answer, _) = self.settle_and_claim(&id, queue, &call).await?;
        if max > 0 { self.take(at, &call, answer).await } else { Ok(()) }
    }

    pub(super) async fn settle_late(&mut self, claim: u64, end: Ending) -> Checks {
        if self.stale.is_empty() || matches!(end, Ending::Keep) {
            return Ok(());
        }
        let claim = self.stale[(claim % self.stale.len() as u64) as usize].clone();
        let (worker, queue) = (claim.worker.clone(), claim.queue);
        let call = SettleCall { settled: vec![(claim, end)], ..SettleCall::default() };
        self.settle_and_claim(&worker, queue, &call).await?;
        Ok(())
    }

    pub(super) async fn check_late(&mut self, claim: u64) -> Checks {
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

    pub(super) async fn leave(&mut self, at: usize) -> Checks {
        let Worker { id, queue, .. } = self.workers[at].clone();
        let given_back = self.hive.leave(&queue_name(queue), &id).await.map_err(failed)?;
        let running = self.facts.running(queue).filter(|(_, job)| job.worker == id.as_str());
        let mut expected: BTreeSet<String> = running.map(|(jid, _)| jid.clone()).collect();
        for reservation in self.facts.reservations_of(id.as_str()) {
            expected.extend(self.facts.dissolve(&reservation));
        }
        same("what was given back", &expected, &given_back.iter().cloned().collect())?;
        for jid in &given_back {
            self.facts.release(jid);
        }
        self.facts.limits[queue].bury(&[id.to_string()]);
        self.bury(at);
        Ok(())
    }

    /// Another worker takes the place of this one, which may still believe to have its jobs.
    pub(super) fn bury(&mut self, at: usize) {
        let fresh = self.new_worker(self.workers[at].queue);
        let dead = std::mem::replace(&mut self.workers[at], fresh);
        self.stale.extend(dead.claims.clone());
        self.stale_reservations.extend(dead.reservations.clone());
        self.dead.push(dead);
    }

    /// A worker learns that it has lost jobs. What it did with them may arrive late.
    pub(super) fn forget(&mut self, at: usize, is_lost: impl Fn(&Claim) -> bool) {
        let claims = self.workers[at].claims.drain(..);
        let (lost, kept) = claims.partition(is_lost);
        self.workers[at].claims = kept;
        self.stale.extend::<Vec<_>>(lost);
    }
}

pub(super) fn end_of(end: Ending) -> End {
    match end {
        Ending::Complete { ttl } => End::Completed { result: "1".into(), ttl_ms: ttl },
        Ending::Fail { retry, delay: Some(delay), exact: true } => {
            let failure = Failure::new("no luck").retry_in(Duration::from_millis(delay));
            End::Failed(Failure { retry, ..failure })
        }
        Ending::Fail { retry, delay, .. } => End::Failed(Failure {
            retry,
            retry_delay: delay.map(|delay| delay as f64),
            ..Failure::new("no luck")
        }),
        Ending::Snooze { delay } => End::Snoozed { delay_ms: delay as f64 },
        Ending::Release | Ending::Keep => End::Released,
    }
}
