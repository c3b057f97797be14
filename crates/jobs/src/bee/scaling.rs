//! How many workers a queue needs so that 95 % of its jobs start in time.
//!
//! The wanted number of jobs that run at once ("slots") is the largest of three:
//!
//! 1. What keeps the 95th percentile of the wait under the target at the present arrival rate. With the arrival rate λ, the mean
//!    run time S and c slots, the load is a = λS. A job has to wait with the probability of Erlang's C(c, a), and jobs that
//!    wait do so for S / (c − a) · (1 + v) / 2 on average, where v is the squared coefficient of variation of the run times
//!    (Allen and Cunneen). Waits are taken to be exponential. The least c with P(wait > target) ≤ 5 % is wanted.
//! 2. What starts the jobs that wait now within a catch-up time, while others arrive: a + backlog · S / catch-up. That time is what is
//!    left of the target to the job that has waited longest, and 60 s at least: new workers take a while to start too.
//! 3. What runs now: with fewer workers, jobs would have to be given back.
//!
//! λ is the higher of the rates of the last 5 and the last 60 minutes, retries included, so that a burst counts at once and a lull
//! only after an hour. S and v come from the attempts that ended in the last hour, or else in the last day. As long as none has ended,
//! each job that waits is taken to need a slot.
//!
//! Limits hold: no more slots than jobs of the queue may run at once, and no more arrivals or starts than its rate lets pass. A
//! paused queue wants what runs. Workers are slots divided by how many jobs a worker of the queue runs at once, on average over
//! those that are there; one unless somebody is there.

use serde::Serialize;

use super::{
    hive::Hive,
    keys::QueueName,
    queue::Limits,
    stats::Stats,
    submit::check_time,
    times::{Histogram, Record, Times, TimesQuery},
};
use crate::Error;

/// The time within which 95 % of all jobs should start, unless the caller or the queue sets another.
pub const WAIT_TARGET_MS: u64 = 60_000;
/// The shortest time in which a backlog should be gone.
const CATCH_UP_MS: f64 = 60_000.0;
/// The share of jobs that may wait for longer than the target.
const LATE_MAX: f64 = 0.05;

const MINUTE_MS: u64 = 60_000;
const HOUR_MS: u64 = 60 * MINUTE_MS;
const DAY_MS: u64 = 24 * HOUR_MS;
/// The short time over which arrivals are counted, in minutes.
const BURST_MINUTES: u64 = 5;

/// How many workers a queue needs, and the figures behind it.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Scaling {
    /// The queue.
    pub queue: String,
    /// The workers that it needs.
    pub workers: u64,
    /// The workers that it has.
    pub workers_alive: u64,
    /// How many jobs have to run at once.
    pub slots: u64,
    /// How many jobs a worker runs at once, on average over those that are there.
    pub slots_per_worker: f64,
    /// The time within which 95 % of all jobs should start.
    pub wait_target_ms: u64,
    /// The longest wait of 95 % of the attempts that ended in the last hour.
    pub wait_p95_ms: Option<f64>,
    /// How many jobs arrive in a second.
    pub arrivals_per_s: f64,
    /// How long an attempt runs on average.
    pub run_mean_ms: Option<f64>,
    /// Jobs that could start now.
    pub waiting: u64,
    /// For how long the first of them has waited.
    pub oldest_ms: Option<u64>,
    /// Jobs that run.
    pub running: u64,
}

/// What a queue has to cope with. Times are in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
struct Load {
    arrivals_per_ms: f64,
    run: Option<RunTimes>,
    backlog: f64,
    oldest_ms: f64,
    running: u64,
}

/// How long attempts run.
#[derive(Debug, Clone, Copy, PartialEq)]
struct RunTimes {
    mean_ms: f64,
    /// The squared coefficient of variation.
    variation: f64,
}

impl RunTimes {
    /// What a histogram tells. Each time is taken to be in the middle of its bucket, and all of them to be off by the factor
    /// by which their mean then differs from the exact one, which the histogram knows.
    fn of(times: &Histogram) -> Option<RunTimes> {
        let mean_ms = times.mean_ms()?;
        let n = times.count() as f64;
        let (mut sum, mut squares) = (0.0, 0.0);
        for (bucket, count) in times.counts().iter().enumerate() {
            let middle = 2f64.powf(bucket as f64 / 2.0 - 0.25);
            sum += *count as f64 * middle;
            squares += *count as f64 * middle * middle;
        }
        let variation = (squares * n / (sum * sum) - 1.0).max(0.0);
        // What takes no measurable time takes some.
        Some(RunTimes { mean_ms: mean_ms.max(0.1), variation })
    }
}

/// The jobs that have to run at once, without the limits on jobs at once.
fn slots(load: &Load, target_ms: f64, starts_per_ms_max: f64) -> u64 {
    let Some(run) = load.run else {
        return load.running + load.backlog as u64;
    };
    let arrivals = load.arrivals_per_ms.min(starts_per_ms_max);
    let offered = arrivals * run.mean_ms;
    let catch_up_ms = (target_ms - load.oldest_ms).max(CATCH_UP_MS);
    let drained = (load.backlog / catch_up_ms).min(starts_per_ms_max - arrivals);
    let for_backlog = (offered + drained * run.mean_ms).ceil() as u64;
    for_wait(offered, run, target_ms).max(for_backlog).max(load.running)
}

/// The fewest slots with which hardly any job waits for longer than the target.
fn for_wait(offered: f64, run: RunTimes, target_ms: f64) -> u64 {
    if offered <= 0.0 {
        return 0;
    }
    // Erlang's B by its recursion, which is stable, for one more slot in each round. Beyond the load it falls fast.
    let (mut blocked, mut slots) = (1.0, 0u64);
    loop {
        slots += 1;
        let c = slots as f64;
        blocked = offered * blocked / (c + offered * blocked);
        if c <= offered {
            continue;
        }
        let waits = blocked / (1.0 - (offered / c) * (1.0 - blocked));
        let mean_wait_ms = run.mean_ms / (c - offered) * (1.0 + run.variation) / 2.0;
        if waits * (-target_ms / mean_wait_ms).exp() <= LATE_MAX {
            return slots;
        }
    }
}

/// Starts in a millisecond that the queue lets pass.
fn starts_per_ms_max(limits: &Limits) -> f64 {
    limits.rate.map_or(f64::INFINITY, |rate| rate.max as f64 / rate.per_ms.max(1) as f64)
}

/// Arrivals in a millisecond: the higher of the rates of the last minutes and of the hour.
fn arrivals_per_ms(records: &[Record], now_ms: u64) -> f64 {
    let rate = |minutes: u64| {
        let since = (now_ms / MINUTE_MS).saturating_sub(minutes) * MINUTE_MS;
        let recent = records.iter().filter(|record| record.at >= since);
        let n: u64 = recent.map(|record| record.submitted + record.retried).sum();
        n as f64 / now_ms.saturating_sub(since).max(1) as f64
    };
    rate(BURST_MINUTES).max(rate(60))
}

impl Scaling {
    fn new(
        stats: &Stats,
        hour: Option<&Times>,
        run: Option<RunTimes>,
        target_ms: u64,
        now_ms: u64,
    ) -> Scaling {
        let alive = stats.workers.iter().filter(|worker| worker.is_alive(now_ms));
        let concurrency: Vec<u64> = alive
            .map(|worker| worker.info.as_ref().map_or(1, |info| info.concurrency.max(1)))
            .collect();
        let workers_alive = concurrency.len() as u64;
        let slots_per_worker = match workers_alive {
            0 => 1.0,
            n => concurrency.iter().sum::<u64>() as f64 / n as f64,
        };
        let waiting = stats.queued + stats.parked;
        let load = Load {
            arrivals_per_ms: hour.map_or(0.0, |hour| arrivals_per_ms(&hour.records, now_ms)),
            run,
            backlog: waiting as f64,
            oldest_ms: stats.oldest_ms.unwrap_or(0) as f64,
            running: stats.running,
        };
        let wanted = match stats.paused {
            true => stats.running,
            false => slots(&load, target_ms as f64, starts_per_ms_max(&stats.limits)),
        };
        let slots = wanted.min(stats.limits.concurrency.unwrap_or(u64::MAX).max(stats.running));
        Scaling {
            queue: stats.queue.clone(),
            workers: (slots as f64 / slots_per_worker).ceil() as u64,
            workers_alive,
            slots,
            slots_per_worker,
            wait_target_ms: target_ms,
            wait_p95_ms: hour.and_then(|hour| hour.sum.wait.percentile_ms(0.95)),
            arrivals_per_s: load.arrivals_per_ms * 1000.0,
            run_mean_ms: run.map(|run| run.mean_ms),
            waiting,
            oldest_ms: stats.oldest_ms,
            running: stats.running,
        }
    }
}

impl Hive {
    /// How many workers a queue needs so that 95 % of its jobs start within a time: the one given, that of the queue, or a minute.
    ///
    /// # Errors
    /// When the target is 0 or too long, or when the store fails.
    pub async fn scaling(
        &self,
        queue: &QueueName,
        wait_target_ms: Option<u64>,
    ) -> Result<Scaling, Error> {
        check_time("wait_target_ms", wait_target_ms)?;
        self.scaling_of(queue, &self.stats(queue).await?, wait_target_ms).await
    }

    /// The same, when the queue's `stats` are known already.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn scaling_of(
        &self,
        queue: &QueueName,
        stats: &Stats,
        wait_target_ms: Option<u64>,
    ) -> Result<Scaling, Error> {
        let now_ms = self.now_ms();
        let target_ms = wait_target_ms.or(stats.limits.wait_target_ms).unwrap_or(WAIT_TARGET_MS);
        // Most of very many queues are idle, and need no further reads.
        if stats.minutes.is_empty() && stats.queued + stats.parked + stats.running == 0 {
            return Ok(Scaling::new(stats, None, None, target_ms, now_ms));
        }
        let hour = self.times_of_last(queue, HOUR_MS, now_ms).await?;
        let mut run = RunTimes::of(&hour.sum.run);
        if run.is_none() {
            run = RunTimes::of(&self.times_of_last(queue, DAY_MS, now_ms).await?.sum.run);
        }
        Ok(Scaling::new(stats, Some(&hour), run, target_ms, now_ms))
    }

    async fn times_of_last(&self, queue: &QueueName, ms: u64, now_ms: u64) -> Result<Times, Error> {
        self.times(queue, &TimesQuery::last(ms, now_ms)).await
    }
}

#[cfg(test)]
mod tests;
