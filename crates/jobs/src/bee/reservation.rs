//! Reservations: jobs that a worker takes at once, and of which it tells at once.
//!
//! A claim writes to each job that it runs, and its end is written a moment later. Where jobs take next to no time, the
//! first is half of what they cost the store. So a worker may *reserve* jobs instead: they leave the queue, an entry in
//! [`keys::reserved`](super::keys::reserved) says who has them, and they themselves are not touched. One call then *closes*
//! the reservation: jobs that have ended are stored as ended, and the others begin to run, as if they had been claimed.
//!
//! The entry is what fences a reservation. If its worker has not closed it in time, the sweep removes the entry and lets the jobs
//! into their queue again; whoever closes a reservation without an entry changes nothing.

use std::time::Duration;

use redis::{Value, aio::ConnectionLike as _};

use super::{
    history::entry,
    hive::Hive,
    job::{self, Job},
    keys::{self, Jid, QueueName, WorkerId},
    settle::Outcome,
};
use crate::Error;

/// What a worker tells, and what it asks for, in one call.
#[derive(Debug, Clone, Default)]
pub struct SettleAndClaim<'a> {
    /// What became of jobs.
    pub outcomes: &'a [Outcome],
    /// How many jobs it would take.
    pub max: usize,
    /// For how long they are locked.
    pub lock: Duration,
    /// The number of the reservation in which to reserve them, if they are not to be claimed. Limits of the queue come first: they
    /// may be claimed all the same. A worker uses each number once.
    pub reserve: Option<u64>,
    /// The reservation that this call closes.
    pub closes: Option<ReservationEnd>,
    /// For a worker that cannot let a job run alone by itself: after how many lost workers it is given a job only alone.
    pub alone_after: Option<u64>,
}

/// The end of a reservation. Its jobs are among the outcomes of the call, or begin to run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReservationEnd {
    /// Its number.
    pub reservation: u64,
    /// The jobs that begin, each with its attempt.
    pub begun: Vec<(String, u64)>,
}

impl Hive {
    /// The jobs of a reservation that was just reserved. Those that were canceled meanwhile, or never were, are left out.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn jobs_of_reservation(
        &self,
        queue: &QueueName,
        worker: &WorkerId,
        reservation: u64,
        jids: &[String],
    ) -> Result<Vec<Job>, Error> {
        let jids: Vec<Jid> = jids.iter().filter_map(|jid| Jid::new(jid.as_str()).ok()).collect();
        let names: Vec<&str> = job::names_for_reservations().collect();
        let names_bytes: usize = names.iter().map(|name| name.len()).sum();
        let mut reads = redis::Pipeline::with_capacity(jids.len());
        for jid in &jids {
            let key = keys::job(jid, &jid.group());
            let key = self.store().place(&key);
            let mut read = redis::Cmd::with_capacity(2 + names.len(), names_bytes + key.len() + 8);
            read.arg("HMGET").arg(&*key).arg(&names);
            reads.add_command(read);
        }
        let connection = &mut self.store().connection();
        let stored = connection.req_packed_commands(&reads, 0, jids.len()).await?;
        let popped = entry("popped", &self.now_ms().to_string(), self.id());
        let mut jobs = Vec::with_capacity(jids.len());
        // Converted by the crate they would be walked through three times.
        for (jid, reply) in jids.iter().zip(stored) {
            if let Value::Array(fields) = reply.extract_error()? {
                jobs.extend(Job::from_reservation(
                    jid,
                    fields,
                    reservation,
                    queue,
                    worker,
                    &popped,
                ));
            }
        }
        Ok(jobs)
    }
}
