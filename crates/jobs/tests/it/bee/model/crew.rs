//! What workers do: claim, tell of duplicates, give signs of life, settle, leave and die.

use std::collections::BTreeSet;

use keyrack_jobs::bee::{
    Checked, Claimed, End, Failure, Job, Outcome, Status, Verdict, WorkerInfo,
    keys::{JobHash, WorkerId},
};

use super::{
    check::same,
    steps::{Ending, QUEUES},
    world::{Checks, START_MS, World, failed, queue_name},
};

/// Somebody who works at one queue.
#[derive(Debug, Clone)]
pub(super) struct Worker {
    pub(super) id: WorkerId,
    pub(super) queue: usize,
    pub(super) claims: Vec<Claim>,
}

/// A job that a worker believes to have.
#[derive(Debug, Clone)]
pub(super) struct Claim {
    pub(super) worker: WorkerId,
    queue: usize,
    pub(super) jid: String,
    pub(super) attempt: u64,
    job: Job,
    pub(super) locked_until: u64,
}

impl World {
    pub(super) fn new_worker(&mut self, queue: usize) -> Worker {
        self.n_workers += 1;
        let id = format!("sim:1:hive:{}:w{}", QUEUES[queue], self.n_workers);
        Worker { id: WorkerId::new(id).expect("a worker"), queue, claims: Vec::new() }
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
        let info = WorkerInfo {
            started_at: START_MS,
            concurrency: 1,
            lock_ms: 1,
            listens: false,
            isolates: false,
        };
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

    pub(super) async fn settle_late(&mut self, claim: u64, end: Ending) -> Checks {
        if self.stale.is_empty() || matches!(end, Ending::Keep) {
            return Ok(());
        }
        let claim = self.stale[(claim % self.stale.len() as u64) as usize].clone();
        let (worker, queue) = (claim.worker.clone(), claim.queue);
        self.settle_claims(&worker, queue, &[(claim, end)], 0).await?;
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
                ..Outcome::of(&claim.job, end_of(*end))
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
    pub(super) fn bury(&mut self, at: usize) {
        let fresh = self.new_worker(self.workers[at].queue);
        let dead = std::mem::replace(&mut self.workers[at], fresh);
        self.stale.extend(dead.claims.clone());
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
