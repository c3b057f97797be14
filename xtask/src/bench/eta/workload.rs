//! Bars whose truth is known: what their runs are made of, and how long each piece takes.

use super::dice::Dice;

/// A kind of work, of which each seed makes another bar.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Kind {
    OneOff,
    SetUp,
    Mixed,
    Drift,
    HeavyTails,
    PlainLoop,
    Alike,
}

impl Kind {
    pub(super) const ALL: [Kind; 7] = [
        Kind::OneOff,
        Kind::SetUp,
        Kind::Mixed,
        Kind::Drift,
        Kind::HeavyTails,
        Kind::PlainLoop,
        Kind::Alike,
    ];

    /// Whether it is left out of the figures over all kinds.
    pub(super) fn stands_alone(self) -> bool {
        matches!(self, Kind::PlainLoop | Kind::Alike)
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Kind::OneOff => "one-off steps",
            Kind::SetUp => "iterated steps with set-up",
            Kind::Mixed => "both kinds of steps",
            Kind::Drift => "drifting speed",
            Kind::HeavyTails => "heavy tails",
            Kind::PlainLoop => "a plain loop",
            Kind::Alike => "runs that hardly differ",
        }
    }
}

/// How the times of a step vary from one to the next.
#[derive(Clone, Copy)]
enum Noise {
    /// By this relative deviation.
    Mild(f64),
    /// By a power law of this exponent.
    Pareto(f64),
}

impl Noise {
    fn factor(self, dice: &mut Dice) -> f64 {
        match self {
            Noise::Mild(deviation) => dice.noise(deviation),
            Noise::Pareto(exponent) => dice.pareto(exponent),
        }
    }
}

/// One step of a bar.
struct Step {
    /// Seconds before the first iteration, or of a one-off step.
    set_up: f64,
    /// Seconds of an iteration.
    each: f64,
    /// The usual number of iterations; none for a one-off step.
    iterations: Option<f64>,
    /// Whether the number is that of the run's items, or one of its own.
    counts_items: bool,
    /// How much of the run's speed it feels, from 0 to 1.
    loading: f64,
    noise: Noise,
    single: Noise,
    /// How often the step gets stuck for some times its length.
    stuck: f64,
}

/// What is left of the machine's slowness from run to run while it wanders: it comes back in the end.
const HOMESICK: f64 = 0.97;

/// A bar, with a machine whose speed goes its own ways.
pub(super) struct Bar {
    steps: Vec<Step>,
    /// How much runs differ in the number of items, as a factor up and down.
    items: f64,
    /// How much the speed of runs differs, and how far it wanders from run to run.
    speed: f64,
    wander: f64,
    /// How much the speed may change within a run.
    turn: f64,
    /// The logarithm of the slowness that the wandering has come to.
    slowness: f64,
}

impl Bar {
    pub(super) fn new(kind: Kind, dice: &mut Dice) -> Bar {
        let count = match kind {
            Kind::OneOff => dice.whole(4, 8),
            Kind::PlainLoop => 1,
            Kind::Alike => dice.whole(1, 3),
            Kind::SetUp | Kind::Mixed | Kind::Drift | Kind::HeavyTails => dice.whole(2, 6),
        };
        let steps = (0..count).map(|_| Step::new(kind, dice)).collect();
        let drifts = kind == Kind::Drift;
        let (items, speed) = match kind {
            Kind::Alike => (1.0, dice.magnitude(0.0005, 0.02)),
            _ => (dice.between(1.0, 3.0), dice.between(0.05, 0.3)),
        };
        Bar {
            steps,
            items,
            speed,
            wander: if drifts { dice.between(0.05, 0.2) } else { 0.0 },
            turn: if drifts { 0.25 } else { 0.0 },
            slowness: 0.0,
        }
    }

    /// The next run.
    pub(super) fn run(&mut self, dice: &mut Dice) -> Run {
        self.slowness = self.slowness * HOMESICK + dice.normal(self.wander);
        let speed = self.slowness + dice.normal(self.speed);
        let items = dice.magnitude(1.0 / self.items, self.items);
        let turn = dice.between(-self.turn, self.turn);
        let count = self.steps.len() as f64;
        let steps = self.steps.iter().enumerate().map(|(at, step)| {
            // The speed turns step by step, and is the average on the whole.
            let slowness = speed + turn * (2.0 * (at as f64 + 0.5) / count - 1.0);
            step.run(slowness, items, turn / count, dice)
        });
        Run { steps: steps.collect() }
    }
}

impl Step {
    fn new(kind: Kind, dice: &mut Dice) -> Step {
        let is_iterated = match kind {
            Kind::OneOff => false,
            Kind::SetUp | Kind::PlainLoop => true,
            Kind::Mixed | Kind::Drift | Kind::HeavyTails => dice.chance(0.5),
            Kind::Alike => dice.chance(0.8),
        };
        let has_tail = kind == Kind::HeavyTails;
        let seconds = dice.magnitude(2.0, 60.0);
        let iterations = is_iterated.then(|| dice.magnitude(20.0, 400.0));
        let set_up = match iterations {
            None => 1.0,
            Some(_) if kind == Kind::PlainLoop => 0.0,
            Some(_) => dice.between(0.05, 0.5),
        };
        let is_alike = kind == Kind::Alike;
        let [mild, single] = match kind {
            Kind::Alike => [dice.magnitude(0.0005, 0.02), dice.magnitude(0.005, 0.2)],
            _ => [dice.between(0.02, 0.25), dice.between(0.1, 0.8)],
        };
        let [mild, single] = [mild, single].map(Noise::Mild);
        Step {
            set_up: seconds * set_up,
            each: iterations.map_or(0.0, |n| seconds * (1.0 - set_up) / n),
            iterations,
            counts_items: is_alike || dice.chance(0.7),
            loading: if dice.chance(0.75) { dice.between(0.6, 1.0) } else { 0.0 },
            noise: if has_tail && !is_iterated {
                Noise::Pareto(dice.between(1.5, 3.0))
            } else {
                mild
            },
            single: if has_tail { Noise::Pareto(dice.between(1.5, 3.0)) } else { single },
            stuck: if has_tail { 0.03 } else { 0.0 },
        }
    }

    fn run(&self, slowness: f64, items: f64, turn: f64, dice: &mut Dice) -> Piece {
        let factor = (slowness * self.loading).exp() * self.noise.factor(dice);
        let stuck = if dice.chance(self.stuck) { dice.between(2.0, 8.0) } else { 0.0 };
        let own = dice.noise(0.2);
        let iterations = self.iterations.map(|usual| {
            let n = if self.counts_items { usual * items } else { usual * own };
            n.round().max(1.0) as u64
        });
        let n = iterations.unwrap_or(0);
        let times = (0..n).map(|i| {
            let turn = turn * (2.0 * (i as f64 + 0.5) / n as f64 - 1.0);
            self.each * factor * turn.exp() * self.single.factor(dice)
        });
        let times = times.collect();
        let nominal = self.set_up + self.each * n as f64;
        Piece {
            iterations,
            set_up: self.set_up * factor + stuck * nominal,
            times,
            nominal,
            nominal_set_up: self.set_up,
        }
    }
}

/// A run with everything that will happen in it.
pub(super) struct Run {
    pub(super) steps: Vec<Piece>,
}

/// A step of a run.
pub(super) struct Piece {
    pub(super) iterations: Option<u64>,
    /// The seconds before the first iteration, or of a one-off step.
    pub(super) set_up: f64,
    /// The seconds of each iteration.
    pub(super) times: Vec<f64>,
    /// The seconds that it would take without any variation, which is how much work it is.
    pub(super) nominal: f64,
    /// The part of it before the first iteration.
    pub(super) nominal_set_up: f64,
}

impl Piece {
    pub(super) fn seconds(&self) -> f64 {
        self.set_up + self.times.iter().sum::<f64>()
    }
}

impl Run {
    pub(super) fn seconds(&self) -> f64 {
        self.steps.iter().map(Piece::seconds).sum()
    }
}
