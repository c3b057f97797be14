//! The estimate for a run that is under way.

use super::{
    Current, Estimate, Running,
    covariance::dot,
    mixture::{self, Mixture, Point},
    model::{DEVIATION, Model},
    remaining_steps::RemainingSteps,
    shape::Shape,
};

/// Points that stand for the rest of the current step.
const POINTS: usize = 32;
/// The weight, in runs, of the thought that something unusual happens, and how far from the usual that may be. Once a step has
/// taken longer than in any run before, this is all that is left to go by.
const UNUSUAL: f64 = 0.3;
const UNUSUAL_DEVIATION: f64 = 1.0;
/// How much of the variance between runs of a step is thought to come from its single iterations, and how far these are
/// thought to differ at most.
const SINGLE: f64 = 0.1;
const SINGLE_MAX: f64 = 0.5;
/// The same for a pace that changes on the way.
const CHANGING: f64 = 0.1;
const CHANGING_MAX: f64 = 0.15;

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
    let error = (SINGLE_MAX * (1.0 / done + 1.0 / (n - done).max(1.0)).sqrt()).hypot(DEVIATION);
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
        let points = current.rest.points_above(since.ln());
        let Some(later) = RemainingSteps::new(self) else { return from_now(&points, since) };
        let few = mixture::thin(points, POINTS);
        let mut points = Vec::with_capacity(few.len() * later.points.len());
        for (ln_rest, weight) in &few {
            let rest = (ln_rest.exp() - since).max(0.0);
            // A step that takes long makes later ones longer, as much as it did in past runs.
            let slower = later.slower(self.model.together.tamed(current.factor(*ln_rest), self.at));
            let sum = |(time, share): &Point| (rest + time * slower, weight * share);
            points.extend(later.points.iter().map(sum));
        }
        points
    }

    fn current_step(&self) -> CurrentStep {
        let (prior, reach) = self.factor();
        let step = &self.model.steps[self.at];
        let (mut factors, mut rest) = (Mixture::default(), Mixture::default());
        for (probability, line) in step.lines() {
            let usual = |n| step.usual_by(*line, n);
            let mut factor = prior.clone();
            let error = self.take_in_pace(&mut factor, reach, usual);
            factors.append(factor.clone(), *probability);
            factor.blur(error);
            factor.shift(self.usual_rest(usual).ln());
            rest.append(factor, *probability);
        }
        let (middle, variance) = factors.moments();
        let (ln_rest, variance_of_rest) = rest.moments();
        let trust = (variance / variance_of_rest.max(1e-12)).min(1.0);
        CurrentStep { rest, ln_rest, middle, trust }
    }

    /// How much longer than usual the current step takes, before anything of it is seen; and how far that may go.
    fn factor(&self) -> (Mixture, f64) {
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
        (factor, shape.reach() * step.level_doubt)
    }

    /// Takes in how fast the iterations went; returns how far the rest of them may differ from that.
    fn take_in_pace(&self, factor: &mut Mixture, reach: f64, usual: impl Fn(f64) -> f64) -> f64 {
        let current = &self.running.current;
        let (Some(n), done @ 1..) = (current.iterations, current.iteration) else { return 0.0 };
        let (n, done) = (n as f64, done as f64);
        let single = (SINGLE * n).sqrt() * reach;
        let single = single.min(SINGLE_MAX);
        let changing = (CHANGING.sqrt() * reach).min(CHANGING_MAX);
        let pace = ((current.reported_s + self.model.floor) / usual(done)).ln();
        factor.observe(pace, (single / done.sqrt()).hypot(changing));
        (single / (n - done).max(1.0).sqrt()).hypot(changing * (1.0 - done / n))
    }

    /// What is usual from the last report to the end of the current step.
    fn usual_rest(&self, usual: impl Fn(f64) -> f64) -> f64 {
        let current = &self.running.current;
        match (current.iterations, current.iteration) {
            (None, _) => usual(1.0),
            (Some(n), 0) => usual(n as f64),
            // When all iterations are done but the step has not ended, about half of one is thought to be left.
            (Some(n), done) => {
                let n = n as f64;
                (usual(n) - usual((done as f64).min(n - 0.5))).max(1e-9)
            }
        }
    }
}

/// The step that the run is in.
struct CurrentStep {
    /// The time from the last report to its end, as if nothing were known of how long ago that report was.
    rest: Mixture,
    /// The middle of its logarithm.
    ln_rest: f64,
    /// The middle of how much longer than usual it takes, as a logarithm.
    middle: f64,
    /// How much of a longer rest is because of that, and not because single iterations differ.
    trust: f64,
}

impl CurrentStep {
    /// How much longer than usual the step takes if its rest is so long, as a logarithm.
    fn factor(&self, ln_rest: f64) -> f64 {
        self.middle + self.trust * (ln_rest - self.ln_rest)
    }
}
