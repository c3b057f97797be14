//! Tells the store how far a command is, without ever holding it up.

use std::{sync::Arc, time::Duration};

use keyrack_keys::UserSub;
use keyrack_progress::{
    BarSettings, Error, NewTrace, Progress, Sampling, StepConfig, Update,
    estimate::Model,
    keys::{BarName, TraceUid},
};
use tokio::{
    sync::oneshot,
    time::{MissedTickBehavior, interval, timeout},
};

use super::{
    course::{Shared, Stage},
    warn,
};

/// How often the store is told at most: often enough for eyes, seldom enough for a command that ticks a million times.
const EVERY: Duration = Duration::from_millis(250);
/// How long it may take to tell; then it is tried again.
const PATIENCE: Duration = Duration::from_secs(5);
/// Of a command that people run, every run is kept until there are a hundred, for a quarter of a year.
const SETTINGS: BarSettings = BarSettings {
    sampling_max_count: 100,
    sampling_max_age_seconds: Some(90 * 86_400),
    sampling_technique: Sampling::SimpleRandom,
};

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
        let told = Vec::new();
        Ok(Recorder { progress, user, bar, uid, model, is_known, start, told, has_warned: false })
    }

    /// Follows a command until told of its end, and whether that was a good one.
    pub(super) async fn follow(mut self, course: Arc<Shared>, mut end: oneshot::Receiver<bool>) {
        let mut ticks = interval(EVERY);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let went_well = loop {
            tokio::select! {
                went_well = &mut end => break went_well.unwrap_or(false),
                _ = ticks.tick() => {
                    let steps = course.lock().steps().to_vec();
                    match timeout(PATIENCE, self.catch_up(&steps)).await {
                        Ok(Ok(())) => {}
                        Ok(Err(error)) => self.warn(&error.to_string()),
                        Err(_) => self.warn("it does not answer"),
                    }
                }
            }
        };
        if !went_well {
            return;
        }
        let steps = {
            let mut course = course.lock();
            course.end();
            course.steps().to_vec()
        };
        if let Err(error) = self.finish(&steps).await {
            warn(format_args!("this run is not recorded: {error}"));
        }
    }

    /// What is not told now is told later, so one word about it is enough.
    fn warn(&mut self, reason: &str) {
        if !std::mem::replace(&mut self.has_warned, true) {
            warn(format_args!("others cannot see this run for now, as the store failed: {reason}"));
        }
    }

    /// Tells everything that has happened since the last time.
    async fn catch_up(&mut self, steps: &[Stage]) -> Result<(), Error> {
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
        }
        Ok(())
    }

    /// Tells the end, and lets the bar learn from it at once: nobody else may be there to do so.
    async fn finish(&mut self, steps: &[Stage]) -> Result<(), Error> {
        self.catch_up(steps).await?;
        if !self.is_known {
            let config = StepConfig::default();
            let made = self.progress.create_bar(&self.user, self.bar.as_str(), SETTINGS, config);
            match made.await {
                Ok(_) | Err(Error::BarExists { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        let last = steps.last().expect("there is one from the start");
        let iteration = last.iterations.unwrap_or(0);
        let update = self.update_of(last, iteration, true, self.progress.now());
        self.progress.finish_trace(&self.user, &update).await.map(drop)
    }

    async fn create(&self, step: &Stage) -> Result<(), Error> {
        let new = NewTrace {
            pbar_name: self.bar.to_string(),
            uid: self.uid.to_string(),
            step_name: step.name.clone(),
            iterations: step.iterations,
            now: self.start + step.began,
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
