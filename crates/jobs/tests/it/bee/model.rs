//! Random lives of many jobs in simulated time, held against a plain model after every step.
//!
//! Submits, claims, reservations, ends of all kinds, cancels, restarts, changes of what waits, changed limits, silent and slow workers and clock jumps by
//! the thousand. No job may be lost, end twice, or run on two live workers; dependants are released once; limits and
//! the order of the queue hold; the keyspace is as declared, and empty when everything has expired.
//!
//! `KEYRACK_SEED=n` repeats one run, `KEYRACK_SEEDS=n` makes as many others. A run that fails is cut down to the
//! shortest one that still does.
//!
//! In reading order: `steps` is what can happen, `facts`, `deadlines`, `unique`, `reserved`,
//! `changes`, `limits` and `named` what must follow, `world`, `crew` and `reservations` make the
//! steps, `seen` reads the store, `check` and `history` compare, `listener` listens, `finale` ends
//! a run.

mod changes;
mod check;
mod crew;
mod deadlines;
mod facts;
mod finale;
mod history;
mod limits;
mod listener;
mod named;
mod random;
mod reservations;
mod reserved;
mod seen;
mod steps;
mod unique;
mod world;

use std::sync::{
    Mutex,
    atomic::{AtomicU64, Ordering},
};

pub(super) use random::Random;
use steps::{Plan, Step};
use world::World;

const SEEDS: u64 = 1_000;
const STEPS: usize = 80;
const THREADS: usize = 2;
/// Runs that the search for a shorter one may take.
const SHRINK_RUNS_MAX: usize = 400;

fn setting(name: &str) -> Option<u64> {
    std::env::var(name)
        .ok()
        .map(|text| text.parse().unwrap_or_else(|_| panic!("{name} is a number")))
}

#[test]
fn whatever_happens_no_job_is_lost_or_ends_twice() {
    if let Some(seed) = setting("KEYRACK_SEED") {
        return judge(seed);
    }
    // The same runs each time, so that a change is judged by what it changes; who asks for more gets others.
    let (first, n) = match setting("KEYRACK_SEEDS") {
        None => (1, SEEDS),
        Some(n) => (u64::from(std::process::id()) * 1_000_003, n),
    };
    let next = AtomicU64::new(first);
    let failed: Mutex<Option<u64>> = Mutex::new(None);
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                while failed.lock().expect("no panic").is_none() {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= first + n {
                        return;
                    }
                    if run(&Plan::new(seed, STEPS), seed).is_err() {
                        *failed.lock().expect("no panic") = Some(seed);
                    }
                }
            });
        }
    });
    if let Some(seed) = failed.into_inner().expect("no panic") {
        judge(seed);
    }
}

/// What went wrong, and at which step.
struct ModelFailure {
    at: usize,
    what: String,
}

/// Makes a run from an empty store.
fn run(plan: &Plan, seed: u64) -> Result<(), ModelFailure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.expect("a runtime").block_on(async {
        let mut world = World::new(plan, seed).await;
        for (at, step) in plan.steps.iter().enumerate() {
            world.step(step).await.map_err(|what| ModelFailure { at, what })?;
        }
        let at = plan.steps.len();
        finale::finale(&mut world).await.map_err(|what| ModelFailure { at, what })
    })
}

fn judge(seed: u64) {
    let plan = Plan::new(seed, STEPS);
    let Err(trouble) = run(&plan, seed) else { return };
    let (plan, trouble) = shrink(plan, seed, trouble);
    let steps: Vec<String> = plan.steps.iter().map(|step| format!("{step:?}")).collect();
    panic!(
        "a run went wrong; repeat with KEYRACK_SEED={seed}\n{:?}, finds duplicates: {}, listens: {}\n{}\n\nthen {}",
        plan.timeouts,
        plan.finds_duplicates,
        plan.listens,
        steps.join("\n"),
        trouble.what
    );
}

/// Leaves out steps as long as the run still fails.
fn shrink(mut plan: Plan, seed: u64, mut trouble: ModelFailure) -> (Plan, ModelFailure) {
    plan.steps.truncate(trouble.at + 1);
    let (mut chunk, mut n_runs) = (plan.steps.len() / 2, 0);
    while chunk > 0 && n_runs < SHRINK_RUNS_MAX {
        let mut at = 0;
        let mut is_shorter = false;
        while at < plan.steps.len() && n_runs < SHRINK_RUNS_MAX {
            let mut fewer: Vec<Step> = plan.steps.clone();
            fewer.drain(at..(at + chunk).min(plan.steps.len()));
            let mut shorter = Plan { steps: fewer, ..plan.clone() };
            n_runs += 1;
            match run(&shorter, seed) {
                Err(found) => {
                    shorter.steps.truncate(found.at + 1);
                    (plan, trouble, is_shorter) = (shorter, found, true);
                }
                Ok(()) => at += chunk,
            }
        }
        if !is_shorter {
            chunk /= 2;
        }
    }
    (plan, trouble)
}
