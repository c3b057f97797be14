//! The demo itself: the drivers of all services, and the loop that gives them their actions.

use std::{iter::Peekable, time::Duration};

use keyrack_keys::Registry;
use keyrack_store::Store;
use tokio::{sync::watch, task::JoinSet, time::Instant};

use crate::{
    calculations, clean,
    clean::{BREAKER, CLAIMABLE, CleanReport, RECOMMENDER, RECURRING},
    entitlements,
    error::Error,
    files,
    foreign_keys::survey,
    hot, jobs, journeys, limits, progress,
    random::Random,
    recommender,
    record::{RENEWED_EVERY, Record},
    recurring,
    scenario::{Action, Kind, Scenario},
    updates,
};

/// How fast and how slow it can go.
const SPEED_MIN: f64 = 0.1;
const SPEED_MAX: f64 = 100.0;

/// A demo that is forgotten ends by itself: some of what it makes is only taken away at its end.
const DAY: Duration = Duration::from_secs(86_400);

/// Who is too late by so much does not try to catch up.
const LATE_MAX: Duration = Duration::from_secs(1);

/// How the demo goes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Options {
    /// What everything follows from.
    pub seed: u64,
    /// How much faster than usual everything is.
    pub speed: f64,
    /// Whether it may run beside data of others.
    pub beside_others: bool,
    /// Whether it runs recurring jobs; not where somebody has a list of their own.
    pub recurring: bool,
    /// Whether its billing provider may fail; not where somebody has a real one, for the breaker is everybody's.
    pub outages: bool,
}

impl Default for Options {
    fn default() -> Options {
        Options { seed: 1, speed: 1.0, beside_others: false, recurring: true, outages: true }
    }
}

/// A company at work on a store.
#[derive(Debug)]
pub struct Demo {
    store: Store,
    options: Options,
    record: Record,
    claims: Vec<&'static str>,
    scenario: Peekable<Scenario>,
    drivers: Drivers,
}

#[derive(Debug)]
struct Drivers {
    jobs: jobs::Driver,
    hot: hot::Driver,
    progress: progress::Driver,
    calculations: calculations::Driver,
    entitlements: entitlements::Driver,
    limits: limits::Driver,
    files: files::Driver,
    journeys: journeys::Driver,
    updates: updates::Driver,
    /// Missing where somebody else has a recommender: its pool is one for all.
    recommender: Option<recommender::Driver>,
}

impl Demo {
    /// Opens a demo on a store, and takes away what an earlier one has left there. Nothing else is changed yet, but that the
    /// store is taken.
    ///
    /// # Errors
    /// When there is data of others, when a demo is running, or when the store fails.
    pub async fn open(store: Store, registry: &Registry, options: Options) -> Result<Demo, Error> {
        if !(SPEED_MIN..=SPEED_MAX).contains(&options.speed) {
            return Err(Error::Speed { speed: options.speed });
        }
        let record = Record::new(store.clone());
        if !record.take().await? {
            return Err(Error::Running);
        }
        match Demo::open_taken(&store, registry, options, &record).await {
            Ok((claims, drivers)) => {
                let scenario = Scenario::new(options.seed).peekable();
                Ok(Demo { store, options, record, claims, scenario, drivers })
            }
            Err(error) => {
                record.give_back().await?;
                Err(error)
            }
        }
    }

    async fn open_taken(
        store: &Store,
        registry: &Registry,
        options: Options,
        record: &Record,
    ) -> Result<(Vec<&'static str>, Drivers), Error> {
        clean::sweep(store, registry, record).await?;
        let found = survey(store, registry).await?;
        if let Some(example) = found.marked {
            return Err(Error::NamesTaken { example });
        }
        if let Some(example) = found.example.filter(|_| !options.beside_others) {
            return Err(Error::OtherData { keys: found.others, example });
        }
        let is_wanted = |owner: &&str| match *owner {
            RECURRING => options.recurring,
            BREAKER => options.outages,
            _ => true,
        };
        let free = CLAIMABLE.into_iter().filter(|owner| !found.owners.contains(owner));
        let claims: Vec<&str> = free.filter(is_wanted).collect();
        record.begin(options.seed, &claims).await?;
        let has = |claim: &str| claims.contains(&claim);
        let drivers = Drivers {
            jobs: jobs::Driver::open(store.clone(), options.speed).await?,
            hot: hot::Driver::open(store.clone()),
            progress: progress::Driver::open(store.clone()),
            calculations: calculations::Driver::open(store.clone()).await?,
            entitlements: entitlements::Driver::open(store.clone(), has(BREAKER)).await?,
            limits: limits::Driver::open(store.clone()),
            files: files::Driver::open(store.clone()),
            journeys: journeys::Driver::open(store.clone()),
            updates: updates::Driver::open(store.clone()),
            recommender: has(RECOMMENDER).then(|| recommender::Driver::open(store.clone())),
        };
        Ok((claims, drivers))
    }

    /// The entitlements as the stand-in of the billing provider knows them, for whoever serves them over HTTP.
    pub fn entitlements(&self) -> &keyrack_entitlements::Entitlements {
        self.drivers.entitlements.entitlements()
    }

    /// Creates the data of the time before the demo, so that every page shows something.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn begin(&mut self) -> Result<(), Error> {
        let seed = self.options.seed;
        let random = |purpose: &str| Random::new(seed, &format!("the past of {purpose}"));
        let drivers = &mut self.drivers;
        let recommender = async {
            match &drivers.recommender {
                Some(driver) => driver.begin(&mut random("recommender")).await,
                None => Ok(()),
            }
        };
        let mut rolls = ["jobs", "progress", "calculations", "entitlements", "files"].map(random);
        let [jobs, progress, calculations, entitlements, files] = &mut rolls;
        tokio::try_join!(
            drivers.jobs.begin(jobs),
            drivers.progress.begin(progress),
            drivers.calculations.begin(calculations),
            drivers.entitlements.begin(entitlements),
            drivers.files.begin(files),
            drivers.journeys.begin(),
            recommender,
        )?;
        Ok(())
    }

    /// Does the next things at once, whenever they are due.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn hurry(&mut self, actions: usize) -> Result<(), Error> {
        for _ in 0..actions {
            let Some(timed) = self.scenario.next() else { break };
            self.drivers.perform(timed.action).await?;
        }
        Ok(())
    }

    /// Goes on until told to stop, and for a day at most. What fails is told in the log and does not end it.
    pub async fn run(&mut self, stop: impl Future<Output = ()>) {
        let (tell, told) = watch::channel(false);
        let mut others = self.others(&told);
        tokio::select! {
            () = self.play() => {}
            () = stop => {}
        }
        tell.send_replace(true);
        while others.join_next().await.is_some() {}
    }

    /// Ends the demo and takes away what it made.
    ///
    /// # Errors
    /// When the store fails; [`clean`](crate::clean()) can be tried again.
    pub async fn clean(self, registry: &Registry) -> Result<CleanReport, Error> {
        let cleaned = clean::sweep(&self.store, registry, &self.record).await;
        self.record.give_back().await?;
        cleaned
    }

    /// Everybody who works on their own: workers, the scheduler, and the sign of life.
    fn others(&self, told: &watch::Receiver<bool>) -> JoinSet<()> {
        let told = || {
            let mut told = told.clone();
            // An error says that nobody is left who could tell.
            async move { drop(told.wait_for(|stop| *stop).await) }
        };
        let mut others = JoinSet::new();
        others.spawn(said("jobs", self.drivers.jobs.clone().work(told())));
        others.spawn(said("the hot queue", self.drivers.hot.clone().work(told())));
        if self.claims.contains(&RECURRING) {
            others.spawn(said("the calendar", recurring::schedule(self.store.clone(), told())));
        }
        if let Some(driver) = self.drivers.recommender.clone() {
            others.spawn(said("the recommender", driver.learn(self.options.seed, told())));
        }
        let (record, told) = (self.record.clone(), told());
        others.spawn(async move {
            tokio::select! { () = stay_alive(record) => {}, () = told => {} }
        });
        others
    }

    async fn play(&mut self) {
        let mut began = Instant::now();
        loop {
            let Some(timed) = self.scenario.next() else { return };
            if timed.at > DAY {
                tracing::warn!("the demo has run for a day, and ends");
                return;
            }
            let due = began + timed.at.div_f64(self.options.speed);
            tokio::time::sleep_until(due).await;
            let late = due.elapsed();
            if late > LATE_MAX {
                began += late;
            }
            if let Err(error) = self.drivers.perform(timed.action).await {
                tracing::warn!(error = chain(&error), "the demo could not do something");
            }
        }
    }
}

impl Drivers {
    async fn perform(&mut self, action: Action) -> Result<(), Error> {
        match action.0 {
            Kind::Jobs(action) => self.jobs.perform(action).await,
            Kind::Hot(action) => self.hot.perform(action).await,
            Kind::Progress(action) => self.progress.perform(action).await,
            Kind::Calculations(action) => self.calculations.perform(action).await,
            Kind::Entitlements(action) => self.entitlements.perform(action).await,
            Kind::Limits(action) => self.limits.perform(action).await,
            Kind::Files(action) => self.files.perform(action).await,
            Kind::Journeys(action) => self.journeys.perform(action).await,
            Kind::Updates(action) => self.updates.perform(action).await,
            Kind::Recommender(action) => match &self.recommender {
                Some(driver) => driver.perform(action).await,
                None => Ok(()),
            },
        }
    }
}

async fn stay_alive(record: Record) {
    loop {
        tokio::time::sleep(RENEWED_EVERY).await;
        if let Err(error) = record.renew().await {
            tracing::warn!(error = chain(&error), "the demo could not say that it runs");
        }
    }
}

/// Tells in the log why somebody stopped working.
async fn said(who: &'static str, work: impl Future<Output = Result<(), Error>>) {
    if let Err(error) = work.await {
        tracing::warn!(who, error = chain(&error), "somebody in the demo has stopped working");
    }
}

/// An error with what it came from, on one line.
fn chain(error: &Error) -> String {
    let mut text = error.to_string();
    let mut source = std::error::Error::source(error);
    while let Some(error) = source {
        text = format!("{text}: {error}");
        source = error.source();
    }
    text
}
