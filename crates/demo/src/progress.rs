//! Progress bars: imports, renderings and backups, each step as long as it happens to be.

use std::time::Duration;

use keyrack_jobs::hot;
use keyrack_progress::{NewTrace, Update};
use keyrack_store::Store;

use crate::{
    agenda::{Agenda, Plan},
    error::Error,
    people::Person,
    random::Random,
    scenario::TimedAction,
};

/// A bar: its steps, each with a number of iterations, if any, and how long one of them takes in milliseconds.
#[derive(Debug, PartialEq)]
pub(crate) struct Bar {
    name: &'static str,
    steps: &'static [(&'static str, u64, u64)],
}

const BARS: [Bar; 3] = [
    Bar {
        name: "import customers",
        steps: &[("connect", 0, 800), ("rows", 40, 250), ("tidy up", 0, 1_500)],
    },
    Bar {
        name: "render episode",
        steps: &[("decode", 0, 2_000), ("frames", 60, 300), ("upload", 12, 400)],
    },
    Bar {
        name: "nightly backup",
        steps: &[("snapshot", 0, 3_000), ("copy", 25, 600), ("verify", 25, 200)],
    },
];

/// How many past runs each bar has learned from when the demo starts.
const PAST_RUNS: u64 = 20;
/// So many people have bars.
const OWNERS: u64 = 4;
/// How long ago past runs may have begun: from further back the store would not believe a client's clock.
const PAST_MAX_S: f64 = 280.0;

/// What is done: a report about a run.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Action {
    owner: Person,
    bar: &'static str,
    run: u64,
    report: Report,
}

#[derive(Debug, Clone, PartialEq)]
enum Report {
    Begins { step: &'static str, iterations: Option<u64> },
    Goes { step: &'static str, iteration: Option<u64>, iterations: Option<u64> },
    Ends { step: &'static str, iterations: Option<u64> },
}

/// The plan.
#[derive(Debug, Default)]
pub(crate) struct Progress {
    agenda: Agenda,
    next_run_at: Duration,
    runs: u64,
}

impl Plan for Progress {
    fn next(&mut self, random: &mut Random) -> TimedAction {
        loop {
            if self.agenda.next_at().is_some_and(|at| at < self.next_run_at)
                && let Some(timed) = self.agenda.take()
            {
                return timed;
            }
            let at = self.next_run_at;
            let (bar, owner) = (random.pick(&BARS), Person(random.below(OWNERS)));
            self.runs += 1;
            for (after, report) in course(bar, random) {
                let action = Action { owner, bar: bar.name, run: self.runs, report };
                self.agenda.enter(at + after, action);
            }
            // The first ones at once, so that there is something to watch.
            let pause = if self.runs < 4 { 200 } else { random.between(3_000, 9_000) };
            self.next_run_at += Duration::from_millis(pause);
        }
    }
}

/// A run through a bar: some are slow, and every step is a little different.
fn course(bar: &Bar, random: &mut Random) -> Vec<(Duration, Report)> {
    let pace = if random.percent(15) { random.between(150, 220) } else { random.between(80, 120) };
    let (mut at, mut reports) = (Duration::ZERO, Vec::new());
    let last = bar.steps.len() - 1;
    for (place, (step, iterations, takes_ms)) in bar.steps.iter().enumerate() {
        let total = (*iterations > 0).then_some(*iterations);
        if place == 0 {
            reports.push((at, Report::Begins { step, iterations: total }));
        } else {
            reports
                .push((at, Report::Goes { step, iteration: total.map(|_| 0), iterations: total }));
        }
        for iteration in 1..=(*iterations).max(1) {
            at += Duration::from_millis(takes_ms * pace * random.between(80, 120) / 10_000);
            if total.is_some() && (place < last || iteration < *iterations) {
                reports.push((
                    at,
                    Report::Goes { step, iteration: Some(iteration), iterations: total },
                ));
            }
        }
        if place == last {
            reports.push((at, Report::Ends { step, iterations: total }));
        }
    }
    reports
}

/// Where runs are reported.
#[derive(Debug, Clone)]
pub(crate) struct Driver {
    progress: keyrack_progress::Progress,
}

impl Driver {
    pub(crate) fn open(store: Store) -> Driver {
        Driver { progress: keyrack_progress::Progress::open(store, hot::keys::hot()) }
    }

    /// Lets bars learn from runs of the last minutes.
    pub(crate) async fn begin(&self, random: &mut Random) -> Result<(), Error> {
        let now = self.progress.now();
        for (place, bar) in BARS.iter().enumerate() {
            let owner = Person(place as u64 % OWNERS);
            for run in 0..PAST_RUNS {
                let reports = course(bar, random);
                let took = reports.last().map_or(Duration::ZERO, |(at, _)| *at).as_secs_f64();
                let began = now
                    - took
                    - random.below(1_000) as f64 / 1_000.0 * (PAST_MAX_S - took).max(0.0);
                for (after, report) in thinned(reports) {
                    let action = Action { owner, bar: bar.name, run: run + 1_000_000, report };
                    self.report(action, began + after.as_secs_f64()).await?;
                }
            }
        }
        Ok(())
    }

    pub(crate) async fn perform(&self, action: Action) -> Result<(), Error> {
        let now = self.progress.now();
        self.report(action, now).await
    }

    async fn report(&self, action: Action, now: f64) -> Result<(), Error> {
        let (user, pbar_name) = (action.owner.sub()?, action.bar.to_owned());
        let uid = format!("run-{}", action.run);
        let (step, iteration, iterations, done) = match action.report {
            Report::Begins { step, iterations } => {
                let step_name = step.to_owned();
                let new =
                    NewTrace { pbar_name, uid, step_name, iterations, now, reports_every: None };
                return Ok(self.progress.create_trace(&user, &new).await?);
            }
            Report::Goes { step, iteration, iterations } => (step, iteration, iterations, false),
            Report::Ends { step, iterations } => (step, iterations, iterations, true),
        };
        let (trace_uid, step_name) = (uid, step.to_owned());
        let update = Update { pbar_name, trace_uid, step_name, iteration, iterations, done, now };
        if done {
            // Counted here and now: nobody else may be working on the hot queue.
            self.progress.finish_trace(&user, &update).await?;
        } else {
            self.progress.update_trace(&user, &update).await?;
        }
        Ok(())
    }
}

/// Without the iterations in the middle of a step, from which nothing is learned once it is over.
fn thinned(reports: Vec<(Duration, Report)>) -> impl Iterator<Item = (Duration, Report)> {
    reports.into_iter().filter(|(_, report)| match report {
        Report::Goes { iteration: Some(iteration), iterations: Some(iterations), .. } => {
            *iteration == 0 || iteration == iterations
        }
        _ => true,
    })
}
