//! The rest of an iterated step, by simple rules that are weighed by what they would have said of past runs at this point.
//!
//! Each past run is replayed with the others as its history. How far each rule was off then says how far to believe it now, and
//! how far all of them together were off is the range.

use crate::pace::{SHARES, WHOLE};

/// A past run of the step, at today's level and for today's number of iterations.
#[derive(Debug, Clone, Copy)]
pub(super) struct Replayed<'a> {
    /// How long the whole step took.
    pub(super) seconds: f64,
    /// Its pace; nothing if it is thought to be even but for the set-up.
    pub(super) pace: Option<&'a Pace>,
    /// The share of a set-up in its time, and what it would be with today's number of iterations.
    pub(super) set_up: [f64; 2],
}

/// The share of a step's time after which [`SHARES`] of its iterations were done.
pub(super) type Pace = [f64; SHARES.len()];

/// A pace as it is kept; nothing if it is none.
pub(super) fn pace_of(thousandths: &[u16]) -> Option<Pace> {
    let pace: [u16; SHARES.len()] = thousandths.try_into().ok()?;
    Some(pace.map(|share| f64::from(share.min(WHOLE)) / f64::from(WHOLE)))
}

impl Replayed<'_> {
    /// The share of its time after which a share of the iterations was done.
    fn time_share(&self, share: f64) -> f64 {
        if share <= 0.0 {
            return 0.0;
        }
        let [then, now] = self.set_up;
        let Some(pace) = self.pace else { return now + (1.0 - now) * share };
        let even = (time_share(pace, share) - then) / (1.0 - then).max(1e-9);
        (now + (1.0 - now) * even).clamp(0.0, 1.0)
    }
}

/// A run at some point of the step, as far as rules look at it.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Seen {
    /// Seconds since the step began.
    pub(super) elapsed: f64,
    /// Seconds that the newest iterations took, those of each window.
    pub(super) recent: [f64; WINDOWS.len()],
}

/// What the rules say together.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Forecast {
    /// Seconds to the end of the step.
    pub(super) rest: f64,
    /// How far past runs were off: the logarithm of their rest by what would have been said of it, both with `slack`.
    pub(super) surprises: Vec<f64>,
    /// How far past runs were off here and at neighbouring points.
    pub(super) deviation: f64,
    /// Seconds that are added to both sides before they are compared: near the end everything is far off by its share.
    pub(super) slack: f64,
    /// How far off the logarithm of the rest is because paces are kept in thousandths: all of them alike, so that replays do not show it.
    pub(super) rounding: f64,
}

const RULES: usize = 6;
/// How far off each rule is thought to be before anything is seen, as a share of the step, and how many runs that is worth.
const ERRORS: [f64; RULES] = [0.10, 0.07, 0.14, 0.09, 0.12, 0.14];
const ERRORS_RUNS: f64 = 1.0;
/// How much more a rule is believed that errs less.
const POWER: f64 = 5.0;
/// No rule is thought to be better than this.
const ERROR_MIN: f64 = 0.001;
/// A run is unlike those before beyond so many deviations and this much more; then what is usual errs by so much of that.
const NOVEL_FROM: f64 = 2.0;
const NOVEL_FEW: f64 = 2.0;
const NOVEL_MIN: f64 = 0.05;
const NOVELTY: f64 = 0.25;
/// The newest iterations, as shares of all.
pub(super) const WINDOWS: [f64; 2] = [0.125, 0.05];
/// Factors beyond this are believed in part, early in the step; towards its end, beyond so much more.
const FAR: f64 = 2.0;
const FAR_LATE: f64 = 20.0;
const FAR_BELIEVED: f64 = 0.25;
/// A neighbouring point is so far away.
const NEXT: f64 = 1.0 / 16.0;
/// With so many runs, neighbouring points tell nothing more.
const ENOUGH: usize = 100;
/// The slack, as a share of the step.
const SLACK: f64 = 0.01;
/// How far a share of the time is off that is kept in thousandths: the deviation of anything from -0.5 to 0.5 of them.
const ROUNDING: f64 = 0.289 / WHOLE as f64;
/// The deviation of a rest before anything is seen.
const DEVIATION: f64 = 0.3;

fn time_share(pace: &Pace, share: f64) -> f64 {
    let part = (share * SHARES.len() as f64) as usize;
    let known = |at: usize| match (SHARES.get(at), pace.get(at)) {
        (Some(share), Some(time)) => (*share, *time),
        _ => (1.0, 1.0),
    };
    let (before, after) = (known(part), known(part + 1));
    let along = ((share - before.0) / (after.0 - before.0).max(1e-9)).clamp(0.0, 1.0);
    before.1 + (after.1 - before.1) * along
}

/// A past run at a point.
#[derive(Debug, Clone, Copy)]
struct PastPoint {
    seen: Seen,
    rest: f64,
    whole: f64,
}

/// Sums over past runs at a point.
#[derive(Debug, Clone, Copy, Default)]
struct Sums {
    count: f64,
    elapsed: f64,
    /// That of the first window.
    recent: f64,
    rest: f64,
}

impl Sums {
    fn of(points: &[PastPoint]) -> Sums {
        let mut sums = Sums { count: points.len() as f64, ..Sums::default() };
        for point in points {
            sums.elapsed += point.seen.elapsed;
            sums.recent += point.seen.recent[0];
            sums.rest += point.rest;
        }
        sums
    }

    fn without(self, point: &PastPoint) -> Sums {
        Sums {
            count: self.count - 1.0,
            elapsed: (self.elapsed - point.seen.elapsed).max(0.0),
            recent: (self.recent - point.seen.recent[0]).max(0.0),
            rest: (self.rest - point.rest).max(0.0),
        }
    }

    /// What each rule says of a run: as much is left as usual; as the pace so far says, and how it usually goes on; what is usual
    /// less the time spent; the pace so far alone; the newest pace, and how it usually goes on; the newest pace alone.
    fn rules(&self, seen: Seen, share: f64) -> [f64; RULES] {
        let usual = self.rest / self.count;
        let whole = usual + self.elapsed / self.count;
        let ratio =
            |part: f64, of: f64, otherwise: f64| if of > 0.0 { part / of } else { otherwise };
        let left = (1.0 - share) / share;
        let by_pace = seen.elapsed * ratio(self.rest, self.elapsed, left);
        let newest_left = WINDOWS.map(|window| (1.0 - share) / window.min(share));
        let said = [
            usual,
            by_pace,
            (whole - seen.elapsed).max(0.1 * usual.min(by_pace)),
            seen.elapsed * left,
            seen.recent[0] * ratio(self.rest, self.recent, newest_left[0]),
            seen.recent[1] * newest_left[1],
        ];
        let most = (FAR + FAR_LATE * share).ln();
        said.map(|said| tamed(said, usual, most))
    }
}

/// Brings what is further from the usual than most is nearer to it: a first iteration that takes long says little about the others.
fn tamed(said: f64, usual: f64, most: f64) -> f64 {
    let far = (said / usual).ln();
    if !far.is_finite() || far.abs() <= most {
        return said;
    }
    usual * (far.signum() * (most + (far.abs() - most) * FAR_BELIEVED)).exp()
}

/// What past runs and the present one say about the rest of the step, once this share of its iterations is done; there is at
/// least one past run.
pub(super) fn forecast(past: &[Replayed], seen: Seen, share: f64) -> Forecast {
    let usual = past.iter().map(|run| run.seconds).sum::<f64>() / past.len() as f64;
    let slack = SLACK * usual;
    let here = points(past, share);
    let mut weights = Weights::new();
    let neighbours =
        [share - NEXT, share + NEXT].into_iter().filter(|at| (0.5 * NEXT..1.0).contains(at));
    let neighbours: Vec<(f64, Vec<PastPoint>)> = match past.len() {
        0..=ENOUGH => neighbours.map(|at| (at, points(past, at))).collect(),
        _ => Vec::new(),
    };
    weights.learn(&here, share);
    neighbours.iter().for_each(|(at, points)| weights.learn(points, *at));
    let sums = Sums::of(&here);
    weights.round(&sums);
    let novel = novelty(&here, seen);
    let doubted = weights.doubting(novel * (1.0 - share)).finish();
    let weights = weights.finish();
    let here_off = surprises(&here, share, &weights, slack);
    let mut spread = Spread::default();
    spread.add(&here_off);
    for (at, points) in &neighbours {
        spread.add(&surprises(points, *at, &weights, slack));
    }
    let rest = weighed(&sums.rules(seen, share), &doubted);
    Forecast {
        rest,
        surprises: here_off,
        deviation: spread.deviation().unwrap_or(DEVIATION),
        slack,
        rounding: ROUNDING * usual / (rest + slack),
    }
}

/// How far surprises go.
#[derive(Default)]
struct Spread {
    squares: f64,
    count: f64,
}

impl Spread {
    fn add(&mut self, surprises: &[f64]) {
        self.squares += surprises.iter().map(|one| one * one).sum::<f64>();
        self.count += surprises.len() as f64;
    }

    /// Nothing if nothing was seen. What was seen says all: a guess that stayed with it would make the range of a bar too wide
    /// whose runs differ by less.
    fn deviation(&self) -> Option<f64> {
        (self.count > 0.0).then(|| (self.squares / self.count).sqrt())
    }
}

/// How much further from the usual pace a run is than past runs were, as a logarithm.
fn novelty(points: &[PastPoint], seen: Seen) -> f64 {
    let logs: Vec<f64> = points.iter().map(|point| point.seen.elapsed.max(1e-9).ln()).collect();
    let mean = logs.iter().sum::<f64>() / logs.len() as f64;
    let squares: f64 = logs.iter().map(|log| (log - mean).powi(2)).sum();
    let count = logs.len() as f64;
    let deviation = (squares / (count - 1.0).max(1.0)).sqrt();
    let usual = NOVEL_FROM * (1.0 + NOVEL_FEW / count) * deviation + NOVEL_MIN;
    ((seen.elapsed.max(1e-9).ln() - mean).abs() - usual).max(0.0)
}

fn points(past: &[Replayed], share: f64) -> Vec<PastPoint> {
    let point = |run: &Replayed| {
        let at = run.time_share(share);
        let recent =
            WINDOWS.map(|window| run.seconds * (at - run.time_share(share - window)).max(0.0));
        PastPoint {
            seen: Seen { elapsed: run.seconds * at, recent },
            rest: run.seconds * (1.0 - at),
            whole: run.seconds,
        }
    };
    past.iter().map(point).collect()
}

/// Errors of the rules so far.
struct Weights {
    errors: [f64; RULES],
    count: f64,
}

impl Weights {
    fn new() -> Weights {
        Weights { errors: ERRORS.map(|error| error * ERRORS_RUNS), count: ERRORS_RUNS }
    }

    fn learn(&mut self, points: &[PastPoint], share: f64) {
        if points.len() < 2 {
            return;
        }
        let sums = Sums::of(points);
        for point in points {
            let said = sums.without(point).rules(point.seen, share);
            for (error, said) in self.errors.iter_mut().zip(said) {
                // One that is as far off as the whole step is no better than one that is further.
                *error += ((said - point.rest).abs() / point.whole.max(1e-9)).min(1.0);
            }
            self.count += 1.0;
        }
    }

    /// Adds what rounding does to the rules that multiply what is seen by a proportion of past times. It does the same to all past
    /// runs that are alike, so that none of them tells.
    fn round(&mut self, sums: &Sums) {
        for (rule, part) in [(1, sums.elapsed), (4, sums.recent)] {
            if part > 0.0 {
                self.errors[rule] += self.count * ROUNDING * (sums.rest / part).min(1.0 / ROUNDING);
            }
        }
    }

    /// The same for a run that is unlike those before: what is usual is believed less.
    fn doubting(&self, novelty: f64) -> Weights {
        let mut errors = self.errors;
        for rule in [0, 2] {
            errors[rule] += NOVELTY * novelty * self.count;
        }
        Weights { errors, count: self.count }
    }

    fn finish(&self) -> [f64; RULES] {
        let weights = self.errors.map(|error| (error / self.count).max(ERROR_MIN).powf(-POWER));
        let all: f64 = weights.iter().sum();
        weights.map(|weight| weight / all)
    }
}

fn weighed(said: &[f64; RULES], weights: &[f64; RULES]) -> f64 {
    said.iter().zip(weights).map(|(said, weight)| said * weight).sum()
}

/// How far the rules together would have been off for each past run.
fn surprises(points: &[PastPoint], share: f64, weights: &[f64; RULES], slack: f64) -> Vec<f64> {
    if points.len() < 2 {
        return Vec::new();
    }
    let sums = Sums::of(points);
    let surprise = |point: &PastPoint| {
        let said = weighed(&sums.without(point).rules(point.seen, share), weights);
        ((point.rest + slack) / (said + slack)).ln()
    };
    points.iter().map(surprise).collect()
}
