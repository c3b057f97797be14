//! What holds for any past and any run.
//!
//! `KEYRACK_SEED=n` repeats one run, `KEYRACK_SEEDS=n` makes as many.

use std::{env, panic};

use super::*;

const SEEDS: u64 = 60;

/// Checks a claim for many seeds; the one that fails is told.
fn for_seeds(claim: impl Fn(&mut TestRandom) + panic::RefUnwindSafe) {
    let setting = |name| env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let seeds = match setting("KEYRACK_SEED") {
        Some(seed) => seed..seed + 1,
        None => 1..setting("KEYRACK_SEEDS").unwrap_or(SEEDS) + 1,
    };
    for seed in seeds {
        let held = panic::catch_unwind(|| claim(&mut TestRandom(seed)));
        assert!(held.is_ok(), "the claim failed, as told above; repeat with KEYRACK_SEED={seed}");
    }
}

/// SplitMix64.
struct TestRandom(u64);

impl TestRandom {
    fn share(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    }

    fn below(&mut self, n: u64) -> u64 {
        (self.share() * n as f64) as u64
    }

    /// A time between a tenth of a second and some hours.
    fn seconds(&mut self) -> f64 {
        (self.share() * 12.0 - 2.3).exp()
    }

    /// A time that may make no sense at all.
    fn any_seconds(&mut self) -> f64 {
        let odd = [f64::NAN, f64::INFINITY, -1.0, 0.0, -0.0, 1e300, 1e-300, f64::NEG_INFINITY];
        if self.share() < 0.8 { self.seconds() } else { odd[self.below(odd.len() as u64) as usize] }
    }

    fn any_count(&mut self) -> u64 {
        let odd = [0, 1, u64::MAX];
        if self.share() < 0.8 { 1 + self.below(500) } else { odd[self.below(3) as usize] }
    }
}

/// A bar: for each step its usual seconds, and whether it is iterated.
struct Bar(Vec<(f64, bool)>);

impl Bar {
    fn any(dice: &mut TestRandom) -> Bar {
        let steps = 1 + dice.below(6);
        Bar((0..steps).map(|_| (dice.seconds(), dice.share() < 0.5)).collect())
    }

    fn run(&self, dice: &mut TestRandom) -> Vec<FinishedStep> {
        let speed = dice.share() - 0.5;
        let spread = dice.share();
        let steps = self.0.iter().enumerate().map(|(at, (seconds, is_iterated))| {
            let iterations = is_iterated.then(|| 1 + dice.below(300));
            let items = iterations.map_or(1.0, |n| n as f64 / 100.0);
            let factor = (speed + spread * (dice.share() - 0.5)).exp();
            FinishedStep {
                name: format!("s{at}"),
                iterations,
                seconds: seconds * items * factor,
                pace: Vec::new(),
            }
        });
        steps.collect()
    }

    /// Up to 30 past runs, and one that has come to some place.
    fn any_moment(dice: &mut TestRandom) -> (Vec<PastRun>, Running) {
        let bar = Bar::any(dice);
        let runs = 1 + dice.below(30);
        let past = (0..runs).map(|_| PastRun { steps: bar.run(dice) }).collect();
        let mut finished = bar.run(dice);
        finished.truncate(1 + dice.below(finished.len() as u64) as usize);
        let current = finished.pop().expect("at least one step");
        let share = dice.share();
        let iteration = current.iterations.map_or(0, |n| (n as f64 * share) as u64);
        let elapsed_s = current.seconds * share;
        let current = Current {
            name: current.name,
            iterations: current.iterations,
            iteration,
            reported_s: elapsed_s,
            elapsed_s,
            marks: Marks::default(),
        };
        (past, Running { finished, current })
    }
}

fn check(estimate: &Estimate) {
    let Estimate { p10, p50, p90, sureness } = *estimate;
    assert!(p10 >= 0.0 && p10 <= p50 && p50 <= p90 && p90.is_finite(), "{estimate:?}");
    assert!((0.0..=1.0).contains(&sureness), "{estimate:?}");
}

#[test]
fn estimates_make_sense_whatever_is_put_in() {
    for_seeds(|dice| {
        let bar = Bar::any(dice);
        let runs = dice.below(12);
        let broken = |dice: &mut TestRandom| {
            let mut steps = bar.run(dice);
            for step in &mut steps {
                if dice.share() < 0.2 {
                    step.seconds = dice.any_seconds();
                }
                if dice.share() < 0.2 {
                    step.iterations = step.iterations.map(|_| dice.any_count());
                }
            }
            steps
        };
        let past: Vec<PastRun> = (0..runs).map(|_| PastRun { steps: broken(dice) }).collect();
        let mut finished = broken(dice);
        let current = finished.pop().expect("at least one step");
        let current = Current {
            name: current.name,
            iterations: current.iterations,
            iteration: dice.any_count(),
            reported_s: dice.any_seconds(),
            elapsed_s: dice.any_seconds(),
            marks: Marks::default(),
        };
        let estimate = Model::learn(&past).estimate(&Running { finished, current });
        estimate.iter().for_each(check);
    });
}

#[test]
fn while_nothing_is_reported_the_expected_end_never_comes_nearer() {
    for_seeds(|dice| {
        let (past, mut running) = Bar::any_moment(dice);
        let model = Model::learn(&past);
        let start = running.spent();
        let mut last: Option<[f64; 3]> = None;
        let whole = start + model.estimate(&running).map_or(1.0, |estimate| estimate.p90);
        for _ in 0..40 {
            let Some(estimate) = model.estimate(&running) else { return };
            let now = running.spent();
            let ends = [estimate.p10, estimate.p50, estimate.p90].map(|left| now + left);
            if let Some(last) = last {
                for (end, last) in ends.iter().zip(last) {
                    assert!(*end >= last * 0.99, "{last} became {end}");
                }
            }
            last = Some(ends);
            running.current.elapsed_s += whole / 20.0;
        }
    });
}

#[test]
fn expected_end_moves_by_little_while_little_time_passes() {
    for_seeds(|dice| {
        let (past, mut running) = Bar::any_moment(dice);
        let model = Model::learn(&past);
        let Some(before) = model.estimate(&running) else { return };
        let whole = running.spent() + before.p90;
        running.current.elapsed_s *= 1.001;
        let after = model.estimate(&running).expect("there was one");
        assert!((after.p50 - before.p50).abs() < 0.01 * whole, "{before:?} became {after:?}");
    });
}

#[test]
fn expected_end_of_an_ordinary_loop_hardly_moves() {
    for_seeds(|dice| {
        let each = dice.seconds();
        // Of very uneven runs, short ones may be slow by chance, which looks like a set-up.
        let run = |dice: &mut TestRandom, unevenness: f64| {
            let n = 20 + dice.below(300);
            let seconds = each * n as f64 * (1.0 + unevenness * (dice.share() - 0.5));
            FinishedStep { name: "copy".into(), iterations: Some(n), seconds, pace: Vec::new() }
        };
        let past = (0..20).map(|_| PastRun { steps: vec![run(dice, 0.3)] });
        let model = Model::learn(&past.collect::<Vec<_>>());
        let step = run(dice, 0.0);
        let whole = step.seconds;
        // The first iterations are news, as the pace is not known before.
        let ends = (4..40).map(|moment| {
            let running = after(&step, whole * f64::from(moment) / 40.0);
            running.spent() + model.estimate(&running).expect("there is a past").p50
        });
        let ends: Vec<f64> = ends.collect();
        for pair in ends.windows(2) {
            assert!((pair[1] - pair[0]).abs() < 0.06 * whole, "{ends:?} of {whole}");
        }
        let last = ends[ends.len() - 1] / whole;
        assert!((0.98..1.05).contains(&last), "{ends:?} of {whole}");
    });
}

/// A run with a single step as it is after some seconds, at an even pace.
fn after(step: &FinishedStep, elapsed_s: f64) -> Running {
    let each = step.seconds / step.iterations.expect("an iterated step") as f64;
    let iteration = (elapsed_s / each) as u64;
    let current = Current {
        name: step.name.clone(),
        iterations: step.iterations,
        iteration,
        reported_s: iteration as f64 * each,
        elapsed_s,
        marks: Marks::default(),
    };
    Running { finished: Vec::new(), current }
}

#[test]
fn times_have_no_preferred_unit() {
    for_seeds(|dice| {
        let (mut past, mut running) = Bar::any_moment(dice);
        // Milliseconds are not told apart; so first, none of them matter.
        let [before, after] = [100.0, 60.0].map(|factor| {
            let past_steps = past.iter_mut().flat_map(|run| &mut run.steps);
            past_steps.chain(&mut running.finished).for_each(|step| step.seconds *= factor);
            running.current.elapsed_s *= factor;
            running.current.reported_s *= factor;
            Model::learn(&past).estimate(&running)
        });
        let (Some(before), Some(after)) = (before, after) else { return };
        assert!((after.p50 / 60.0 / before.p50 - 1.0).abs() < 0.02, "{before:?} became {after:?}");
        assert!((after.sureness - before.sureness).abs() < 0.02, "{before:?} became {after:?}");
    });
}

#[test]
fn same_question_has_the_same_answer() {
    for_seeds(|dice| {
        let (past, running) = Bar::any_moment(dice);
        let answer = || Model::learn(&past).estimate(&running);
        assert_eq!(answer(), answer());
    });
}
