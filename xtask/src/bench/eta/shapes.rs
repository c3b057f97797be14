//! Bars drawn at random from a wide family: steps, the pace inside them, and how runs differ are all left to chance.

use super::{
    dice::Dice,
    recorded::{Recorded, RecordedStep},
};

/// What stands out in a bar; all else is drawn alike for each.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Trait {
    Even,
    Uneven,
    PowerLaw,
    Stalls,
    Modes,
    Drift,
    Turns,
}

impl Trait {
    pub(super) const ALL: [Trait; 7] = [
        Trait::Even,
        Trait::Uneven,
        Trait::PowerLaw,
        Trait::Stalls,
        Trait::Modes,
        Trait::Drift,
        Trait::Turns,
    ];

    pub(super) fn name(self) -> &'static str {
        match self {
            Trait::Even => "items of one size",
            Trait::Uneven => "items of many sizes",
            Trait::PowerLaw => "items by a power law",
            Trait::Stalls => "stalls",
            Trait::Modes => "modes of runs",
            Trait::Drift => "drift from run to run",
            Trait::Turns => "pace turns inside runs",
        }
    }
}

/// A step of a bar.
struct Step {
    seconds: f64,
    /// The usual number of iterations; none for a one-off step.
    iterations: Option<f64>,
    /// How much its number differs from run to run.
    counts: f64,
    set_up: f64,
    /// The logarithm of the pace at even distances from the start to the end.
    shape: Vec<f64>,
    /// How much single items and whole steps differ.
    single: f64,
    whole: f64,
    /// How much of the run's own speed it feels.
    loading: f64,
}

/// A bar of the family.
pub(super) struct Shape {
    is: Trait,
    dice: Dice,
    steps: Vec<Step>,
    speed: f64,
    /// What runs are multiplied by in each mode, and how probable the second is.
    modes: [f64; 2],
    second: f64,
    /// How much longer each run is than the one before, and how far the level wanders.
    grows: f64,
    wanders: f64,
    level: f64,
    tail: f64,
    stall: [f64; 2],
}

impl Shape {
    pub(super) fn draw(is: Trait, seed: u64) -> Shape {
        let mut dice = Dice::new(seed);
        let count = if dice.chance(0.4) { 1 } else { dice.whole(2, 6) };
        let steps = (0..count).map(|_| Step::draw(is, count == 1, &mut dice)).collect();
        Shape {
            is,
            steps,
            speed: dice.magnitude(0.02, 0.3),
            modes: [1.0, dice.magnitude(1.4, 4.0)],
            second: dice.between(0.2, 0.5),
            grows: dice.between(-0.04, 0.06),
            wanders: dice.between(0.02, 0.15),
            level: 0.0,
            tail: dice.between(1.3, 2.5),
            stall: [dice.magnitude(0.005, 0.05), dice.magnitude(5.0, 40.0)],
            dice,
        }
    }

    /// The next run.
    pub(super) fn run(&mut self) -> Recorded {
        if self.is == Trait::Drift {
            self.level += self.grows + self.dice.normal(self.wanders);
        }
        let mode = match self.is {
            Trait::Modes if self.dice.chance(self.second) => self.modes[1],
            _ => self.modes[0],
        };
        let speed = self.level + self.dice.normal(self.speed) + mode.ln();
        let turn = (self.dice.share(), self.dice.normal(0.6));
        let (mut now, mut run) = (0.0, Recorded::default());
        for at in 0..self.steps.len() {
            let step = self.step(at, now, speed, turn);
            now = step.end;
            run.steps.push(step);
        }
        run
    }

    fn step(&mut self, at: usize, start: f64, speed: f64, turn: (f64, f64)) -> RecordedStep {
        let (dice, step) = (&mut self.dice, &self.steps[at]);
        let factor = (speed * step.loading).exp() * dice.noise(step.whole);
        let Some(usual) = step.iterations else {
            return RecordedStep { start, end: start + step.seconds * factor, ticks: None };
        };
        let n = (usual * dice.noise(step.counts)).round().max(2.0);
        let mut now = start + step.seconds * step.set_up * factor;
        let each = step.seconds * (1.0 - step.set_up) / usual * factor;
        let ticks = (0..n as usize).map(|item| {
            let along = (item as f64 + 0.5) / n;
            let turned = if self.is == Trait::Turns && along > turn.0 { turn.1 } else { 0.0 };
            let single = match self.is {
                Trait::PowerLaw => dice.pareto(self.tail),
                Trait::Stalls if dice.chance(self.stall[0]) => {
                    self.stall[1] * dice.between(0.5, 1.5)
                }
                _ => dice.noise(step.single),
            };
            now += each * (step.pace(along) + turned).exp() * single;
            now
        });
        let ticks: Vec<f64> = ticks.collect();
        RecordedStep { start, end: now, ticks: Some(ticks) }
    }
}

impl Step {
    fn draw(is: Trait, is_only: bool, dice: &mut Dice) -> Step {
        let knots = dice.whole(1, 5);
        let bends = if dice.chance(0.4) { 0.0 } else { dice.between(0.1, 0.9) };
        let single = match is {
            Trait::Uneven => dice.between(0.6, 1.5),
            _ => dice.between(0.02, 0.3),
        };
        Step {
            seconds: dice.magnitude(5.0, 120.0),
            iterations: (is_only || dice.chance(0.6)).then(|| dice.magnitude(10.0, 400.0)),
            counts: if dice.chance(0.5) { 0.0 } else { dice.between(0.05, 0.5) },
            set_up: if dice.chance(0.6) { 0.0 } else { dice.between(0.05, 0.4) },
            shape: (0..=knots).map(|_| dice.normal(bends)).collect(),
            single,
            whole: dice.magnitude(0.01, 0.2),
            loading: if dice.chance(0.8) { dice.between(0.7, 1.0) } else { 0.0 },
        }
    }

    /// The logarithm of the pace at a share of the items.
    fn pace(&self, along: f64) -> f64 {
        let at = along * (self.shape.len() - 1) as f64;
        let before = (at as usize).min(self.shape.len() - 2);
        self.shape[before] + (self.shape[before + 1] - self.shape[before]) * (at - before as f64)
    }
}
