//! The estimate for a run that is under way.

use super::{
    Current, Estimate, Marks, Running,
    covariance::dot,
    growth::LinearDuration,
    mixture::{self, Mixture, Point},
    model::{DEVIATION, Model},
    remaining_steps::RemainingSteps,
    replay::{self, Replayed, Seen, WINDOWS},
    shape::Shape,
};

/// Points that stand for the rest of the current step.
const POINTS: usize = 32;
/// The weight, in runs, of the thought that something unusual happens, and how far from the usual that may be. Once a step has
/// taken longer than in any run before, this is all that is left to go by.
const UNUSUAL: f64 = 0.3;
const UNUSUAL_DEVIATION: f64 = 1.0;
/// The same for a step whose pace is seen.
const UNUSUAL_STEP: f64 = 0.7;
/// How much wider the range of a step is whose pace is seen, with a single past run; with more, less.
const FEW: f64 = 5.2;
const FEW_POWER: f64 = 2.3;
/// A step takes at least this share of what is too short to be told apart.
pub(super) const LEAST: f64 = 0.1;
/// How far single iterations are thought to differ of which nothing is known.
const SINGLE: f64 = 0.5;

impl Model {
    /// How long the run will go on; nothing if neither past runs nor iterations say anything.
    pub fn estimate(&self, running: &Running) -> Option<Estimate> {
        let running = running.tidy();
        let points = match self.view(&running) {
            Some(view) => view.points(),
            None => by_pace_alone(&running.current)?,
        };
        Some(Estimate::of(points, running.spent()))
    }

    /// How long a whole run will take that has not begun. Its first step is thought to have as many iterations as usual.
    pub fn whole_run(&self) -> Option<Estimate> {
        let first = self.steps.first()?;
        let current = Current {
            name: first.name.clone(),
            iterations: self.usual_iterations(0),
            iteration: 0,
            reported_s: 0.0,
            elapsed_s: 0.0,
            marks: Marks::default(),
        };
        self.estimate(&Running { finished: Vec::new(), current })
    }

    /// The usual number of iterations of the step at a position from 0; none for a one-off step.
    pub fn usual_iterations(&self, position: usize) -> Option<u64> {
        self.steps.get(position).filter(|step| step.is_iterated)?;
        let mut counts: Vec<f64> = self.counts.iter().map(|run| run[position]).collect();
        counts.sort_unstable_by(f64::total_cmp);
        Some(counts[counts.len() / 2] as u64)
    }

    /// The names of the steps in order.
    pub fn steps(&self) -> impl ExactSizeIterator<Item = &str> {
        self.steps.iter().map(|step| step.name.as_str())
    }

    /// The run seen with this model; nothing if it has other steps.
    fn view<'a>(&'a self, running: &'a Running) -> Option<View<'a>> {
        let begun = running.begun();
        let known = self.steps.get(..begun.len())?;
        let fits = known.iter().zip(begun).all(|(known, (name, iterations))| {
            known.name == name && known.is_iterated == iterations.is_some()
        });
        fits.then(|| View::new(self, running))
    }
}

/// The rest of a step of which the past knows nothing: its iterations go on as they went so far.
fn by_pace_alone(current: &Current) -> Option<Vec<Point>> {
    let (n, done) = (current.iterations? as f64, current.iteration as f64);
    if done == 0.0 || current.reported_s <= 0.0 {
        return None;
    }
    let rest = (current.reported_s * (n - done).max(0.5) / done).ln();
    let error = (SINGLE * (1.0 / done + 1.0 / (n - done).max(1.0)).sqrt()).hypot(DEVIATION);
    let mut mixture = Mixture::default();
    mixture.add(1.0, rest, error);
    mixture.add(UNUSUAL, rest, UNUSUAL_DEVIATION.max(2.0 * error));
    let since = current.since_report();
    Some(from_now(&mixture.points_above(since.ln()), since))
}

/// Seconds from now on, of logarithms of seconds since the last report.
fn from_now(points: &[Point], since: f64) -> Vec<Point> {
    points.iter().map(|(ln, weight)| ((ln.exp() - since).max(0.0), *weight)).collect()
}

/// A run that has the model's steps.
pub(super) struct View<'a> {
    pub(super) model: &'a Model,
    pub(super) running: &'a Running,
    /// The position of the current step, from 0.
    pub(super) at: usize,
    /// How far the finished steps were from what was expected, as far as it is believed.
    pub(super) seen: Vec<f64>,
}

impl<'a> View<'a> {
    fn new(model: &'a Model, running: &'a Running) -> View<'a> {
        let seen =
            running.finished.iter().zip(&model.steps).enumerate().map(|(k, (taken, step))| {
                let taken = taken.taken();
                let surprise = ((taken.seconds + model.floor) / step.usual(taken.n)).ln();
                model.together.tamed(surprise, k)
            });
        View { model, running, at: running.finished.len(), seen: seen.collect() }
    }

    /// Possible remaining times with their weights.
    fn points(&self) -> Vec<Point> {
        let since = self.running.current.since_report();
        let current = self.current_step();
        let points = current.rest.points_above((since + current.slack).ln());
        let from_now = |ln: f64| (ln.exp() - current.slack - since).max(0.0);
        let Some(later) = RemainingSteps::new(self) else {
            return points.into_iter().map(|(ln, weight)| (from_now(ln), weight)).collect();
        };
        let few = mixture::thin(points, POINTS);
        let mut points = Vec::with_capacity(few.len() * later.points.len());
        for (ln, weight) in &few {
            let rest = from_now(*ln);
            // A step that takes long makes later ones longer, as much as it did in past runs.
            let whole = self.running.current.elapsed_s + rest;
            let surprise = ((whole + self.model.floor) / current.usual).ln();
            let slower = later.slower(self.model.together.tamed(surprise, self.at));
            let sum = |(time, share): &Point| (rest + time * slower, weight * share);
            points.extend(later.points.iter().map(sum));
        }
        points
    }

    fn current_step(&self) -> CurrentStep {
        let current = &self.running.current;
        let step = &self.model.steps[self.at];
        let n = current.iterations.unwrap_or(1) as f64;
        let usual = step.usual(n);
        if let (Some(_), 1..) = (current.iterations, current.iteration) {
            return self.by_replay(n);
        }
        let prior = self.factor();
        let mut rest = Mixture::default();
        for (probability, line) in step.lines() {
            let mut factor = prior.clone();
            factor.shift(step.usual_by(*line, n).ln());
            rest.append(factor, *probability);
        }
        CurrentStep { rest, slack: self.model.floor, usual }
    }

    /// The rest of an iterated step by what past runs took from this point on.
    fn by_replay(&self, n: f64) -> CurrentStep {
        let current = &self.running.current;
        let done = current.iteration as f64;
        let step = &self.model.steps[self.at];
        let floor = self.model.floor;
        let line = step.line_seen(done, current.reported_s + floor, self.model.deviations[self.at]);
        let elapsed = current.reported_s.max(floor * LEAST);
        let usual = step.usual_by(line, n);
        // When all iterations are done but the step has not ended, about half of one is thought to be left.
        let share = (done / n).min(1.0 - 0.5 / n);
        let marks = current.marks.until((current.iteration, current.reported_s));
        let recent = WINDOWS
            .map(|window| current.reported_s - seconds_at(&marks, (share - window).max(0.0) * n));
        let forecast = replay::forecast(&self.past_runs(n, line), Seen { elapsed, recent }, share);
        let shape = Shape::of(&forecast.surprises, forecast.deviation);
        let middle = (forecast.rest + forecast.slack).ln();
        let few = 1.0 + FEW * (forecast.surprises.len() as f64).max(1.0).powf(-FEW_POWER);
        let mut rest = shape.mixture(middle, few);
        rest.blur(forecast.rounding);
        rest.add(UNUSUAL / 2.0, middle, UNUSUAL_STEP.max(2.0 * shape.deviation));
        CurrentStep { rest, slack: forecast.slack, usual }
    }

    /// The past runs of the current step as if they were of today, as far as the finished steps do not explain them.
    fn past_runs(&self, n: f64, line: LinearDuration) -> Vec<Replayed<'_>> {
        let model = self.model;
        let step = &model.steps[self.at];
        let told = model.together.told_by_first(self.at, self.at);
        let expected = dot(&told, &self.seen);
        let (usual, now) = (step.usual_by(line, n), line.set_up_share(n));
        let mean = step.mean_pace.as_ref();
        // Of a level that drifts, the first run says nothing.
        let first = usize::from(step.drifts && step.past.len() > 1);
        let replayed = step.past.iter().enumerate().skip(first).map(|(run, past)| {
            let before = run.checked_sub(1);
            let off = match before {
                Some(before) if step.drifts => step.surprises[before],
                _ => past.off,
            };
            let explained = before.map_or(0.0, |run| model.together.expected(&told, run));
            Replayed {
                seconds: model.without_floor(usual * (expected + off - explained).exp()),
                pace: past.pace.as_ref().or(mean),
                set_up: [line.set_up_share(past.n), now],
            }
        });
        replayed.collect()
    }

    /// How much longer than usual the current step takes, before anything of it is seen.
    fn factor(&self) -> Mixture {
        let model = self.model;
        let step = &model.steps[self.at];
        let told = model.together.told_by_first(self.at, self.at);
        let expected = dot(&told, &self.seen);
        let own = step.surprises.iter().enumerate();
        let own: Vec<f64> =
            own.map(|(run, surprise)| surprise - model.together.expected(&told, run)).collect();
        let shape = Shape::of(&own, model.deviations[self.at]);
        let mut factor = shape.mixture(expected, step.level_doubt);
        factor.add(UNUSUAL, expected, UNUSUAL_DEVIATION.max(2.0 * shape.deviation));
        factor
    }
}

/// When so many iterations were done, in seconds since the step began.
fn seconds_at(marks: &[(u64, f64)], iterations: f64) -> f64 {
    let mut before = (0.0, 0.0);
    for &(iteration, seconds) in marks {
        let here = (iteration as f64, seconds);
        if here.0 >= iterations {
            return before.1
                + (here.1 - before.1) * ((iterations - before.0) / (here.0 - before.0));
        }
        before = here;
    }
    before.1
}

/// The step that the run is in.
struct CurrentStep {
    /// The logarithm of the time from the last report to its end, as if nothing were known of how long ago that report was. Some
    /// slack is added to the time.
    rest: Mixture,
    slack: f64,
    /// What is usual for the whole step.
    usual: f64,
}
