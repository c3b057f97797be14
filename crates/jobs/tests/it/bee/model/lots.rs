//! What workers do with lots: reserve jobs, tell of them all at once, and tell too late or twice.

use keyrack_jobs::bee::{Closing, Exchange, Outcome, Settled, Verdict, keys::WorkerId};

use super::{
    check::same,
    crew::{Claim, Worker, end_of},
    reserved::LotId,
    steps::{Ending, Report, Wish},
    world::{Checks, World, failed, queue_name},
};

/// A lot that a worker believes to have.
#[derive(Debug, Clone)]
pub(super) struct Lot {
    worker: WorkerId,
    queue: usize,
    number: u64,
    jids: Vec<String>,
    /// What it was told of them, once it has asked.
    jobs: Option<Vec<Claim>>,
    pub(super) locked_until: u64,
}

impl Lot {
    pub(super) fn id(&self) -> LotId {
        (self.worker.to_string(), self.number)
    }
}

/// What a worker tells and asks for in one call.
#[derive(Debug, Default)]
pub(super) struct Errand {
    pub(super) settled: Vec<(Claim, Ending)>,
    /// The lot that it closes, by its number, and the jobs of it that run on.
    pub(super) closes: Option<(u64, Vec<Claim>)>,
    pub(super) max: usize,
    pub(super) reserve: Option<u64>,
    /// Whether it asks later what it has reserved.
    pub(super) reads_late: bool,
}

impl Errand {
    fn outcomes(&self) -> Vec<Outcome> {
        let settled = self.settled.iter();
        settled.map(|(claim, end)| Outcome::of(&claim.job, end_of(*end))).collect()
    }

    fn closing(&self) -> Option<Closing> {
        let (lot, begun) = self.closes.as_ref()?;
        let begun = begun.iter().map(|claim| (claim.jid.clone(), claim.attempt));
        Some(Closing { lot: *lot, begun: begun.collect() })
    }
}

impl World {
    /// Reserves jobs. A worker that has not heard the answer to an earlier call asks with its number again.
    pub(super) async fn reserve(&mut self, at: usize, wish: Wish) -> Checks {
        let Wish { max, again, reads_late } = wish;
        let unheard = if again { self.workers[at].lots.pop() } else { None };
        let number = unheard.map_or_else(|| self.next_number(at), |lot| lot.number);
        let errand = Errand { max, reserve: Some(number), reads_late, ..Errand::default() };
        let Worker { id, queue, .. } = self.workers[at].clone();
        let (settled, _) = self.exchange(&id, queue, &errand).await?;
        self.take(at, &errand, settled).await
    }

    fn next_number(&mut self, at: usize) -> u64 {
        self.workers[at].n_lots += 1;
        self.workers[at].n_lots
    }

    /// Notes a lot that was just reserved.
    pub(super) async fn open(&mut self, at: usize, errand: &Errand, jids: Vec<String>) -> Checks {
        let (Worker { id, queue, .. }, number) = (self.workers[at].clone(), errand.reserve);
        let number = number.ok_or("jobs were reserved that nobody asked for")?;
        // It may be told for the second time.
        self.workers[at].lots.retain(|lot| lot.number != number);
        // Of an empty one there is nothing to tell.
        if jids.is_empty() {
            return Ok(());
        }
        let locked_until = self.facts.lots[&(id.to_string(), number)].locked_until;
        let mut lot = Lot { worker: id, queue, number, jids, jobs: None, locked_until };
        if !errand.reads_late {
            self.read(&mut lot).await?;
        }
        self.workers[at].lots.push(lot);
        Ok(())
    }

    /// Reads the jobs of a lot, unless that was done before. What is in the lot has to be told as it is; the worker
    /// cannot know what has left it meanwhile.
    async fn read(&self, lot: &mut Lot) -> Result<Vec<Claim>, String> {
        if let Some(jobs) = &lot.jobs {
            return Ok(jobs.clone());
        }
        let queue = queue_name(lot.queue);
        let jobs = self.hive.jobs_of_lot(&queue, &lot.worker, lot.number, &lot.jids).await;
        let jobs = jobs.map_err(failed)?;
        let held = self.facts.lots.get(&lot.id()).map_or(&[][..], |lot| &lot.jids);
        let told = jobs.iter().filter(|job| held.iter().any(|jid| jid == job.jid()));
        same(
            &format!("the jobs of {:?}", lot.id()),
            &held.iter().map(|jid| (jid.as_str(), self.facts.jobs[jid].attempts + 1)).collect(),
            &told.map(|job| (job.jid(), job.attempts())).collect::<Vec<_>>(),
        )?;
        let claim = |job| Claim::new(&lot.worker, lot.queue, job, lot.locked_until);
        let jobs: Vec<Claim> = jobs.into_iter().map(claim).collect();
        lot.jobs = Some(jobs.clone());
        Ok(jobs)
    }

    /// A worker closes its oldest lot, tells of its claims too, and takes the next jobs. Perhaps it does not hear the
    /// answer, and says and asks the same once more.
    pub(super) async fn close(&mut self, worker: u64, report: &Report) -> Checks {
        let open: Vec<usize> =
            (0..self.workers.len()).filter(|at| !self.workers[*at].lots.is_empty()).collect();
        if open.is_empty() {
            return Ok(());
        }
        let at = open[(worker % open.len() as u64) as usize];
        self.close_oldest(at, report).await
    }

    pub(super) async fn close_oldest(&mut self, at: usize, report: &Report) -> Checks {
        let Report { ends, max, reserves, twice } = report;
        let mut lot = self.workers[at].lots.remove(0);
        let jobs = self.read(&mut lot).await?;
        let mut ends = ends.iter().copied();
        let (mut settled, begun) = split(jobs, &mut ends);
        let claims = std::mem::take(&mut self.workers[at].claims);
        let (ended, kept) = split(claims, &mut ends);
        settled.extend(ended);
        self.workers[at].claims = kept;
        let reserve = (*reserves && *max > 0).then(|| self.next_number(at));
        let closes = Some((lot.number, begun));
        let errand = Errand { settled, closes, max: *max, reserve, ..Errand::default() };
        self.tell_of_lot(&lot, &errand).await?;
        if *twice {
            self.look().await?;
            self.tell_of_lot(&lot, &errand).await?;
        }
        self.stale_lots.push(lot);
        Ok(())
    }

    /// A worker tells of a lot that it has closed before, or that it had when it was last heard of.
    pub(super) async fn close_late(&mut self, lot: u64, ends: &[Ending]) -> Checks {
        if self.stale_lots.is_empty() {
            return Ok(());
        }
        let at = (lot % self.stale_lots.len() as u64) as usize;
        let mut lot = self.stale_lots[at].clone();
        let jobs = self.read(&mut lot).await?;
        self.stale_lots[at] = lot.clone();
        let (settled, begun) = split(jobs, &mut ends.iter().copied());
        let closes = Some((lot.number, begun));
        self.tell_of_lot(&lot, &Errand { settled, closes, ..Errand::default() }).await
    }

    /// Makes a call that closes a lot. What runs on is an ordinary claim from then on.
    async fn tell_of_lot(&mut self, lot: &Lot, errand: &Errand) -> Checks {
        let (settled, begun) = self.exchange(&lot.worker, lot.queue, errand).await?;
        let at = self.workers.iter().position(|worker| worker.id == lot.worker);
        let Some(at) = at else {
            self.stale.extend(begun);
            return Ok(());
        };
        // A lot that is closed again may have left claims that have ended now.
        self.forget(at, |claim| errand.settled.iter().any(|(ended, _)| ended.is_same(claim)));
        let locked_until = self.facts.now + self.lock_ms();
        for claim in &begun {
            self.forget(at, |other| other.jid == claim.jid);
            self.workers[at].claims.push(Claim { locked_until, ..claim.clone() });
        }
        if errand.max > 0 {
            self.take(at, errand, settled).await?;
        }
        let jobs: Vec<_> = begun.into_iter().map(|claim| claim.job).collect();
        if self.finds_duplicates { self.find_duplicates(at, &jobs).await } else { Ok(()) }
    }

    /// Makes a call and holds what it says of the jobs that the worker told of against the facts. Returns the answer,
    /// and the jobs that began to run by it.
    pub(super) async fn exchange(
        &mut self,
        worker: &WorkerId,
        queue: usize,
        errand: &Errand,
    ) -> Result<(Settled, Vec<Claim>), String> {
        let exchange = Exchange {
            outcomes: &errand.outcomes(),
            max: errand.max,
            lock: self.care.lock,
            reserve: errand.reserve,
            closes: errand.closing(),
        };
        let answer = self.hive.exchange(&queue_name(queue), worker, &exchange).await;
        let answer = answer.map_err(failed)?;
        let in_lot = match &errand.closes {
            Some((lot, _)) => self.facts.close(&(worker.to_string(), *lot), &self.care),
            None => Default::default(),
        };
        let repeated = self.check_ends(errand, &answer)?;
        let mut begun = self.check_begun(errand, &answer, &repeated)?;
        begun.retain(|claim| in_lot.contains(&claim.jid));
        Ok((answer, begun))
    }

    /// Only those ends count that the worker may still decide on. Returns the jobs whose end was reported before.
    fn check_ends(&mut self, errand: &Errand, answer: &Settled) -> Result<Vec<String>, String> {
        let (mut expected, mut repeated) = (Vec::new(), Vec::new());
        for (claim, end) in &errand.settled {
            let verdict = self.verdict_on(claim);
            let worker = claim.worker.as_str();
            if verdict == Verdict::Lost
                && self.facts.was_reported(&claim.jid, worker, claim.attempt, *end)
            {
                repeated.push(claim.jid.clone());
                expected.push(Verdict::Ok);
                continue;
            }
            expected.push(verdict);
            match verdict {
                Verdict::Ok => self.facts.settle(&claim.jid, *end),
                _ => self.facts.limits[claim.queue].has_stopped(&claim.jid, claim.attempt),
            }
        }
        let what = format!("the verdicts on {:?}", errand.outcomes());
        same(&what, &expected, &answer.verdicts)?;
        Ok(repeated)
    }

    /// The worker is told which jobs are not its own any more. Returns those that run, perhaps for a while already.
    fn check_begun(
        &self,
        errand: &Errand,
        answer: &Settled,
        repeated: &[String],
    ) -> Result<Vec<Claim>, String> {
        let begun = errand.closes.iter().flat_map(|(_, begun)| begun).cloned();
        let (running, lost): (Vec<Claim>, Vec<Claim>) =
            begun.partition(|claim| self.verdict_on(claim) == Verdict::Ok);
        let lost: Vec<&str> = lost.iter().map(|claim| claim.jid.as_str()).collect();
        // What fails or is given back has to begin for that, so it may be named, too.
        let ended = errand.settled.iter().zip(&answer.verdicts);
        let refused: Vec<&str> = ended
            .filter(|(_, verdict)| **verdict != Verdict::Ok)
            .map(|((claim, _), _)| claim.jid.as_str())
            .chain(repeated.iter().map(String::as_str))
            .collect();
        let named = answer.not_begun.iter().map(String::as_str);
        let named = named.filter(|jid| lost.contains(jid) || !refused.contains(jid)).collect();
        same("what could not begin", &lost, &named)?;
        Ok(running)
    }

    fn verdict_on(&self, claim: &Claim) -> Verdict {
        self.facts.verdict(&claim.jid, claim.worker.as_str(), claim.attempt)
    }
}

/// Which jobs end, and how, and which go on.
pub(super) fn split(
    claims: Vec<Claim>,
    ends: &mut impl Iterator<Item = Ending>,
) -> (Vec<(Claim, Ending)>, Vec<Claim>) {
    let (mut ended, mut kept) = (Vec::new(), Vec::new());
    for claim in claims {
        match ends.next() {
            None | Some(Ending::Keep) => kept.push(claim),
            Some(end) => ended.push((claim, end)),
        }
    }
    (ended, kept)
}
