//! Time that a test moves by hand.

use std::time::Duration;

use super::{
    hive::Hive,
    keys::{self, QueueName, WorkerId},
    sweep::WorkerTimeouts,
};
use crate::Error;

impl Hive {
    /// Moves the clock of a test on: `advance` does that. Jobs that run stay with their workers, which no real time has passed
    /// for, and idle workers look for what is due.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn move_time(&self, by: Duration, advance: impl FnOnce()) -> Result<(), Error> {
        let (queues, lock) = (self.queues().await?, WorkerTimeouts::KEYRACK.lock);
        for queue in &queues {
            self.renew_locks(queue, by + lock).await?;
        }
        advance();
        for queue in &queues {
            // What was claimed in between.
            self.renew_locks(queue, lock).await?;
            self.wake_workers(queue).await?;
        }
        Ok(())
    }

    /// Renews the locks of everything that runs. A job that is locked for longer stays so.
    async fn renew_locks(&self, queue: &QueueName, lock: Duration) -> Result<(), Error> {
        let mut cmd = redis::cmd("HGETALL");
        cmd.arg(&*self.store().place(&keys::workers(queue, &queue.group())));
        let workers: Vec<(String, String)> =
            cmd.query_async(&mut self.store().connection()).await?;
        for worker in workers.into_iter().filter_map(|(worker, _)| WorkerId::new(worker).ok()) {
            self.heartbeat(queue, &worker, lock, None).await?;
        }
        Ok(())
    }

    /// Workers sleep until the next job is due, by a clock that nobody moves.
    async fn wake_workers(&self, queue: &QueueName) -> Result<(), Error> {
        let message = serde_json::json!({"type": "resumed", "jid": "", "queue": queue.as_str()});
        let channel = keys::queue_events(queue, &queue.group());
        self.store().publish(&channel, message.to_string()).await?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use crate::bee::{
        Status, WorkerTimeouts,
        keys::Jid,
        test_support::{queue, simulated_hive},
    };

    use super::*;

    #[tokio::test]
    async fn what_runs_keeps_its_lock_when_time_is_moved() {
        let (hive, clock) = simulated_hive().await;
        let (jid, worker): (Jid, _) = (hive.put("a").await, hive.worker());
        let info = crate::bee::WorkerInfo {
            started_at: hive.now_ms(),
            concurrency: 1,
            lock_ms: 10_000,
            listens: false,
            isolates: false,
            stop_ms: None,
            version: None,
        };
        hive.heartbeat(&queue(), &worker, WorkerTimeouts::KEYRACK.lock, Some(&info))
            .await
            .expect("known");
        assert_eq!(hive.take(&worker, 1).await.len(), 1);
        let hour = Duration::from_secs(3600);
        hive.move_time(hour, || clock.advance_ms(3_600_000)).await.expect("moved");
        let swept = hive.sweep(&queue(), &WorkerTimeouts::KEYRACK, "", &[]).await.expect("swept");
        assert_eq!(swept.taken_away, 0);
        assert_eq!(hive.job(&jid).await.expect("the job").status(), Status::Running);
    }
}
