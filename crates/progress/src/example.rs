//! The example job, which visitors run to see a bar at work: it takes its time, tells how far it is, and finds a number.

use std::time::Duration;

use keyrack_keys::UserSub;
use serde::Deserialize;

use crate::{
    error::Error,
    keys::{self, ExampleUid},
    service::Progress,
    trace::{Trace, Update},
};

/// How long a result is kept: ten minutes.
const TTL_SECONDS: u64 = 600;
/// The step in which the number is looked for; the one before, in which the job waits, belongs to whoever queued it.
const STEP: &str = "calculating";
/// The largest number that can be found.
const NUMBER_MAX: f64 = 999.0;
/// The longest example, in seconds.
const DURATION_MAX: u64 = 10;
/// By how many seconds it may vary.
const STDEV_MAX: f64 = 3.0;
/// The shortest iteration, in seconds: time does not run backwards.
const ITERATION_MIN: f64 = 0.01;

/// What an example job is told.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ExampleJob {
    pub(crate) sub: String,
    pbar_name: String,
    /// The trace, which has been created.
    uid: String,
    /// About how many seconds it takes, one for each iteration.
    duration: u64,
    /// By how many seconds that varies.
    stdev: f64,
}

impl ExampleJob {
    fn check(&self) -> Result<(), Error> {
        if !(1..=DURATION_MAX).contains(&self.duration) {
            return Err(Error::invalid("duration", format!("use 1 to {DURATION_MAX} seconds")));
        }
        if !(0.0..=STDEV_MAX).contains(&self.stdev) {
            return Err(Error::invalid("stdev", format!("use 0 to {STDEV_MAX} seconds")));
        }
        Ok(())
    }

    /// The update that tells of so many iterations.
    fn update(&self, iteration: u64, now: f64) -> Update {
        Update {
            pbar_name: self.pbar_name.clone(),
            trace_uid: self.uid.clone(),
            step_name: STEP.to_owned(),
            iteration: Some(iteration),
            iterations: Some(self.duration),
            done: iteration == self.duration,
            now,
        }
    }

    /// How many iterations a trace has told of; `None` before the step has begun.
    fn reached(&self, trace: &Trace) -> Option<u64> {
        let step = Some(trace.current()).filter(|step| step.step_name == STEP)?;
        Some(step.iteration)
    }
}

impl Progress {
    /// Runs an example job, or what is left of one that was interrupted.
    pub(crate) async fn run_example(&self, user: &UserSub, job: &ExampleJob) -> Result<(), Error> {
        job.check()?;
        let trace = self.trace(user, &job.pbar_name, &job.uid).await?;
        // Nobody waits for an example that has ended or expired.
        let Some(trace) = trace.filter(|trace| !trace.done) else { return Ok(()) };
        let reached = match job.reached(&trace) {
            Some(reached) => reached,
            None => {
                self.update_trace(user, &job.update(0, self.now())).await?;
                0
            }
        };
        for iteration in reached + 1..=job.duration {
            tokio::time::sleep(self.iteration_time(job)).await;
            if iteration == job.duration {
                // Before the end is told, so that who hears of the end finds the number.
                self.put_example(&job.uid, 1 + (self.chance.roll() * NUMBER_MAX) as u64).await?;
            }
            self.update_trace(user, &job.update(iteration, self.now())).await?;
        }
        Ok(())
    }

    /// About a second, so that the whole varies as it was asked to.
    fn iteration_time(&self, job: &ExampleJob) -> Duration {
        let deviation = job.stdev / (job.duration as f64).sqrt();
        let seconds = 1.0 + deviation * self.chance.normal();
        Duration::from_secs_f64(seconds.max(ITERATION_MIN))
    }

    /// Keeps the number that an example job found, from 1 to 10,000.
    ///
    /// # Errors
    /// When the number or the id cannot be.
    pub async fn put_example(&self, uid: &str, number: u64) -> Result<(), Error> {
        if !(1..=10_000).contains(&number) {
            return Err(Error::invalid("number", "it is out of range; use 1 to 10000"));
        }
        let key = keys::example(&ExampleUid::new(uid)?);
        let mut cmd = redis::cmd("SET");
        cmd.arg(&*self.store.place(&key)).arg(number).arg("EX").arg(TTL_SECONDS);
        Ok(cmd.query_async(&mut self.store.connection()).await?)
    }

    /// The number that an example job found; `None` before, and ten minutes after.
    ///
    /// # Errors
    /// When the id cannot be.
    pub async fn example(&self, uid: &str) -> Result<Option<u64>, Error> {
        let key = keys::example(&ExampleUid::new(uid)?);
        let mut cmd = redis::cmd("GET");
        cmd.arg(&*self.store.place(&key));
        Ok(cmd.query_async(&mut self.store.connection()).await?)
    }
}
