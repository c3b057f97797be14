//! What all queues hold, in a few commands for each: enough to list, sort and judge thousands of queues.
//!
//! [`Hive::stats`] tells more about one queue.

use futures_util::{StreamExt as _, TryStreamExt as _, stream};

use super::{
    hive::Hive,
    keys::{self, QueueName},
    stats::{SILENT_MS, Stats},
};
use crate::Error;

/// Queues that are asked at once.
const AT_ONCE: usize = 256;

/// What a queue holds at one moment, in short.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueueCounts {
    /// The queue.
    pub queue: QueueName,
    /// Whether no more jobs may start.
    pub paused: bool,
    /// Jobs that could start now.
    pub queued: u64,
    /// Jobs whose time has not come.
    pub delayed: u64,
    /// Jobs that run. Those that a worker has reserved and not begun are not among them.
    pub running: u64,
    /// Jobs that failed for good and are kept.
    pub failed: u64,
    /// For how long the first job has been queued, in milliseconds.
    pub oldest_ms: Option<u64>,
    /// Whether a worker was heard of in the last minute.
    pub has_worker: bool,
}

type Reply = (u64, u64, u64, u64, Vec<(String, f64)>, Vec<(String, f64)>, Option<String>);

impl Hive {
    /// What these queues hold, in the same order.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn counts_of(&self, queues: &[QueueName]) -> Result<Vec<QueueCounts>, Error> {
        let now = self.now_ms();
        stream::iter(queues.to_vec())
            .map(async |queue| self.count_one(queue, now).await)
            .buffered(AT_ONCE)
            .try_collect()
            .await
    }

    async fn count_one(&self, queue: QueueName, now: u64) -> Result<QueueCounts, Error> {
        let group = queue.group();
        let place = |key| self.store().place(&key).into_owned();
        let jobs = place(keys::queue(&queue, &group));
        let mut reads = redis::pipe();
        reads.cmd("ZCARD").arg(&jobs);
        for key in [keys::delayed, keys::locks, keys::failed] {
            reads.cmd("ZCARD").arg(place(key(&queue, &group)));
        }
        reads.cmd("ZRANGE").arg(&jobs).arg(0).arg(0).arg("WITHSCORES");
        let workers = place(keys::bees(&queue, &group));
        reads.cmd("ZREVRANGE").arg(workers).arg(0).arg(0).arg("WITHSCORES");
        reads.cmd("HGET").arg(place(keys::settings(&queue, &group))).arg("paused");
        let (queued, delayed, running, failed, first, seen, paused): Reply =
            reads.query_async(&mut self.store().connection()).await?;
        let moment = |list: &[(String, f64)]| list.first().map(|(_, at)| at.max(0.0) as u64);
        Ok(QueueCounts {
            queue,
            paused: paused.as_deref() == Some("1"),
            queued,
            delayed,
            running,
            failed,
            oldest_ms: moment(&first).map(|at| now.saturating_sub(at)),
            has_worker: moment(&seen).is_some_and(|at| now.saturating_sub(at) <= SILENT_MS),
        })
    }
}

impl QueueCounts {
    /// The same of a queue about which more is known; nothing if its name is none.
    pub fn of(stats: &Stats, now_ms: u64) -> Option<QueueCounts> {
        Some(QueueCounts {
            queue: QueueName::new(stats.queue.as_str()).ok()?,
            paused: stats.paused,
            queued: stats.queued,
            delayed: stats.delayed,
            running: stats.running,
            failed: stats.failed,
            oldest_ms: stats.oldest_ms,
            has_worker: stats.workers_alive(now_ms) > 0,
        })
    }

    /// How much waits for how long: what is worse comes first where not all can be shown.
    pub fn harm(&self) -> u64 {
        self.queued.saturating_mul(self.oldest_ms.unwrap_or(0) / 1_000)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bee::{Submission, test_support::simulated_hive};

    #[tokio::test]
    async fn counts_are_those_of_the_statistics() {
        let (hive, clock) = simulated_hive().await;
        let name = |name: &str| QueueName::new(name).expect("a name");
        let all = [name("mail"), name("video"), name("none")];
        for arg in ["a", "b", "c"] {
            hive.submit(Submission::to(all[0].clone()).arg(arg)).await.expect("submitted");
        }
        hive.pause(&all[1]).await.expect("paused");
        clock.advance(std::time::Duration::from_secs(90));
        let counts = hive.counts_of(&all).await.expect("counts");
        for (queue, counted) in all.iter().zip(&counts) {
            let stats = hive.stats(queue).await.expect("statistics");
            assert_eq!(Some(counted), QueueCounts::of(&stats, hive.now_ms()).as_ref());
        }
        assert_eq!((counts[0].queued, counts[1].paused, counts[2].queued), (3, true, 0));
        assert_eq!((counts[0].oldest_ms, counts[0].harm()), (Some(90_000), 270));
    }
}
