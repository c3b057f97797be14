//! The engine against a real redis-server: random commands, every reply and the whole keyspace compared.
//!
//! `KEYRACK_SEED=n` repeats one run, `KEYRACK_COMMANDS=1000000` makes the test longer. A difference is shrunk to
//! the shortest run that still shows it. Differences that are meant are listed in the crate's documentation.

mod compare;
mod forms;
mod grammar;
mod steps;
mod world;

use steps::{Step, show, steps};
use world::{Difference, World};

/// Commands in one run; each starts from an empty keyspace.
const RUN_LEN: usize = 500;
/// One run in so many has commands with up to 8,000 arguments and with arguments up to 1 MiB.
const LARGE_RUNS: u64 = 25;
/// Commands in such a run; each may take milliseconds.
const LARGE_RUN_LEN: usize = 150;
/// Commands altogether, unless the environment says otherwise.
const COMMANDS: usize = 200_000;
/// Characters of a difference that are shown.
const DIFFERENCE_LEN_MAX: usize = 10_000;
/// Runs that the search for a shorter one may take.
const SHRINK_RUNS_MAX: usize = 400;

fn setting(name: &str) -> Option<u64> {
    std::env::var(name)
        .ok()
        .map(|text| text.parse().unwrap_or_else(|_| panic!("{name} is a number")))
}

#[test]
fn every_reply_and_the_keyspace_equal_those_of_redis() {
    let world = World::start();
    // The same commands each time, so that a change is judged by what it changes; a longer search,
    // which somebody asks for to find more, begins elsewhere each time.
    let (n, first) = match (setting("KEYRACK_COMMANDS"), setting("KEYRACK_SEED")) {
        (None, None) => (COMMANDS as u64, 1),
        (None, Some(seed)) => return check(&world, seed),
        (Some(n), Some(seed)) => (n, seed),
        (Some(n), None) => (n, std::process::id() as u64 * 1_000_003),
    };
    let mut n_run = 0;
    for seed in first.. {
        if n_run >= n {
            break;
        }
        check(&world, seed);
        n_run += run_len(seed) as u64;
    }
    crate::say(&format!("{n_run} commands"));
}

/// Prints the seed when the test panics elsewhere than at a difference, as when a server hangs.
struct SeedOfPanic(u64);

impl Drop for SeedOfPanic {
    fn drop(&mut self) {
        if std::thread::panicking() {
            crate::say(&format!("repeat with KEYRACK_SEED={}", self.0));
        }
    }
}

fn is_large(seed: u64) -> bool {
    seed.is_multiple_of(LARGE_RUNS)
}

fn run_len(seed: u64) -> usize {
    if is_large(seed) { LARGE_RUN_LEN } else { RUN_LEN }
}

fn check(world: &World, seed: u64) {
    let _announced = SeedOfPanic(seed);
    let steps = steps(seed, run_len(seed), is_large(seed));
    if let Err(first) = world.run(&steps) {
        let (steps, difference) = shrink(world, &steps[..steps.len().min(first.at + 1)], first);
        let shown: Vec<String> = steps.iter().map(show).collect();
        panic!(
            "the engine differs from redis; repeat with KEYRACK_SEED={seed}\n\n{}\n\n{}",
            shown.join("\n"),
            difference.what.chars().take(DIFFERENCE_LEN_MAX).collect::<String>()
        );
    }
}

/// Leaves out steps as long as the run still shows a difference.
fn shrink(world: &World, steps: &[Step], difference: Difference) -> (Vec<Step>, Difference) {
    let (mut steps, mut difference) = (steps.to_vec(), difference);
    let mut chunk = steps.len() / 2;
    let mut n_runs = 0;
    while chunk > 0 && n_runs < SHRINK_RUNS_MAX {
        let mut at = 0;
        let mut shorter = false;
        while at < steps.len() && n_runs < SHRINK_RUNS_MAX {
            let mut fewer = steps.clone();
            fewer.drain(at..(at + chunk).min(steps.len()));
            n_runs += 1;
            match world.run(&fewer) {
                Err(found) => {
                    fewer.truncate(found.at + 1);
                    (steps, difference, shorter) = (fewer, found, true);
                }
                Ok(()) => at += chunk,
            }
        }
        if !shorter {
            chunk /= 2;
        }
    }
    (steps, difference)
}
