//! The scheduler: wakes when a job is due, queues it, and sleeps again.

mod changes;

use std::{
    collections::HashSet,
    future::Future,
    sync::Arc,
    time::{Duration, Instant},
};

use jiff::Timestamp;

use self::changes::Changes;
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

/// Makes a list of recurring jobs run, and those that are defined at run time. Several may run at once, also beside those of the
/// original program: each run is queued by one of them.
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
    /// Whether it has a list, beside what is defined at run time.
    has_list: bool,
    /// The digests under which our list is in force; `None` before the start and while it is not.
    digests: Option<Arc<Digests>>,
    /// What was last told about a failure, so that it is told once.
    told: Option<String>,
    /// Jobs whose failure to be queued was told.
    told_failed: HashSet<String>,
    /// Jobs defined at run time whose failure to be queued was told.
    told_failed_defined: HashSet<String>,
    /// The last jump of the store's clock that the schedule takes into account.
    last_jump: Option<Instant>,
    /// The same for what is defined at run time; `None` before the first look.
    defined_jump: Option<Option<Instant>>,
    /// How long nothing is due in that part of the last turn that worked.
    pause_max: Duration,
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
    /// A scheduler for a list of jobs, and for what is defined at run time.
    pub fn new(recurring: Recurring, settings: Settings) -> Scheduler {
        Scheduler {
            recurring,
            settings,
            has_list: true,
            digests: None,
            told: None,
            told_failed: HashSet::new(),
            told_failed_defined: HashSet::new(),
            last_jump: None,
            defined_jump: None,
            pause_max: Duration::MAX,
        }
    }

    /// A scheduler for what is defined at run time only. It leaves the list alone that is in force.
    pub fn without_list(recurring: Recurring, settings: Settings) -> Scheduler {
        Scheduler { has_list: false, ..Scheduler::new(recurring, settings) }
    }

    /// Puts the list in force and runs it until `shutdown` resolves.
    ///
    /// Nothing ends it before: a lost connection is waited out, and so is another list, until this one is in force again.
    /// Stopping at any moment is safe.
    pub async fn run(mut self, shutdown: impl Future<Output = ()>) {
        let turns = async {
            let mut changes = Changes::new(self.recurring.store().clone());
            loop {
                // Before the turn, so that no change is missed between the two.
                changes.listen().await;
                let turn = self.turn().await;
                let pause = self.pause_after(turn);
                tokio::select! {
                    () = tokio::time::sleep(pause) => {}
                    () = changes.next() => {}
                }
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
    /// When another list is in force, or the store cannot be reached. What is defined at run time runs in spite of the former.
    pub async fn turn(&mut self) -> Result<Turn, Error> {
        let defined = self.defined_turn().await;
        let listed = if self.has_list { Some(self.list_turn().await) } else { None };
        // What fails does not delay the other.
        let pauses = [Some(&defined), listed.as_ref()]
            .map(|turn| turn?.as_ref().ok().map(|turn| turn.pause));
        self.pause_max = pauses.into_iter().flatten().min().unwrap_or(Duration::MAX);
        let Some(listed) = listed else { return defined };
        let (defined, listed) = (defined?, listed?);
        let mut fired = listed.fired;
        fired.queued += defined.fired.queued;
        fired.paused += defined.fired.paused;
        fired.taken += defined.fired.taken;
        fired.failed.extend(defined.fired.failed);
        Ok(Turn { fired, pause: listed.pause.min(defined.pause) })
    }

    /// Queues what is due of the jobs that are defined at run time.
    async fn defined_turn(&mut self) -> Result<Turn, Error> {
        let last_jump = self.recurring.store().clock().last_jump();
        let now = self.recurring.now();
        if self.defined_jump != Some(last_jump) {
            // At the start too: the clock may have gone back while no scheduler ran.
            let earlier = self.recurring.schedule_defined_anew(now).await?;
            if earlier > 0 {
                tracing::warn!(earlier, "the clock went back; scheduled recurring jobs anew");
            }
            self.defined_jump = Some(last_jump);
        }
        let due = self.recurring.due_defined(now).await?;
        let fired = self.recurring.fire_defined(&due, now).await?;
        tell_of_failed(&fired, &mut self.told_failed_defined);
        Ok(Turn { pause: self.pause(due.jobs.len(), due.next, &fired, now), fired })
    }

    /// Queues what is due of the list.
    async fn list_turn(&mut self) -> Result<Turn, Error> {
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
        tell_of_failed(&fired, &mut self.told_failed);
        Ok(Turn { pause: self.pause(due.jobs.len(), due.next, &fired, now), fired })
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

    fn pause(
        &self,
        jobs_due: usize,
        next: Option<Timestamp>,
        fired: &Fired,
        now: Timestamp,
    ) -> Duration {
        // What was rescheduled may be due next, and there may be more than one turn takes on.
        if jobs_due > fired.failed.len() {
            return Duration::ZERO;
        }
        let until_next = next.map(|next| next.duration_since(now).unsigned_abs());
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
            _ => self.settings.retry_every.min(self.pause_max),
        }
    }
}

/// Tells which jobs could not be queued, each once until it works again.
fn tell_of_failed(fired: &Fired, told: &mut HashSet<String>) {
    for (job, error) in &fired.failed {
        if !told.contains(job) {
            let cause = std::error::Error::source(error).map(ToString::to_string);
            tracing::error!(job, %error, cause, "a recurring job stays due; trying again until it is queued");
        }
    }
    *told = fired.failed.iter().map(|(job, _)| job.clone()).collect();
}
