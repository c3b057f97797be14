//! Running what is due in the task of the caller, for tests and small tools.

use std::sync::Arc;

use super::{
    QueueRegistration, Worker,
    context::{Context, ForHandlers},
};
use crate::{Error, bee::settle::Outcome};

impl Worker {
    /// Runs the jobs that are due, one after the other, until none is left, and returns how many attempts that were. Jobs
    /// that a handler submits on the way are run too.
    ///
    /// Nothing runs beside the caller: no heartbeats, no sweep. A job is locked for as long as it may run. Jobs that are the
    /// same as an earlier one run like any other.
    ///
    /// # Errors
    /// When the store fails. A failed attempt is no error: the job says why.
    pub async fn run_due(&self) -> Result<u64, Error> {
        let mut n_attempts = 0;
        loop {
            let n_before = n_attempts;
            for registration in &self.registrations {
                n_attempts += self.run_due_of(registration).await?;
            }
            if n_attempts == n_before {
                return Ok(n_attempts);
            }
        }
    }

    async fn run_due_of(&self, registration: &QueueRegistration) -> Result<u64, Error> {
        let QueueRegistration { queue, settings, handler } = registration;
        let (hive, worker) = (&self.hive, self.hive.new_worker(queue)?);
        let lock =
            self.timeouts.lock + settings.time_limit + settings.overrun + settings.stop_grace;
        let shared = Arc::new(ForHandlers::new(hive));
        let (mut n_attempts, mut ended): (u64, Option<Outcome>) = (0, None);
        loop {
            let settled = hive.settle(queue, &worker, ended.as_slice(), 1, lock).await?;
            if let (Some(tell), Some(outcome)) = (&self.settled, &ended) {
                settled.verdicts.iter().for_each(|verdict| tell(outcome, *verdict));
            }
            let timeout = settled.claimed.timeout_ms.map(std::time::Duration::from_millis);
            let Some(job) = settled.claimed.jobs.into_iter().next() else { return Ok(n_attempts) };
            let context = Context::new(hive.clone(), job, None, Arc::clone(&shared), timeout);
            ended = Some(handler.run(context, settings).await);
            n_attempts += 1;
        }
    }
}
