//! What must be true of lots: who has reserved which jobs, and what becomes of those that nobody told of.

use std::collections::{BTreeMap, BTreeSet};

use keyrack_jobs::bee::Care;

use super::facts::{Facts, Place};

/// A lot by its worker and the number that this one gave to it.
pub(super) type LotId = (String, u64);

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
        lot: &LotId,
        jids: &[String],
        care: &Care,
    ) -> Result<(), String> {
        for jid in jids {
            let job = self.jobs.get_mut(jid);
            let job = job.ok_or_else(|| format!("{jid} is gone, but was reserved"))?;
            if job.place != Place::Ready || job.asked.queue != queue {
                return Err(format!("{lot:?} has {jid} although it is {:?}", job.place));
            }
            job.place = Place::Reserved { lot: lot.clone() };
        }
        let locked_until = self.now + care.lock.as_millis() as u64;
        let reserved = Reserved { queue, locked_until, jids: jids.to_vec(), is_touched: false };
        match self.lots.insert(lot.clone(), reserved) {
            None => Ok(()),
            Some(before) => Err(format!("{lot:?} was reserved over {before:?}")),
        }
    }

    /// A worker tells of its lot: what is in it runs, for a moment at least. Returns these jobs.
    pub(super) fn close(&mut self, lot: &LotId, care: &Care) -> BTreeSet<String> {
        let locked_until = self.now + care.lock.as_millis() as u64;
        let jids = self.lots.remove(lot).map(|lot| lot.jids).unwrap_or_default();
        for jid in &jids {
            let job = self.job(jid);
            job.place = Place::Running { worker: lot.0.clone(), locked_until };
            job.worker = lot.0.clone();
            job.attempts += 1;
        }
        jids.into_iter().collect()
    }

    /// Takes a lot from its worker. Returns the jobs, which are nowhere for now.
    pub(super) fn dissolve(&mut self, lot: &LotId) -> Vec<String> {
        let jids = self.lots.remove(lot).map(|lot| lot.jids).unwrap_or_default();
        jids.iter().for_each(|jid| self.lose_unseen(jid));
        jids
    }

    /// Takes one job out of its lot, if it is in one.
    pub(super) fn leave_lot(&mut self, jid: &str) {
        if let Some(lot) = self.touch(jid) {
            lot.jids.retain(|other| other != jid);
            self.lose_unseen(jid);
        }
    }

    /// Something happens to a job. Returns the lot that it is in, if it is in one.
    pub(super) fn touch(&mut self, jid: &str) -> Option<&mut Reserved> {
        let Place::Reserved { lot } = &self.jobs.get(jid)?.place else { return None };
        let lot = self.lots.get_mut(lot)?;
        lot.is_touched = true;
        Some(lot)
    }

    /// Whatever the worker did with the job, it comes too late.
    fn lose_unseen(&mut self, jid: &str) {
        let job = self.job(jid);
        job.attempts += 1;
        job.unseen += 1;
    }

    /// How many jobs of a queue are in lots.
    pub(super) fn n_reserved(&self, queue: usize) -> u64 {
        let lots = self.lots.values().filter(|lot| lot.queue == queue);
        lots.map(|lot| lot.jids.len() as u64).sum()
    }

    /// The lots of a worker.
    pub(super) fn lots_of(&self, worker: &str) -> Vec<LotId> {
        self.lots.keys().filter(|(holder, _)| holder == worker).cloned().collect()
    }

    /// Takes the lots of workers that are gone, and those not told of in time. Returns how many jobs were in them.
    pub(super) fn take_lots(&mut self, queue: usize, care: &Care, gone: &[String]) -> u64 {
        let is_lost = |((worker, _), lot): &(&LotId, &Reserved)| {
            lot.queue == queue && (gone.contains(worker) || lot.locked_until <= self.now)
        };
        let lost: Vec<LotId> =
            self.lots.iter().filter(is_lost).map(|(lot, _)| lot.clone()).collect();
        let mut taken = 0;
        for lot in &lost {
            for jid in self.dissolve(lot) {
                self.take_away(&jid, care);
                taken += 1;
            }
        }
        taken
    }

    /// The lots of a queue as they stand in the store.
    pub(super) fn entries(&self, queue: usize) -> BTreeMap<String, String> {
        let lots = self.lots.iter().filter(|(_, lot)| lot.queue == queue);
        lots.map(|((worker, number), lot)| {
            let jids: String = lot.jids.iter().map(|jid| format!("{jid} ")).collect();
            let mark = if lot.is_touched { "!" } else { "" };
            (format!("{worker}#{number}"), format!("{mark}{} {jids}", lot.locked_until))
        })
        .collect()
    }
}
