//! What workers do with reservations: reserve jobs, tell of them all at once, and tell too late or twice.

use keyrack_jobs::bee::{
    Outcome, ReservationEnd, SettleAndClaim, Settled, Verdict, keys::WorkerId,
};

use super::{
    check::same,
    crew::{Claim, Worker, end_of},
    reserved::ReservationId,
    steps::{Ending, Report, ReserveRequest},
    world::{Checks, World, failed, queue_name},
};

/// A reservation that a worker believes to have.
#[derive(Debug, Clone)]
pub(super) struct Reservation {
    worker: WorkerId,
    queue: usize,
    number: u64,
    jids: Vec<String>,
    /// What it was told of them, once it has asked.
    jobs: Option<Vec<Claim>>,
    pub(super) locked_until: u64,
}

impl Reservation {
    pub(super) fn id(&self) -> ReservationId {
        (self.worker.to_string(), self.number)
    }
}

/// What a worker tells and asks for in one call.
#[derive(Debug, Default)]
pub(super) struct SettleCall {
    pub(super) settled: Vec<(Claim, Ending)>,
    /// The reservation that it closes, by its number, and the jobs of it that run on.
    pub(super) closes: Option<(u64, Vec<Claim>)>,
    pub(super) max: usize,
    pub(super) reserve: Option<u64>,
    /// Whether it asks later what it has reserved.
    pub(super) reads_late: bool,
}

impl SettleCall {
    fn outcomes(&self) -> Vec<Outcome> {
        let settled = self.settled.iter();
        settled.map(|(claim, end)| Outcome::of(&claim.job, end_of(*end))).collect()
    }

    fn closing(&self) -> Option<ReservationEnd> {
        let (reservation, begun) = self.closes.as_ref()?;
        let begun = begun.iter().map(|claim| (claim.jid.clone(), claim.attempt));
        Some(ReservationEnd { reservation: *reservation, begun: begun.collect() })
    }
}

impl World {
    /// Reserves jobs. A worker that has not heard the answer to an earlier call asks with its number again.
    pub(super) async fn reserve(&mut self, at: usize, request: ReserveRequest) -> Checks {
        let ReserveRequest { max, again, reads_late } = request;
        let unheard = if again { self.workers[at].reservations.pop() } else { None };
        let number = unheard.map_or_else(|| self.next_number(at), |reservation| reservation.number);
        let call = SettleCall { max, reserve: Some(number), reads_late, ..SettleCall::default() };
        let Worker { id, queue, .. } = self.workers[at].clone();
        let (settled, _) = self.settle_and_claim(&id, queue, &call).await?;
        self.take(at, &call, settled).await
    }

    fn next_number(&mut self, at: usize) -> u64 {
        self.workers[at].n_reservations += 1;
        self.workers[at].n_reservations
    }

    /// Notes a reservation that was just reserved.
    pub(super) async fn open(&mut self, at: usize, call: &SettleCall, jids: Vec<String>) -> Checks {
        let (Worker { id, queue, .. }, number) = (self.workers[at].clone(), call.reserve);
        let number = number.ok_or("jobs were reserved that nobody asked for")?;
        // It may be told for the second time.
        self.workers[at].reservations.retain(|reservation| reservation.number != number);
        // Of an empty one there is nothing to tell.
        if jids.is_empty() {
            return Ok(());
        }
        let locked_until = self.facts.reservations[&(id.to_string(), number)].locked_until;
        let mut reservation =
            Reservation { worker: id, queue, number, jids, jobs: None, locked_until };
        if !call.reads_late {
            self.read(&mut reservation).await?;
        }
        self.workers[at].reservations.push(reservation);
        Ok(())
    }

    /// Reads the jobs of a reservation, unless that was done before. What is in the reservation has to be told as it is; the worker
    /// cannot know what has left it meanwhile.
    async fn read(&self, reservation: &mut Reservation) -> Result<Vec<Claim>, String> {
        if let Some(jobs) = &reservation.jobs {
            return Ok(jobs.clone());
        }
        let queue = queue_name(reservation.queue);
        let jobs = self
            .hive
            .jobs_of_reservation(&queue, &reservation.worker, reservation.number, &reservation.jids)
            .await;
        let jobs = jobs.map_err(failed)?;
        let held = self
            .facts
            .reservations
            .get(&reservation.id())
            .map_or(&[][..], |reservation| &reservation.jids);
        let told = jobs.iter().filter(|job| held.iter().any(|jid| jid == job.jid()));
        same(
            &format!("the jobs of {:?}", reservation.id()),
            &held.iter().map(|jid| (jid.as_str(), self.facts.jobs[jid].attempts + 1)).collect(),
            &told.map(|job| (job.jid(), job.attempts())).collect::<Vec<_>>(),
        )?;
        let claim =
            |job| Claim::new(&reservation.worker, reservation.queue, job, reservation.locked_until);
        let jobs: Vec<Claim> = jobs.into_iter().map(claim).collect();
        reservation.jobs = Some(jobs.clone());
        Ok(jobs)
    }

    /// A worker closes its oldest reservation, tells of its claims too, and takes the next jobs. Perhaps it does not hear the
    /// answer, and says and asks the same once more.
    pub(super) async fn close(&mut self, worker: u64, report: &Report) -> Checks {
        let open: Vec<usize> = (0..self.workers.len())
            .filter(|at| !self.workers[*at].reservations.is_empty())
            .collect();
        if open.is_empty() {
            return Ok(());
        }
        let at = open[(worker % open.len() as u64) as usize];
        self.close_oldest(at, report).await
    }

    pub(super) async fn close_oldest(&mut self, at: usize, report: &Report) -> Checks {
        let Report { ends, max, reserves, twice } = report;
        let mut reservation = self.workers[at].reservations.remove(0);
        let jobs = self.read(&mut reservation).await?;
        let mut ends = ends.iter().copied();
        let (mut settled, begun) = split(jobs, &mut ends);
        let claims = std::mem::take(&mut self.workers[at].claims);
        let (ended, kept) = split(claims, &mut ends);
        settled.extend(ended);
        self.workers[at].claims = kept;
        let reserve = (*reserves && *max > 0).then(|| self.next_number(at));
        let closes = Some((reservation.number, begun));
        let call = SettleCall { settled, closes, max: *max, reserve, ..SettleCall::default() };
        self.tell_of_reservation(&reservation, &call).await?;
        if *twice {
            self.look().await?;
            self.tell_of_reservation(&reservation, &call).await?;
        }
        self.stale_reservations.push(reservation);
        Ok(())
    }

    /// A worker tells of a reservation that it has closed before, or that it had when it was last heard of.
    pub(super) async fn close_late(&mut self, reservation: u64, ends: &[Ending]) -> Checks {
        if self.stale_reservations.is_empty() {
            return Ok(());
        }
        let at = (reservation % self.stale_reservations.len() as u64) as usize;
        let mut reservation = self.stale_reservations[at].clone();
        let jobs = self.read(&mut reservation).await?;
        self.stale_reservations[at] = reservation.clone();
        let (settled, begun) = split(jobs, &mut ends.iter().copied());
        let closes = Some((reservation.number, begun));
        self.tell_of_reservation(
            &reservation,
            &SettleCall { settled, closes, ..SettleCall::default() },
        )
        .await
    }

    /// Makes a call that closes a reservation. What runs on is an ordinary claim from then on.
    async fn tell_of_reservation(
        &mut self,
        reservation: &Reservation,
        call: &SettleCall,
    ) -> Checks {
        let (settled, begun) =
            self.settle_and_claim(&reservation.worker, reservation.queue, call).await?;
        let at = self.workers.iter().position(|worker| worker.id == reservation.worker);
        let Some(at) = at else {
            self.stale.extend(begun);
            return Ok(());
        };
        // A reservation that is closed again may have left claims that have ended now.
        self.forget(at, |claim| call.settled.iter().any(|(ended, _)| ended.is_same(claim)));
        let locked_until = self.facts.now + self.lock_ms();
        for claim in &begun {
            self.forget(at, |other| other.jid == claim.jid);
            self.workers[at].claims.push(Claim { locked_until, ..claim.clone() });
        }
        if call.max > 0 {
            self.take(at, call, settled).await?;
        }
        let jobs: Vec<_> = begun.into_iter().map(|claim| claim.job).collect();
        if self.finds_duplicates { self.find_duplicates(at, &jobs).await } else { Ok(()) }
    }

    /// Makes a call and holds what it says of the jobs that the worker told of against the facts. Returns the answer,
    /// and the jobs that began to run by it.
    pub(super) async fn settle_and_claim(
        &mut self,
        worker: &WorkerId,
        queue: usize,
        call: &SettleCall,
    ) -> Result<(Settled, Vec<Claim>), String> {
        let request = SettleAndClaim {
            outcomes: &call.outcomes(),
            max: call.max,
            lock: self.timeouts.lock,
            reserve: call.reserve,
            closes: call.closing(),
            alone_after: None,
        };
        let answer = self.hive.settle_and_claim(&queue_name(queue), worker, &request).await;
        let answer = answer.map_err(failed)?;
        let in_reservation = match &call.closes {
            Some((reservation, _)) => {
                self.facts.close(&(worker.to_string(), *reservation), &self.timeouts)
            }
            None => Default::default(),
        };
        let repeated = self.check_ends(call, &answer)?;
        let mut begun = self.check_begun(call, &answer, &repeated)?;
        begun.retain(|claim| in_reservation.contains(&claim.jid));
        Ok((answer, begun))
    }

    /// Only those ends count that the worker may still decide on. Returns the jobs whose end was reported before.
    fn check_ends(&mut self, call: &SettleCall, answer: &Settled) -> Result<Vec<String>, String> {
        let (mut expected, mut repeated) = (Vec::new(), Vec::new());
        for (claim, end) in &call.settled {
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
        let what = format!("the verdicts on {:?}", call.outcomes());
        same(&what, &expected, &answer.verdicts)?;
        Ok(repeated)
    }

    /// The worker is told which jobs are not its own any more. Returns those that run, perhaps for a while already.
    fn check_begun(
        &self,
        call: &SettleCall,
        answer: &Settled,
        repeated: &[String],
    ) -> Result<Vec<Claim>, String> {
        let begun = call.closes.iter().flat_map(|(_, begun)| begun).cloned();
        let (running, lost): (Vec<Claim>, Vec<Claim>) =
            begun.partition(|claim| self.verdict_on(claim) == Verdict::Ok);
        let lost: Vec<&str> = lost.iter().map(|claim| claim.jid.as_str()).collect();
        // What fails or is given back has to begin for that, so it may be named, too.
        let ended = call.settled.iter().zip(&answer.verdicts);
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
