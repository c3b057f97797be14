//! What past runs say about one step: what is usual now, and how far each run was from what was usual before it.

use super::{
    growth::{Growth, LinearDuration},
    replay::{Pace, pace_of},
};

/// What is learned about one step.
#[derive(Debug, Clone)]
pub(super) struct StepModel {
    pub(super) name: String,
    pub(super) is_iterated: bool,
    growth: Growth,
    /// The logarithm of how much longer than its growth says the step takes nowadays.
    level: f64,
    /// How uncertain a new run is beyond what `surprises` say, because the level itself is only estimated.
    pub(super) level_doubt: f64,
    /// For each past run, oldest first: the logarithm of actual time by what would have been expected of it.
    pub(super) surprises: Vec<f64>,
    /// The past times, oldest first; none for a one-off step.
    pub(super) past: Vec<PastTime>,
    /// The mean of the paces that are known.
    pub(super) mean_pace: Option<Pace>,
    /// Whether what is usual has changed from run to run.
    pub(super) drifts: bool,
}

/// A past time of the step, as far as its replay needs it.
#[derive(Debug, Clone)]
pub(super) struct PastTime {
    pub(super) n: f64,
    /// The logarithm of how much longer it took than is usual nowadays.
    pub(super) off: f64,
    /// Nothing if it is not known.
    pub(super) pace: Option<Pace>,
}

/// One past time of the step.
#[derive(Debug, Clone, Copy)]
pub(super) struct PastDuration<'a> {
    /// 1 for a one-off step.
    pub(super) n: f64,
    pub(super) seconds: f64,
    /// Thousandths; empty if not known.
    pub(super) pace: &'a [u16],
}

/// How far the time of the first iterations may be from that of a line, beside what runs differ by.
const LINE_ERROR: f64 = 0.15;
/// How fast the past loses weight, in runs; by halves. The first suits steps that never change.
const HALF_LIVES: [f64; 4] = [f64::INFINITY, 24.0, 6.0, 1.5];
/// A shorter memory has to be better by this much to be believed: with few runs one of four is better by luck.
const BETTER: f64 = 0.93;
/// Runs before the first that count towards the choice of a memory: the earliest forecasts say little.
const WARM_UP: usize = 3;

impl StepModel {
    /// Learns from past times, oldest first; there is at least one. Times below `floor` are not told apart.
    pub(super) fn learn(
        name: &str,
        is_iterated: bool,
        taken: &[PastDuration],
        floor: f64,
    ) -> StepModel {
        let growth = if is_iterated { Growth::fit(taken, floor) } else { Growth::one_off() };
        let usual = |n| growth.likely.seconds(n);
        let logs: Vec<f64> =
            taken.iter().map(|one| ((one.seconds + floor) / usual(one.n)).ln()).collect();
        let forecasts = HALF_LIVES.map(|half_life| Forecasts::make(&logs, half_life));
        let mut best = 0;
        for at in 1..forecasts.len() {
            if forecasts[at].error < forecasts[best].error * BETTER {
                best = at;
            }
        }
        let (drifts, best) = (best > 0, &forecasts[best]);
        let past = taken.iter().zip(&logs).map(|(one, log)| PastTime {
            n: one.n,
            off: log - best.level,
            pace: pace_of(one.pace),
        });
        let past: Vec<PastTime> = if is_iterated { past.collect() } else { Vec::new() };
        StepModel {
            name: name.to_owned(),
            is_iterated,
            growth,
            level: best.level,
            level_doubt: (1.0 + 1.0 / best.weight).sqrt(),
            surprises: best.surprises.clone(),
            mean_pace: mean_pace(&past),
            past,
            drifts,
        }
    }

    /// What is usual for so many iterations; one-off steps have one.
    pub(super) fn usual(&self, n: f64) -> f64 {
        self.usual_by(self.growth.likely, n)
    }

    /// The same if the time grows by this line.
    pub(super) fn usual_by(&self, line: LinearDuration, n: f64) -> f64 {
        line.seconds(n) * self.level.exp()
    }

    /// The line in the middle of all, once it is seen how long so many iterations took.
    pub(super) fn line_seen(&self, done: f64, seconds: f64, deviation: f64) -> LinearDuration {
        let error = LINE_ERROR + deviation;
        self.growth.seen(|line| {
            let off = (seconds / self.usual_by(line, done)).ln() / error;
            (-off * off / 2.0).exp()
        })
    }

    /// The lines by which its time may grow, with the probability of each.
    pub(super) fn lines(&self) -> &[(f64, LinearDuration)] {
        &self.growth.lines
    }

    /// One of these lines for each past run, each as often as it is probable.
    pub(super) fn line_of_run(&self, run: usize) -> LinearDuration {
        // Multiples of the golden section fall evenly, however many are taken.
        let mut left = (run as f64 * 0.618_033_988_75 + 0.5).fract();
        for (probability, line) in &self.growth.lines {
            if left < *probability {
                return *line;
            }
            left -= probability;
        }
        self.growth.likely
    }
}

fn mean_pace(past: &[PastTime]) -> Option<Pace> {
    let known: Vec<&Pace> = past.iter().filter_map(|one| one.pace.as_ref()).collect();
    let mean = |at| known.iter().map(|pace| pace[at]).sum::<f64>() / known.len() as f64;
    (!known.is_empty()).then(|| std::array::from_fn(mean))
}

/// What each run would have been expected to take by those before it.
struct Forecasts {
    level: f64,
    /// How many runs the level rests on.
    weight: f64,
    surprises: Vec<f64>,
    error: f64,
}

impl Forecasts {
    fn make(logs: &[f64], half_life: f64) -> Forecasts {
        let keep = 0.5_f64.powf(1.0 / half_life);
        let (mut sum, mut weight, mut squares) = (0.0, 0.0, 0.0);
        let mut surprises = Vec::with_capacity(logs.len());
        let mut error = 0.0;
        for (at, log) in logs.iter().enumerate() {
            if at > 0 {
                // A forecast from few runs is off by its own error too; that is not the step's.
                let surprise = (log - sum / weight) / (1.0 + squares / (weight * weight)).sqrt();
                surprises.push(surprise);
                if at >= WARM_UP {
                    error += (log - sum / weight).abs();
                }
            }
            (sum, weight, squares) =
                (sum * keep + log, weight * keep + 1.0, squares * keep * keep + 1.0);
        }
        Forecasts { level: sum / weight, weight: weight * weight / squares, surprises, error }
    }
}
