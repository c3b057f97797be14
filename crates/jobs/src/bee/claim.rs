//! Taking jobs for a worker.

use std::time::Duration;

use keyrack_store::Script;

use super::{
    hive::Hive,
    job::Job,
    keys::{QueueName, WorkerId},
};
use crate::Error;

static CLAIM: Script = bee_script!("claim.lua");

/// What a claim brought.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Claimed {
    /// The jobs, first to run first.
    pub jobs: Vec<Job>,
    /// Why there are not more, if something else than an empty queue is the reason.
    pub blocked: Option<Blocked>,
    /// When it is worth asking again without having heard of a new job, in unix milliseconds.
    pub again_at: Option<u64>,
    /// How many milliseconds an attempt may take at a job that says nothing about it, if its queue does.
    pub timeout_ms: Option<u64>,
}

/// What keeps jobs of a queue from starting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Blocked {
    /// The queue is paused.
    Paused,
    /// As many jobs run as may at once.
    Concurrency,
    /// As many jobs have started as may in that time.
    Rate,
    /// The other workers are to have theirs.
    Share,
    /// The worker has a job that runs alone, or it has other jobs, and the next one has to run alone.
    Quarantine,
}

impl Claimed {
    pub(crate) fn from_reply(
        queue: &QueueName,
        worker: &WorkerId,
        (fields, blocked, again_at, timeout_ms): (Vec<Option<Vec<u8>>>, String, String, u64),
    ) -> Claimed {
        let jobs = Job::from_claim(fields, queue, worker);
        let blocked = match blocked.as_str() {
            "paused" => Some(Blocked::Paused),
            "concurrency" => Some(Blocked::Concurrency),
            "rate" => Some(Blocked::Rate),
            "share" => Some(Blocked::Share),
            "quarantine" => Some(Blocked::Quarantine),
            _ => None,
        };
        let again_at = again_at.parse::<f64>().ok().map(|at| at.ceil() as u64);
        let timeout_ms = Some(timeout_ms).filter(|ms| *ms > 0);
        Claimed { jobs, blocked, again_at, timeout_ms }
    }
}

impl Hive {
    /// Claims up to `max` jobs for a worker and locks them for so long.
    ///
    /// # Errors
    /// When the store fails. If the connection was lost, jobs may have been claimed: a heartbeat tells.
    pub async fn claim(
        &self,
        queue: &QueueName,
        worker: &WorkerId,
        max: usize,
        lock: Duration,
    ) -> Result<Claimed, Error> {
        self.claim_after(queue, worker, max, lock, None).await
    }

    /// The same for a worker that cannot let a job run alone by itself, and is given it alone after so many lost workers.
    pub(super) async fn claim_after(
        &self,
        queue: &QueueName,
        worker: &WorkerId,
        max: usize,
        lock: Duration,
        alone_after: Option<u64>,
    ) -> Result<Claimed, Error> {
        let call = self
            .call_on_queue(&CLAIM, queue)
            .arg("worker", worker.as_str())
            .arg("lock_ms", lock.as_millis() as u64)
            .arg("max", max)
            .arg("alone_after", alone_after.map(|n| n.to_string()).unwrap_or_default());
        Ok(Claimed::from_reply(queue, worker, call.run().await?))
    }
}

#[cfg(test)]
mod tests {
    use super::super::{
        Submission,
        keys::{self, QueueName},
        test_support::{queue, simulated_hive},
    };

    /// The jobs of a queue by score, then priority, then id: the order in which they are to run.
    async fn expected(
        hive: &super::Hive,
        queue: &QueueName,
        priorities: &[(String, f64)],
    ) -> Vec<String> {
        let key = keys::queue(queue, &queue.group());
        let mut cmd = redis::cmd("ZRANGE");
        cmd.arg(&*hive.store().place(&key)).arg(0).arg(-1).arg("WITHSCORES");
        let entries: Vec<(String, f64)> =
            cmd.query_async(&mut hive.store().connection()).await.expect("the queue");
        let priority_of = |jid: &str| {
            priorities.iter().find(|(one, _)| one == jid).map(|(_, priority)| *priority)
        };
        let mut order: Vec<(f64, f64, String)> = entries
            .into_iter()
            .map(|(jid, score)| (score, -priority_of(&jid).expect("a job of ours"), jid))
            .collect();
        order.sort_by(|a, b| a.partial_cmp(b).expect("numbers"));
        order.into_iter().map(|(.., jid)| jid).collect()
    }

    #[tokio::test]
    async fn jobs_are_claimed_by_score_then_priority_then_id_whatever_is_asked_for() {
        let (hive, clock) = simulated_hive().await;
        let (mut priorities, mut n) = (Vec::new(), 0_u32);
        for batch in [40, 1, 97, 200, 13] {
            let of_batch: Vec<f64> = (0..batch)
                .map(|_| {
                    n += 1;
                    f64::from(n * 7 % 13) - 2.0
                })
                .collect();
            let jobs = of_batch.iter().map(|priority| Submission::to(queue()).priority(*priority));
            let jids = hive.submit_many(jobs.collect()).await.expect("submitted");
            let jids = jids.into_iter().map(|jid| jid.expect("stored").to_string());
            priorities.extend(jids.zip(of_batch));
            clock.advance_ms(3);
        }
        let expected = expected(&hive, &queue(), &priorities).await;
        let (worker, mut claimed) = (hive.worker(), Vec::new());
        for max in [1, 2, 3, 5, 8, 50, 7, 100, 31].into_iter().cycle() {
            let jobs = hive.take(&worker, max).await;
            if jobs.is_empty() {
                break;
            }
            claimed.extend(jobs.iter().map(|job| job.jid().to_owned()));
        }
        assert_eq!(claimed.len(), priorities.len());
        assert_eq!(claimed, expected);
    }
}
