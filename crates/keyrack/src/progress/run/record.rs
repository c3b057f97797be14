//! Tells the store how far a command is, without ever holding it up.

use std::{sync::Arc, time::Duration};

use keyrack_keys::UserSub;
use keyrack_progress::{
    BarSettings, Error, NewTrace, Progress, StepConfig, TraceFailure, Update,
    estimate::Model,
    keys::{BarName, TraceUid},
};
use tokio::{
    sync::oneshot,
    time::{Instant, MissedTickBehavior, interval, sleep, timeout},
};

use super::{
    child::CommandEnd,
    course::{Shared, Stage},
    warn,
};

/// How often the store is told at most: often enough for eyes, seldom enough for a command that ticks a million times.
const EVERY: Duration = Duration::from_millis(250);
/// How long it may take to tell; then it is tried again.
const PATIENCE: Duration = Duration::from_secs(5);
/// How often the store is told of a run in which nothing happens, so that one owner process dies is known to be lost.
const REPORT_EVERY: Duration = Duration::from_secs(5);
/// How long to wait before a store that failed is told the end again.
const RETRY_PAUSE: Duration = Duration::from_millis(500);
/// Tells the store how far a command is.
#[derive(Debug)]
pub(super) struct Recorder {
    progress: Progress,
    user: UserSub,
    bar: BarName,
    uid: TraceUid,
    /// What past runs say.
    pub(super) model: Model,
    is_known: bool,
    /// When the command started, in unix seconds.
    start: f64,
    /// The steps as they were told last.
    told: Vec<Stage>,
    told_at: Instant,
    has_warned: bool,
}

impl Recorder {
    /// Reads what is known of the bar.
    pub(super) async fn begin(
        progress: Progress,
        user: UserSub,
        bar: BarName,
        uid: TraceUid,
    ) -> anyhow::Result<Recorder> {
        let samples = progress.samples(&user, bar.as_str()).await?;
        let is_known = samples.is_some();
        let model = samples.map(|samples| Model::of(&samples)).unwrap_or_default();
        let start = progress.now();
        Ok(Recorder {
            progress,
            user,
            bar,
            uid,
            model,
            is_known,
            start,
            told: Vec::new(),
            told_at: Instant::now(),
            has_warned: false,
        })
    }

    /// Follows a command until told of its end, and tells the store how it ended.
    pub(super) async fn follow(
        mut self,
        course: Arc<Shared>,
        mut end: oneshot::Receiver<CommandEnd>,
    ) {
        let mut ticks = interval(EVERY);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let ended = loop {
            tokio::select! {
                ended = &mut end => break ended.ok(),
                _ = ticks.tick() => {
                    let steps = course.lock().steps().to_vec();
                    match timeout(PATIENCE, self.report(&steps)).await {
                        Ok(Ok(())) => {}
                        Ok(Err(error)) => self.warn(&error.to_string()),
                        Err(_) => self.warn("it does not answer"),
                    }
                }
            }
        };
        let went_well = ended.is_some_and(|end| end.code == 0);
        let steps = {
            let mut course = course.lock();
            if went_well {
                course.end();
            }
            course.steps().to_vec()
        };
        // Whoever waits for this has a limit of its own. A store that is away for a moment is told when it is back.
        loop {
            let told = match went_well {
                true => self.finish(&steps).await,
                false => self.fail(&steps, ended).await,
            };
            match told {
                Ok(()) => return,
                Err(Error::Store(error)) => self.warn(&error.to_string()),
                Err(error) => {
                    return warn(format_args!("this run is not recorded: {error}"));
                }
            }
            sleep(RETRY_PAUSE).await;
        }
    }

    /// Tells what has happened, or that nothing has.
    async fn report(&mut self, steps: &[Stage]) -> Result<(), Error> {
        self.catch_up(steps).await?;
        if self.told_at.elapsed() >= REPORT_EVERY
            && let Some(last) = steps.last()
        {
            let told = self.update(last, last.iteration, false, self.progress.now()).await;
            self.again_if_gone(told)?;
            self.told_at = Instant::now();
        }
        Ok(())
    }

    /// A store that has lost the run is told all of it again at the next report.
    fn again_if_gone(&mut self, told: Result<(), Error>) -> Result<(), Error> {
        if matches!(told, Err(Error::TraceNotFound { .. } | Error::StepMissing { .. })) {
            self.told.clear();
            return Ok(());
        }
        told
    }

    /// Tells that the command failed. Nothing is learned from it.
    async fn fail(&mut self, steps: &[Stage], end: Option<CommandEnd>) -> Result<(), Error> {
        self.catch_up(steps).await?;
        let failure = TraceFailure {
            at: self.progress.now(),
            exit_code: end.filter(|end| end.signal.is_none()).map(|end| u64::from(end.code)),
            signal: end.and_then(|end| end.signal),
        };
        let (bar, uid) = (self.bar.as_str(), self.uid.as_str());
        self.progress.fail_trace(&self.user, bar, uid, failure).await
    }

    /// What is not told now is told later, so one word about it is enough.
    fn warn(&mut self, reason: &str) {
        if !std::mem::replace(&mut self.has_warned, true) {
            warn(format_args!("others cannot see this run for now, as the store failed: {reason}"));
        }
    }

    /// Tells everything that has happened since the last time; all of it when the store has lost the run meanwhile.
    async fn catch_up(&mut self, steps: &[Stage]) -> Result<(), Error> {
        match self.catch_up_once(steps).await {
            Err(Error::TraceNotFound { .. } | Error::StepMissing { .. }) => {
                self.told.clear();
                self.catch_up_once(steps).await
            }
            told => told,
        }
    }

    async fn catch_up_once(&mut self, steps: &[Stage]) -> Result<(), Error> {
        if self.told.first().map(|first| &first.name) != steps.first().map(|first| &first.name) {
            self.told.clear();
        }
        for (at, step) in steps.iter().enumerate() {
            match self.told.get(at) {
                Some(told) if told == step => continue,
                Some(told) if told.iterations != step.iterations => self.recount(step).await?,
                Some(_) => {}
                None if at == 0 => self.create(step).await?,
                None => self.update(step, 0, false, self.start + step.began).await?,
            }
            // A step that is over was closed by the one after it.
            if at + 1 == steps.len() && step.iteration > 0 && step.iterations.is_some() {
                self.update(step, step.iteration, false, self.progress.now()).await?;
            }
            self.told.truncate(at);
            self.told.push(step.clone());
            self.told_at = Instant::now();
        }
        Ok(())
    }

    /// Tells the end, and lets the bar learn from it at once: nobody else may be there to do so.
    async fn finish(&mut self, steps: &[Stage]) -> Result<(), Error> {
        self.catch_up(steps).await?;
        if !self.is_known {
            let config = StepConfig::default();
            let made = self.progress.create_bar(
                &self.user,
                self.bar.as_str(),
                BarSettings::EVERY_RUN,
                config,
            );
            match made.await {
                Ok(_) | Err(Error::BarExists { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        let last = steps.last().expect("there is one from the start");
        let iteration = last.iterations.unwrap_or(0);
        let update = self.update_of(last, iteration, true, self.progress.now());
        match self.progress.finish_trace(&self.user, &update).await {
            // An earlier attempt got through, and only its answer was lost.
            Err(Error::TraceCompleted { .. }) => Ok(()),
            finished => finished.map(drop),
        }
    }

    async fn create(&self, step: &Stage) -> Result<(), Error> {
        let new = NewTrace {
            pbar_name: self.bar.to_string(),
            uid: self.uid.to_string(),
            step_name: step.name.clone(),
            iterations: step.iterations,
            now: self.start + step.began,
            reports_every: Some(REPORT_EVERY.as_secs()),
        };
        self.progress.create_trace(&self.user, &new).await
    }

    async fn recount(&self, step: &Stage) -> Result<(), Error> {
        let (bar, uid) = (self.bar.as_str(), self.uid.as_str());
        self.progress.recount_step(&self.user, bar, uid, &step.name, step.iterations).await
    }

    async fn update(
        &self,
        step: &Stage,
        iteration: u64,
        done: bool,
        now: f64,
    ) -> Result<(), Error> {
        self.progress.update_trace(&self.user, &self.update_of(step, iteration, done, now)).await
    }

    fn update_of(&self, step: &Stage, iteration: u64, done: bool, now: f64) -> Update {
        Update {
            pbar_name: self.bar.to_string(),
            trace_uid: self.uid.to_string(),
            step_name: step.name.clone(),
            iteration: step.iterations.map(|_| iteration),
            iterations: step.iterations,
            done,
            now,
        }
    }
}
