//! The last chance of a job that has lost workers: it runs alone.
//!
//! When a process dies, nobody knows which of its jobs was the cause, and the same jobs may well come together again. So
//! the first deaths only cast suspicion on all that were there. Before a job would fail for them, it runs once more with nothing
//! beside it, and only if its worker is lost then, too, was it the cause.

use keyrack_store::Script;

use super::{
    hive::Hive,
    job::Job,
    keys::{QueueName, WorkerId},
    settle::Verdict,
    sweep::WorkerTimeouts,
};
use crate::Error;

static QUARANTINE: Script = bee_script!("quarantine.lua");

impl WorkerTimeouts {
    /// Whether a job that has lost so many workers must run alone.
    pub fn is_last_chance(&self, deaths: u64) -> bool {
        self.deaths_max > 0 && deaths >= self.last_chance_after()
    }

    /// After how many lost workers a job has its last chance. One may always have been somebody else's fault.
    pub(super) fn last_chance_after(&self) -> u64 {
        u64::from(self.deaths_max).saturating_sub(1).max(1)
    }
}

impl Hive {
    /// Notes that a claimed job is about to run while nothing else does in the process of its worker: if the worker is
    /// lost before the job is settled, that was the job's doing.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn runs_alone(
        &self,
        queue: &QueueName,
        worker: &WorkerId,
        job: &Job,
    ) -> Result<Verdict, Error> {
        let call = self
            .call_on_queue(&QUARANTINE, queue)
            .arg("worker", worker.as_str())
            .arg("jid", job.jid())
            .arg("attempt", job.attempts());
        let word: String = call.run().await?;
        Ok(Verdict::from_word(&word))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_chance_comes_before_the_last_death_and_never_before_the_first() {
        let has_it = |deaths_max, deaths| {
            WorkerTimeouts { deaths_max, ..WorkerTimeouts::KEYRACK }.is_last_chance(deaths)
        };
        assert_eq!([1, 2].map(|deaths| has_it(3, deaths)), [false, true]);
        assert_eq!([0, 1].map(|deaths| has_it(2, deaths)), [false, true]);
        assert_eq!([0, 1].map(|deaths| has_it(1, deaths)), [false, true]);
        assert!(!has_it(0, 1_000), "without a limit nobody is under suspicion");
    }
}
