//! What must be true of reservations: who has reserved which jobs, and what becomes of those that nobody told of.

use std::collections::{BTreeMap, BTreeSet};

use keyrack_jobs::bee::WorkerTimeouts;

use super::facts::{Facts, Place};

/// A reservation by its worker and the number that this one gave to it.
pub(super) type ReservationId = (String, u64);

/// The jobs that a worker has reserved in one call.
#[derive(Debug, Clone)]
pub(super) struct Reserved {
    pub(super) queue: usize,
    /// When others get them if it has told nothing.
    pub(super) locked_until: u64,
    pub(super) jids: Vec<String>,
    /// Whether somebody has changed one of its jobs since, so that its worker may not rely on what it was told.
    is_touched: bool,
}

impl Facts {
    /// A worker has reserved jobs. Says so if it could not have.
    pub(super) fn reserve(
        &mut self,
        queue: usize,
        reservation: &ReservationId,
        jids: &[String],
        timeouts: &WorkerTimeouts,
    ) -> Result<(), String> {
        for jid in jids {
            let job = self.jobs.get_mut(jid);
            let job = job.ok_or_else(|| format!("{jid} is gone, but was reserved"))?;
            if job.place != Place::Ready || job.asked.queue != queue {
                return Err(format!("{reservation:?} has {jid} although it is {:?}", job.place));
            }
            job.place = Place::Reserved { reservation: reservation.clone() };
        }
        let locked_until = self.now + timeouts.lock.as_millis() as u64;
        let reserved = Reserved { queue, locked_until, jids: jids.to_vec(), is_touched: false };
        match self.reservations.insert(reservation.clone(), reserved) {
            None => Ok(()),
            Some(before) => Err(format!("{reservation:?} was reserved over {before:?}")),
        }
    }

    /// A worker tells of its reservation: what is in it runs, for a moment at least. Returns these jobs.
    pub(super) fn close(
        &mut self,
        reservation: &ReservationId,
        timeouts: &WorkerTimeouts,
    ) -> BTreeSet<String> {
        let locked_until = self.now + timeouts.lock.as_millis() as u64;
        let jids = self
            .reservations
            .remove(reservation)
            .map(|reservation| reservation.jids)
            .unwrap_or_default();
        for jid in &jids {
            let job = self.job(jid);
            job.place = Place::Running { worker: reservation.0.clone(), locked_until };
            job.worker = reservation.0.clone();
            job.attempts += 1;
            self.begin_deadline(jid);
        }
        jids.into_iter().collect()
    }

    /// Takes a reservation from its worker. Returns the jobs, which are nowhere for now.
    pub(super) fn dissolve(&mut self, reservation: &ReservationId) -> Vec<String> {
        let jids = self
            .reservations
            .remove(reservation)
            .map(|reservation| reservation.jids)
            .unwrap_or_default();
        jids.iter().for_each(|jid| self.lose_unseen(jid));
        jids
    }

    /// Takes one job out of its reservation, if it is in one.
    pub(super) fn leave_reservation(&mut self, jid: &str) {
        if let Some(reservation) = self.touch(jid) {
            reservation.jids.retain(|other| other != jid);
            self.lose_unseen(jid);
        }
    }

    /// Something happens to a job. Returns the reservation that it is in, if it is in one.
    pub(super) fn touch(&mut self, jid: &str) -> Option<&mut Reserved> {
        let Place::Reserved { reservation } = &self.jobs.get(jid)?.place else { return None };
        let reservation = self.reservations.get_mut(reservation)?;
        reservation.is_touched = true;
        Some(reservation)
    }

    /// Whatever the worker did with the job, it comes too late.
    fn lose_unseen(&mut self, jid: &str) {
        let job = self.job(jid);
        job.attempts += 1;
        job.unseen += 1;
    }

    /// How many jobs of a queue are in reservations.
    pub(super) fn n_reserved(&self, queue: usize) -> u64 {
        let reservations =
            self.reservations.values().filter(|reservation| reservation.queue == queue);
        reservations.map(|reservation| reservation.jids.len() as u64).sum()
    }

    /// The reservations of a worker.
    pub(super) fn reservations_of(&self, worker: &str) -> Vec<ReservationId> {
        self.reservations.keys().filter(|(holder, _)| holder == worker).cloned().collect()
    }

    /// Takes the reservations of workers that are gone, and those not told of in time. Returns how many jobs were in them.
    pub(super) fn take_reservations(
        &mut self,
        queue: usize,
        timeouts: &WorkerTimeouts,
        gone: &[String],
    ) -> u64 {
        let is_lost = |((worker, _), reservation): &(&ReservationId, &Reserved)| {
            reservation.queue == queue
                && (gone.contains(worker) || reservation.locked_until <= self.now)
        };
        let lost: Vec<ReservationId> = self
            .reservations
            .iter()
            .filter(is_lost)
            .map(|(reservation, _)| reservation.clone())
            .collect();
        let mut taken = 0;
        for reservation in &lost {
            for jid in self.dissolve(reservation) {
                self.take_away(&jid, timeouts);
                taken += 1;
            }
        }
        taken
    }

    /// The reservations of a queue as they stand in the store.
    pub(super) fn entries(&self, queue: usize) -> BTreeMap<String, String> {
        let reservations =
            self.reservations.iter().filter(|(_, reservation)| reservation.queue == queue);
        reservations
            .map(|((worker, number), reservation)| {
                let jids: String = reservation.jids.iter().map(|jid| format!("{jid} ")).collect();
                let mark = if reservation.is_touched { "!" } else { "" };
                (format!("{worker}#{number}"), format!("{mark}{} {jids}", reservation.locked_until))
            })
            .collect()
    }
}
