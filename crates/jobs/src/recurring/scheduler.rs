//! The scheduler: wakes when a job is due, queues it, and sleeps again.

use std::{
    collections::HashSet,
    future::Future,
    sync::Arc,
    time::{Duration, Instant},
};

use jiff::Timestamp;

use super::{
    due::Due,
    error::Error,
    fire::Fired,
    plan::Digests,
    service::{InForce, Recurring},
};

/// How a scheduler behaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings {
    /// How soon to look again when another list is in force or a job could not be queued; 10 s unless set.
    pub retry_every: Duration,
    /// How long to sleep at most, in case somebody else changes the schedule; 10 s unless set.
    pub look_every: Duration,
    /// How long a job may be in purgatory before it is scheduled again; 60 s unless set.
    pub rescue_after: Duration,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            retry_every: Duration::from_secs(10),
            look_every: Duration::from_secs(10),
            rescue_after: Duration::from_secs(60),
        }
    }
}

/// How soon to try again when the store cannot be reached, so that its return is noticed within a second.
const OUTAGE_PAUSE: Duration = Duration::from_millis(500);

/// Makes a list of recurring jobs run. Several may run at once, also beside those of the original program: each run is queued
/// by one of them.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use keyrack_jobs::{
///     bee::Hive,
///     recurring::{CronSchedule, Definition, Recurring, Scheduler, Settings},
/// };
/// use keyrack_store::Store;
///
/// let hive = Hive::open(Store::open("embedded:memory").await?).await?;
/// let nightly = Definition::new("runners.sweep", CronSchedule::new("Europe/Berlin", "30 2 * * *")?);
/// let recurring = Recurring::new(hive, vec![nightly])?;
/// recurring.run_now("runners.sweep").await?;
///
/// # let until_told = async {};
/// Scheduler::new(recurring, Settings::default()).run(until_told).await;
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Scheduler {
    recurring: Recurring,
    settings: Settings,
    /// The digests under which our list is in force; `None` before the start and while it is not.
    digests: Option<Arc<Digests>>,
    /// What was last told about a failure, so that it is told once.
    told: Option<String>,
    /// Jobs whose failure to be queued was told.
    told_failed: HashSet<String>,
    /// The last jump of the store's clock that the schedule takes into account.
    last_jump: Option<Instant>,
}

/// What a scheduler did in one turn.
#[derive(Debug)]
pub struct Turn {
    /// What became of the jobs that were due.
    pub fired: Fired,
    /// How long nothing needs to be done.
    pub pause: Duration,
}

impl Scheduler {
    /// A scheduler for a list of jobs.
    pub fn new(recurring: Recurring, settings: Settings) -> Scheduler {
        Scheduler {
            recurring,
            settings,
            digests: None,
            told: None,
            told_failed: HashSet::new(),
            last_jump: None,
        }
    }

    /// Puts the list in force and runs it until `shutdown` resolves.
    ///
    /// Nothing ends it before: a lost connection is waited out, and so is another list, until this one is in force again.
    /// Stopping at any moment is safe.
    pub async fn run(mut self, shutdown: impl Future<Output = ()>) {
        let turns = async {
            loop {
                let turn = self.turn().await;
                let pause = self.pause_after(turn);
                tokio::time::sleep(pause).await;
            }
        };
        tokio::select! {
            () = turns => {}
            () = shutdown => {}
        }
    }

    /// Does what is to be done now. The first turn puts the list in force.
    ///
    /// # Errors
    /// When another list is in force, or the store cannot be reached.
    pub async fn turn(&mut self) -> Result<Turn, Error> {
        let last_jump = self.recurring.store().clock().last_jump();
        if self.digests.is_none() {
            self.digests = Some(self.start().await?);
            // Whoever puts a list in force schedules it by the time of that moment.
            self.last_jump = last_jump;
        }
        let now = self.recurring.now();
        let due = self.recurring.due(now).await?;
        let digests = self.agree(&due).await?;
        if self.last_jump != last_jump {
            let earlier = self.recurring.schedule_anew(&digests, now).await?;
            tracing::warn!(earlier, "the store's clock has jumped; scheduled recurring jobs anew");
            self.last_jump = last_jump;
        }
        let fired = self.recurring.fire(&digests, &due.jobs, now).await?;
        if due.in_purgatory > 0 {
            self.rescue(&digests, self.settings.rescue_after).await?;
        }
        self.tell_of_failed(&fired);
        Ok(Turn { pause: self.pause(&due, &fired, now), fired })
    }

    /// What every scheduler does first: puts its list in force, and gets back what schedulers before it left in purgatory.
    async fn start(&self) -> Result<Arc<Digests>, Error> {
        let digests = self.recurring.put_in_force().await?;
        self.rescue(&digests, Duration::ZERO).await?;
        Ok(digests)
    }

    /// The digests that all schedulers use now.
    ///
    /// A scheduler that started at another time of the year has others for the same list; whoever wrote last decides. A store
    /// that lost its list gets ours.
    async fn agree(&mut self, due: &Due) -> Result<Arc<Digests>, Error> {
        if let Some(digests) = &self.digests
            && due.list.as_ref() == Some(&digests.list)
        {
            return Ok(digests.clone());
        }
        let digests = match self.recurring.whose(due.list.clone()) {
            InForce::Ours(digests) => digests,
            InForce::Nobodys => self.start().await?,
            InForce::Others(found) => return Err(self.recurring.other_list(found)),
        };
        self.digests = Some(digests.clone());
        Ok(digests)
    }

    async fn rescue(&self, digests: &Digests, after: Duration) -> Result<(), Error> {
        let rescued = self.recurring.rescue(digests, after).await?;
        if rescued.jobs > 0 {
            tracing::warn!(
                jobs = rescued.jobs,
                "scheduled recurring jobs again that a scheduler had lost"
            );
        }
        if rescued.unknown > 0 {
            tracing::warn!(
                jobs = rescued.unknown,
                "dropped jobs from rjobs:purgatory that no list has"
            );
        }
        Ok(())
    }

    /// Tells which jobs could not be queued, each once until it works again.
    fn tell_of_failed(&mut self, fired: &Fired) {
        for (job, error) in &fired.failed {
            if !self.told_failed.contains(job) {
                let cause = std::error::Error::source(error).map(ToString::to_string);
                tracing::error!(job, %error, cause, "a recurring job stays due; trying again until it is queued");
            }
        }
        self.told_failed = fired.failed.iter().map(|(job, _)| job.clone()).collect();
    }

    fn pause(&self, due: &Due, fired: &Fired, now: Timestamp) -> Duration {
        // What was rescheduled may be due next, and there may be more than one turn takes on.
        if due.jobs.len() > fired.failed.len() {
            return Duration::ZERO;
        }
        let until_next = due.next.map(|next| next.duration_since(now).unsigned_abs());
        let pause = until_next.unwrap_or(Duration::MAX).min(self.settings.look_every);
        if fired.failed.is_empty() { pause } else { pause.min(self.settings.retry_every) }
    }

    /// How long to pause after a turn; failures are told when they begin, not every time.
    fn pause_after(&mut self, turn: Result<Turn, Error>) -> Duration {
        let error = match turn {
            Ok(turn) => {
                if self.told.take().is_some() {
                    tracing::info!("recurring jobs run again");
                }
                return turn.pause;
            }
            Err(error) => error,
        };
        let text = error.to_string();
        if self.told.as_ref() != Some(&text) {
            let cause = std::error::Error::source(&error).map(ToString::to_string);
            tracing::warn!(%error, cause, "recurring jobs do not run; trying again until they do");
            self.told = Some(text);
        }
        match error {
            Error::Store(cause) if cause.is_transient() => OUTAGE_PAUSE,
            _ => self.settings.retry_every,
        }
    }
}
