//! Random traces, held after every step against a plain model of what should have become of them.
//!
//! `KEYRACK_SEED=n` repeats one run.

mod facts;
mod random;

use keyrack_progress::{NewTrace, Progress, Update};
use keyrack_store::ServiceError as _;
use keyrack_testkit::simulated_store;

pub(crate) use self::random::Random;

use self::facts::Facts;
use crate::rig::{BAR, NOW_MS, ProgressTest, everywhere, hot_queue, user};

const SEEDS: u64 = 300;
const SEEDS_ON_EVERY_STORE: u64 = 3;
const STEPS: usize = 120;

const UIDS: [&str; 3] = ["a", "b", "c"];
const NAMES: [&str; 4] = ["open", "read", "x:y", "default"];
const ITERATIONS: [Option<u64>; 4] = [None, None, Some(2), Some(5)];

#[tokio::test]
async fn any_updates_do_what_the_rules_say() {
    let seeds = match std::env::var("KEYRACK_SEED") {
        Ok(seed) => vec![seed.parse().expect("KEYRACK_SEED is a number")],
        Err(_) => (1..=SEEDS).collect::<Vec<u64>>(),
    };
    let mut met = std::collections::BTreeSet::new();
    for seed in seeds.iter().copied() {
        let (store, clock) = simulated_store(NOW_MS, seed).await;
        let progress = Progress::seeded(store, hot_queue(), seed);
        let rig = ProgressTest { progress, clock, user: user("alice") };
        met.extend(run(&rig, seed, Expiry::ByOurClock).await);
        rig.assert_as_declared().await;
    }
    if seeds.len() > 1 {
        let words = [
            "accepted",
            "backwards_progress",
            "counted",
            "dropped",
            "invalid",
            "missing_start_time",
            "retained",
            "step_changed",
            "step_name_reserved",
            "step_repeated",
            "trace_completed",
            "trace_not_found",
        ];
        assert_eq!(met.into_iter().collect::<Vec<_>>(), words, "all that can happen has");
    }
}

#[tokio::test]
async fn any_updates_do_what_the_rules_say_on_every_store() {
    everywhere(async |rig| {
        for seed in 1..=SEEDS_ON_EVERY_STORE {
            run(&rig.of(&format!("user {seed}")), seed, Expiry::ByTheServers).await;
        }
    })
    .await;
}

/// Whose clock says when keys expire. By that of a server none does in the short time of a test.
#[derive(Clone, Copy, PartialEq)]
enum Expiry {
    ByOurClock,
    ByTheServers,
}

/// Makes a run; returns the words for what happened.
async fn run(rig: &ProgressTest, seed: u64, expiry: Expiry) -> Vec<&'static str> {
    let mut random = Random::new(seed);
    let mut facts = Facts::default();
    let mut words = Vec::new();
    for step in 0..STEPS {
        let pause_ms = if random.once_in(30) { 4_000_000 } else { 20_000 };
        rig.clock.advance_ms(random.below(pause_ms) as u64);
        if expiry == Expiry::ByOurClock {
            facts.expire(rig.progress.now());
        }
        let uid = random.pick(&UIDS);
        let (said, expected) = match random.below(10) {
            0 => create(rig, &mut random, &mut facts, uid).await,
            1 | 2 => count(rig, &mut facts, uid).await,
            _ => update(rig, &mut random, &mut facts, uid).await,
        };
        let place = format!("KEYRACK_SEED={seed}, step {step}, trace {uid}");
        assert_eq!(said, expected, "{place}");
        words.push(said);
        for uid in UIDS {
            assert_eq!(rig.find(uid).await, facts.trace(uid), "{place}: {uid}");
        }
        assert_eq!(facts::Seen::read(rig).await, facts.seen(), "{place}");
    }
    words
}

type Words = (&'static str, &'static str);

async fn create(rig: &ProgressTest, random: &mut Random, facts: &mut Facts, uid: &str) -> Words {
    let new = NewTrace {
        pbar_name: BAR.into(),
        uid: uid.into(),
        step_name: random.pick(&NAMES).into(),
        iterations: random.pick(&ITERATIONS),
        now: client_time(rig, random),
        reports_every: None,
    };
    let said = rig.create(&new).await;
    let expected = facts.create(&new, rig.progress.now());
    (said.map_or_else(|error| error.code(), |()| "accepted"), expected)
}

async fn update(rig: &ProgressTest, random: &mut Random, facts: &mut Facts, uid: &str) -> Words {
    let mut update = Update {
        pbar_name: BAR.into(),
        trace_uid: uid.into(),
        step_name: random.pick(&NAMES).into(),
        iteration: None,
        iterations: random.pick(&ITERATIONS),
        done: random.once_in(4),
        now: client_time(rig, random),
    };
    if random.once_in(2) {
        facts.make_plausible(&mut update);
    }
    update.iteration = match (update.iterations, update.done) {
        _ if random.once_in(20) => Some(random.below(7) as u64),
        (None, _) => None,
        (Some(iterations), true) => Some(iterations),
        (Some(iterations), false) => Some(random.below(iterations as usize + 1) as u64),
    };
    let said = rig.update(&update).await;
    let expected = facts.update(&update, rig.progress.now());
    (said.map_or_else(|error| error.code(), |()| "accepted"), expected)
}

async fn count(rig: &ProgressTest, facts: &mut Facts, uid: &str) -> Words {
    let handled = rig.count(uid).await;
    (facts::word_for(&handled), facts.count(uid, rig.progress.now()))
}

/// A client's clock, which is sometimes off.
fn client_time(rig: &ProgressTest, random: &mut Random) -> f64 {
    let off = random.pick(&[0.0, 0.0, 0.25, -0.5, 299.0, -299.0, 301.0, -301.0]);
    rig.progress.now() + off
}
