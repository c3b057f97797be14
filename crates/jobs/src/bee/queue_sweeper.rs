//! Looking after all queues, also those that only programs without our worker use.
//!
//! A Rust worker sweeps its own queue. Workers that speak HTTP do not, and Node's take three minutes to miss a dead one;
//! so a server keeps every queue it knows of.

use std::{collections::HashMap, future::Future, time::Duration};

use futures_util::{StreamExt as _, stream};
use tokio::time::{Instant, MissedTickBehavior, interval, sleep};

use super::{heal::Reconciling, hive::Hive, keys::QueueName, sweep::WorkerTimeouts, worker::Watch};
use crate::Error;

/// The time between two rounds.
const ROUND_EVERY: Duration = Duration::from_secs(1);
/// Queues that one round goes through; when there are more, they take turns.
const QUEUES_PER_ROUND: usize = 200;
/// Queues that are swept at once.
const AT_ONCE: usize = 8;
/// Rounds after which the server is asked for its time again.
const ROUNDS_PER_CLOCK: u64 = 300;

/// The least time between two walks over the store for queues that only other programs have filled.
const WALK_PAUSE_MIN: Duration = Duration::from_secs(5);
/// The most time between two walks, however many keys there are.
const WALK_PAUSE_MAX: Duration = Duration::from_secs(600);
/// The pause after a walk, in multiples of its length: walks take up to a hundredth of the store's time.
///
/// A subscription to `bee:ch:q:*` would find such queues sooner. But scripts announce every job to whoever has
/// subscribed to a pattern, which would slow down all queues, and Node announces no delayed job.
const WALK_PAUSE_FACTOR: u32 = 100;
/// The time between two walks that look at every job too.
const HEAL_EVERY: Duration = Duration::from_secs(3600);

/// Sweeps all queues, and lets delayed jobs in when they are due.
#[derive(Debug)]
pub struct QueueSweeper {
    hive: Hive,
    timeouts: WorkerTimeouts,
    watches: HashMap<QueueName, SweptQueue>,
    /// The queue after which the next round begins.
    last: Option<QueueName>,
}

/// What is known of a queue from one round to the next.
#[derive(Debug)]
struct SweptQueue {
    watch: Watch,
    lists: Reconciling,
}

impl QueueSweeper {
    /// A queue_sweeper of all queues.
    pub fn new(hive: &Hive, timeouts: WorkerTimeouts) -> QueueSweeper {
        QueueSweeper { hive: hive.clone(), timeouts, watches: HashMap::new(), last: None }
    }

    /// Keeps the queues until `shutdown`. A store that cannot be reached is asked again.
    pub async fn run(mut self, shutdown: impl Future<Output = ()>) {
        let walking = walk(self.hive.clone(), self.timeouts);
        let mut rounds = interval(ROUND_EVERY);
        rounds.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let keeping = async {
            for round in 1_u64.. {
                rounds.tick().await;
                if let Err(error) = self.round().await {
                    tracing::debug!(%error, "could not look after the queues; will try again");
                }
                if round.is_multiple_of(ROUNDS_PER_CLOCK) {
                    let _ = self.hive.adjust_clock().await;
                }
            }
        };
        tokio::select! {
            () = keeping => {}
            () = walking => {}
            () = shutdown => {}
        }
    }

    /// Goes through the queues once.
    ///
    /// # Errors
    /// When the store fails; every queue that could be kept was.
    pub async fn round(&mut self) -> Result<(), Error> {
        let queues = self.hive.queues().await.inspect_err(|_| self.forget_silence())?;
        self.watches.retain(|queue, _| queues.binary_search(queue).is_ok());
        let turn = self.turn(queues);
        let mut watches = Vec::with_capacity(turn.len());
        for queue in turn {
            let fresh = || SweptQueue {
                watch: Watch::new(&self.hive, queue.clone(), self.timeouts),
                lists: Reconciling::default(),
            };
            let kept = self.watches.remove(&queue).unwrap_or_else(fresh);
            watches.push((queue, kept));
        }
        let hive = &self.hive;
        let kept = stream::iter(watches).map(async |(queue, mut kept)| {
            let done = keep(hive, &queue, &mut kept).await;
            (queue, kept, done)
        });
        let kept: Vec<_> = kept.buffer_unordered(AT_ONCE).collect().await;
        let mut result = Ok(());
        for (queue, kept, done) in kept {
            self.watches.insert(queue, kept);
            result = result.and(done);
        }
        result.inspect_err(|_| self.forget_silence())
    }

    /// The queues of this round.
    fn turn(&mut self, queues: Vec<QueueName>) -> Vec<QueueName> {
        if queues.len() <= QUEUES_PER_ROUND {
            return queues;
        }
        let after = |last: &QueueName| queues.partition_point(|queue| queue <= last);
        let start = self.last.as_ref().map_or(0, after);
        let turn: Vec<QueueName> =
            queues.iter().cycle().skip(start).take(QUEUES_PER_ROUND).cloned().collect();
        self.last = turn.last().cloned();
        turn
    }

    /// After a lost connection every worker seems silent.
    fn forget_silence(&mut self) {
        self.watches.values_mut().for_each(|kept| kept.watch.forget_silence());
    }
}

async fn keep(hive: &Hive, queue: &QueueName, kept: &mut SweptQueue) -> Result<(), Error> {
    kept.watch.sweep().await?;
    hive.promote(queue).await?;
    hive.reconcile(queue, &mut kept.lists).await?;
    Ok(())
}

/// Looks for queues that nobody has listed, and now and then for jobs that nothing names.
async fn walk(hive: Hive, timeouts: WorkerTimeouts) {
    let mut healed_at: Option<Instant> = None;
    loop {
        let began = Instant::now();
        let mut walked = hive.discover_queues().await;
        let took = began.elapsed();
        if walked.is_ok() && healed_at.is_none_or(|at| at.elapsed() >= HEAL_EVERY) {
            walked = hive.heal_jobs(&timeouts).await;
            healed_at = walked.is_ok().then(Instant::now).or(healed_at);
        }
        if let Err(error) = walked {
            tracing::debug!(%error, "could not walk over the store; will try again");
        }
        sleep(pause_after(took)).await;
    }
}

fn pause_after(walk: Duration) -> Duration {
    walk.saturating_mul(WALK_PAUSE_FACTOR).clamp(WALK_PAUSE_MIN, WALK_PAUSE_MAX)
}

impl Hive {
    /// Lets the delayed jobs that are due into the working queue.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn promote(&self, queue: &QueueName) -> Result<(), Error> {
        // Every claim does so first; this one takes nothing.
        let nobody = self.new_worker(queue)?;
        self.claim(queue, &nobody, 0, Duration::ZERO).await?;
        Ok(())
    }
}

#[cfg(test)]
mod tests;
