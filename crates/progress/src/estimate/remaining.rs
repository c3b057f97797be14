//! The estimate for a run that is under way.

use super::{
    Current, Estimate, Running,
    mixture::{self, Mixture, Point},
    model::{DEVIATION, Model},
};

/// Points that stand for the rest of the current step.
const CURRENT_POINTS: usize = 32;
/// Points that stand for all steps after it.
const LATER_POINTS: usize = 48;
/// Points for each past run in either.
const SLICES: usize = 5;
/// The weight, in runs, of the thought that something unusual happens, and how far from the usual it goes.
const UNUSUAL: f64 = 0.3;
const UNUSUAL_DEVIATION: f64 = 1.0;
/// How much of the differences between whole runs of a step is thought to come from single iterations.
const SINGLE: f64 = 0.15;
/// The same, from a pace that changes on the way.
const CHANGING: f64 = 0.1;
/// An iteration is thought to differ from others by no more than this, and the pace on the way by no more than that.
const SINGLE_MAX: f64 = 0.5;
const CHANGING_MAX: f64 = 0.15;

impl Model {
    /// How long the run will go on; nothing if neither past runs nor iterations say anything.
    pub fn estimate(&self, running: &Running) -> Option<Estimate> {
        let running = running.tidy();
        let spent: f64 = running.finished.iter().map(|step| step.seconds).sum();
        let spent = spent + running.current.elapsed_s;
        match self.view(&running) {
            Some(view) => Some(Estimate::of(view.points(), spent)),
            None => unknown(&running.current).map(|points| Estimate::of(points, spent)),
        }
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
fn unknown(current: &Current) -> Option<Vec<Point>> {
    let n = current.iterations? as f64;
    let done = current.iteration as f64;
    if done == 0.0 || current.reported_s <= 0.0 {
        return None;
    }
    let rest = current.reported_s * (n - done).max(0.5) / done;
    let mut mixture = Mixture::default();
    let error = (SINGLE_MAX * (1.0 / done + 1.0 / (n - done).max(1.0)).sqrt()).hypot(DEVIATION);
    mixture.add(1.0, rest.ln(), error);
    mixture.add(UNUSUAL, rest.ln(), UNUSUAL_DEVIATION.max(2.0 * error));
    let since = (current.elapsed_s - current.reported_s).max(0.0);
    Some(since_report(mixture.points_above(since.ln(), 4 * SLICES), since))
}

/// Points in seconds from now on, of points in logarithms of seconds since the last report.
fn since_report(points: Vec<Point>, since: f64) -> Vec<Point> {
    points.into_iter().map(|(ln, weight)| ((ln.exp() - since).max(0.0), weight)).collect()
}

/// A run that has the model's steps.
struct View<'a> {
    model: &'a Model,
    running: &'a Running,
    /// The position of the current step, from 0.
    at: usize,
    /// How far the finished steps were from what was expected, as far as it is believed.
    seen: Vec<f64>,
}

impl<'a> View<'a> {
    fn new(model: &'a Model, running: &'a Running) -> View<'a> {
        let together = model.together.as_ref();
        let seen = running.finished.iter().zip(&model.steps).enumerate().map(|(k, (taken, step))| {
            let taken = taken.taken();
            let surprise = ((taken.seconds + model.floor) / step.usual(taken.n)).ln();
            together.map_or(0.0, |together| together.tamed(surprise, k))
        });
        View { model, running, at: running.finished.len(), seen: seen.collect() }
    }

    /// Possible remaining times with their weights.
    fn points(&self) -> Vec<Point> {
        let current = mixture::thin(self.current(), CURRENT_POINTS);
        let since = self.since_report();
        let usual = self.usual_rest(|n| self.model.steps[self.at].usual(n)).ln();
        let Some(later) = Later::new(self) else { return since_report(current, since) };
        let mut points = Vec::with_capacity(current.len() * later.points.len());
        for (ln_rest, weight) in &current {
            // A step that takes long makes the later ones longer, as much as it did in past runs.
            let surprise = self.model.tamed(ln_rest - usual, self.at);
            let rest = (ln_rest.exp() - since).max(0.0);
            let slower = later.slower(surprise);
            points.extend(later.points.iter().map(|(time, share)| (rest + time * slower, weight * share)));
        }
        points
    }

    /// How long ago the last report was.
    fn since_report(&self) -> f64 {
        let current = &self.running.current;
        match current.iterations {
            Some(_) if current.iteration > 0 => (current.elapsed_s - current.reported_s).max(0.0),
            _ => current.elapsed_s,
        }
    }

    /// What is usual from the last report to the end of the current step.
    fn usual_rest(&self, usual: impl Fn(f64) -> f64) -> f64 {
        let current = &self.running.current;
        match (current.iterations, current.iteration as f64) {
            (None, _) => usual(1.0),
            (Some(n), 0.0) => usual(n as f64),
            // All iterations are done, but the step has not ended: about half of one is thought to be left.
            (Some(n), done) => (usual(n as f64) - usual(done.min(n as f64 - 0.5))).max(1e-9),
        }
    }

    /// The logarithms of possible times from the last report to the end of the step, given that it has not ended yet.
    fn current(&self) -> Vec<Point> {
        let (prior, spread) = self.factor();
        let step = &self.model.steps[self.at];
        let mut rest = Mixture::default();
        for (probability, line) in step.lines() {
            let usual = |n| step.usual_by(*line, n);
            let mut factor = prior.clone();
            self.observe(&mut factor, spread, usual);
            factor.shift(self.usual_rest(usual).ln());
            rest.append(factor, *probability);
        }
        rest.points_above(self.since_report().ln(), SLICES)
    }

    /// Takes in how fast the iterations went.
    fn observe(&self, factor: &mut Mixture, spread: f64, usual: impl Fn(f64) -> f64) {
        let current = &self.running.current;
        let (Some(n), done @ 1..) = (current.iterations, current.iteration) else { return };
        let (n, done) = (n as f64, done as f64);
        let single = (SINGLE.sqrt() * spread * n.sqrt()).min(SINGLE_MAX);
        let changing = (CHANGING.sqrt() * spread).min(CHANGING_MAX);
        let pace = ((current.reported_s + self.model.floor) / usual(done)).ln();
        factor.observe(pace, (single / done.sqrt()).hypot(changing));
        factor.blur((single / (n - done).max(1.0).sqrt()).hypot(changing * (1.0 - done / n)));
    }

    /// How much longer than usual the current step takes, before anything of it is seen; and the deviation of that.
    fn factor(&self) -> (Mixture, f64) {
        let step = &self.model.steps[self.at];
        let told = self.model.told(self.at, self.at);
        let expected = dot(&told, &self.seen);
        let own: Vec<f64> = (0..step.surprises.len())
            .map(|run| step.surprises[run] - self.model.expected(&told, run))
            .collect();
        let shape = Shape::of(&own, self.model.deviations[self.at]);
        let wide = shape.wide * step.level_doubt;
        let mut mixture = Mixture::default();
        for one in shape.centers(&own) {
            mixture.add(1.0, expected + one * wide, shape.bandwidth * wide);
        }
        let unusual = UNUSUAL_DEVIATION.max(2.0 * shape.deviation);
        mixture.add(UNUSUAL, expected, unusual);
        (mixture, shape.deviation * wide)
    }
}

/// How bells are put over past surprises.
struct Shape {
    deviation: f64,
    bandwidth: f64,
    /// How much wider than the past the future is thought to be, because the past is small.
    wide: f64,
    /// How much surprises are drawn together, so that the bells do not widen the whole.
    shrink: f64,
}

impl Shape {
    fn of(surprises: &[f64], guess: f64) -> Shape {
        let count = surprises.len() as f64;
        let squares: f64 = surprises.iter().map(|one| one * one).sum();
        let deviation = ((squares + guess * guess) / (count + 1.0)).sqrt();
        let narrow = (count + 1.0).powf(-0.2);
        let shrink = (1.0 - narrow * narrow).max(0.0).sqrt();
        let wide = ((count + 6.0) / (count + 1.0)).sqrt();
        Shape { deviation, bandwidth: deviation * narrow, wide, shrink }
    }

    fn centers<'a>(&'a self, surprises: &'a [f64]) -> impl Iterator<Item = f64> + 'a {
        let lone = surprises.is_empty().then_some(0.0);
        surprises.iter().map(|one| one * self.shrink).chain(lone)
    }
}

/// The steps after the current one.
struct Later {
    /// Possible times of all of them, when the current step goes as expected.
    points: Vec<Point>,
    /// How much of a surprise in the current step to expect in them.
    likeness: f64,
}

impl Later {
    fn new(view: &View) -> Option<Later> {
        let model = view.model;
        let later = view.at + 1..model.steps.len();
        if later.is_empty() {
            return None;
        }
        let known = view.at;
        let told: Vec<Vec<f64>> = later.clone().map(|k| model.told(known + 1, k)).collect();
        let expected: Vec<f64> = told.iter().map(|told| dot(&told[..known], &view.seen)).collect();
        let counts = view.counts();
        let mut logs = Vec::new();
        let (mut all, mut pull) = (0.0, 0.0);
        for (run, counts) in counts.iter().enumerate() {
            let mut sum = 0.0;
            for (place, k) in later.clone().enumerate() {
                let step = &model.steps[k];
                let told = &told[place];
                let usual = step.usual_by(step.line_of_run(run), counts[k]);
                let time = usual * expected[place].exp();
                all += time;
                pull += time * told[known];
                let own = run.checked_sub(1).map_or(0.0, |run| {
                    (step.surprises[run] - model.expected(told, run)) * step.level_doubt
                });
                sum += time * own.exp();
            }
            logs.push(sum.ln());
        }
        Some(Later { points: spread(&logs, view, later), likeness: (pull / all).clamp(0.0, 1.5) })
    }

    fn slower(&self, surprise: f64) -> f64 {
        (self.likeness * surprise).exp()
    }
}

/// Puts bells over the logarithms of possible sums.
fn spread(logs: &[f64], view: &View, later: std::ops::Range<usize>) -> Vec<Point> {
    let mean = logs.iter().sum::<f64>() / logs.len() as f64;
    let apart: Vec<f64> = logs.iter().map(|log| log - mean).collect();
    let deviations = &view.model.deviations[later];
    let squares: f64 = deviations.iter().map(|one| one * one).sum();
    let guess = (squares / deviations.len() as f64).sqrt();
    // The first run has no surprise of its own.
    let shape = Shape::of(&apart[1..], guess);
    let mut mixture = Mixture::default();
    for one in shape.centers(&apart[1..]) {
        mixture.add(1.0, mean + one * shape.wide, shape.bandwidth * shape.wide);
    }
    let points = mixture::thin(mixture.points_above(f64::NEG_INFINITY, SLICES), LATER_POINTS);
    points.into_iter().map(|(ln, weight)| (ln.exp(), weight)).collect()
}

impl View<'_> {
    /// The iterations of every step as they may be in this run, one guess from each past run. Where a number usually stands in
    /// a proportion to one that is known, it is thought to do so again.
    fn counts(&self) -> Vec<Vec<f64>> {
        let mut counts = self.model.counts.clone();
        let begun = self.running.begun();
        for k in self.at + 1..self.model.steps.len() {
            if !self.model.steps[k].is_iterated {
                continue;
            }
            let mut best = variance(&self.model.counts, |run| run[k].ln()) * PROPORTION;
            for (c, (_, n)) in begun.iter().enumerate() {
                let Some(n) = n else { continue };
                let apart = variance(&self.model.counts, |run| (run[k] / run[c]).ln());
                if apart < best {
                    best = apart;
                    for (guess, run) in counts.iter_mut().zip(&self.model.counts) {
                        guess[k] = (run[k] / run[c] * *n as f64).max(1.0);
                    }
                }
            }
        }
        counts
    }
}

/// A proportion has to vary this much less than the number itself to be believed.
const PROPORTION: f64 = 0.5;

fn variance(runs: &[Vec<f64>], value: impl Fn(&[f64]) -> f64) -> f64 {
    let mean = runs.iter().map(|run| value(run)).sum::<f64>() / runs.len() as f64;
    runs.iter().map(|run| (value(run) - mean).powi(2)).sum::<f64>() / runs.len() as f64
}

impl Model {
    /// What the first steps tell about step `k`.
    fn told(&self, known: usize, k: usize) -> Vec<f64> {
        self.together.as_ref().map_or(vec![0.0; known], |together| together.told_by_first(known, k))
    }

    /// What the first steps of a past run told.
    fn expected(&self, told: &[f64], run: usize) -> f64 {
        told.iter()
            .zip(&self.steps)
            .enumerate()
            .map(|(k, (told, step))| told * self.tamed(step.surprises[run], k))
            .sum()
    }

    fn tamed(&self, surprise: f64, k: usize) -> f64 {
        self.together.as_ref().map_or(surprise, |together| together.tamed(surprise, k))
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}
