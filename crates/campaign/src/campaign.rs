//! Rounds of faults on all stores at once, until the time is over.

use std::{
    collections::hash_map::DefaultHasher,
    hash::{Hash as _, Hasher as _},
    panic::AssertUnwindSafe,
    sync::mpsc::{Sender, channel},
    thread,
    time::{Duration, Instant},
};

use anyhow::Result;
use fastrand::Rng;
use futures_util::FutureExt as _;

use crate::{
    deployment::{Deployment, Outcome},
    fault::{Fault, Selection, StoreKind, selected},
    store::{Cluster, Embedded, SentinelGroup, Servers, Standalone},
    table::Table,
};

/// What to run.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) length: Duration,
    pub(crate) seed: u64,
    pub(crate) selection: Vec<Selection>,
}

/// What came of one fault, or why that could not be found out.
type Message = (StoreKind, Fault, Result<Outcome, String>);

/// Runs the campaign. Each store has a thread and a runtime of its own, so that faults may block it.
///
/// # Errors
/// When a thread cannot be started.
pub(crate) fn run(plan: &Plan) -> Result<Table> {
    println!("seed {}, {} minutes; repeat with --seed {0}", plan.seed, plan.length.as_secs() / 60);
    let began = Instant::now();
    let mut table = Table::default();
    let (sender, outcomes) = channel();
    thread::scope(|scope| {
        for store in StoreKind::ALL {
            let faults = selected(store, &plan.selection);
            let rounds = Rounds { store, faults, plan, began, outcomes: sender.clone() };
            if !rounds.faults.is_empty() {
                scope.spawn(move || rounds.run_on_runtime());
            }
        }
        drop(sender);
        for (store, fault, outcome) in outcomes {
            let seconds = began.elapsed().as_secs();
            print!("[{:>2}:{:02}] ", seconds / 60, seconds % 60);
            println!("{}", table.add(store, fault, outcome));
        }
    });
    table.ran_for = began.elapsed();
    Ok(table)
}

struct Rounds<'a> {
    store: StoreKind,
    faults: Vec<Fault>,
    plan: &'a Plan,
    began: Instant,
    outcomes: Sender<Message>,
}

impl Rounds<'_> {
    fn run_on_runtime(self) {
        let mut runtime = tokio::runtime::Builder::new_multi_thread();
        let runtime = runtime.worker_threads(2).enable_all().build().expect("a runtime");
        match self.store {
            StoreKind::Standalone => runtime.block_on(self.run::<Standalone>()),
            StoreKind::Embedded => runtime.block_on(self.run::<Embedded>()),
            StoreKind::Sentinel => runtime.block_on(self.run::<SentinelGroup>()),
            StoreKind::Cluster => runtime.block_on(self.run::<Cluster>()),
        }
    }

    /// One round, and more as long as another one will probably fit.
    async fn run<S: Servers>(self) {
        let mut longest = Duration::ZERO;
        for round in 0_u64.. {
            let began = Instant::now();
            if round > 0 && self.began.elapsed() + longest > self.plan.length {
                return;
            }
            self.run_round::<S>(&mut self.random(round)).await;
            longest = longest.max(began.elapsed());
        }
    }

    /// All faults on one deployment; a fault that breaks it gets the next ones a new one.
    async fn run_round<S: Servers>(&self, random: &mut Rng) {
        let mut deployment: Option<Deployment<S>> = None;
        for &fault in &self.faults {
            let running = async {
                let deployment = match &mut deployment {
                    Some(deployment) => deployment,
                    none => none.insert(Deployment::start().await?),
                };
                deployment.undergo(fault, random).await
            };
            let outcome = match AssertUnwindSafe(running).catch_unwind().await {
                Ok(Ok(outcome)) => Ok(outcome),
                Ok(Err(error)) => Err(format!("{error:#}")),
                Err(panic) => Err(panic_text(&*panic)),
            };
            if !outcome.as_ref().is_ok_and(Outcome::is_whole) {
                deployment = None;
            }
            let _ = self.outcomes.send((self.store, fault, outcome));
        }
    }

    fn random(&self, round: u64) -> Rng {
        let mut hasher = DefaultHasher::new();
        (self.plan.seed, self.store.name(), round).hash(&mut hasher);
        Rng::with_seed(hasher.finish())
    }
}

fn panic_text(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "a panic".to_owned())
}
