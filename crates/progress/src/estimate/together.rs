//! How the steps of a run go together: a machine that is slow in one step is often slow in the next, and how often is learned.
//!
//! Surprises of steps are taken as jointly normal. What the finished steps tell about the others follows by conditioning;
//! with few runs, the covariance leans on a plain guess.

/// The covariance of the steps' surprises.
#[derive(Debug, Clone, Default)]
pub(super) struct Together {
    covariance: Vec<Vec<f64>>,
}

/// How alike steps of one run are before anything is known about them.
const LIKENESS: f64 = 0.35;
/// How many runs that guess is worth.
const GUESS: f64 = 7.0;
/// Surprises beyond so many deviations count as if they were there: a stuck step says little about the next.
const OUTLIER: f64 = 2.5;

impl Together {
    /// Learns from the surprises of each step, and the deviation each is thought to have.
    pub(super) fn learn(surprises: &[&[f64]], deviations: &[f64]) -> Together {
        let runs = surprises.first().map_or(0, |one| one.len());
        let weight = GUESS + runs as f64;
        let entry = |k: usize, l: usize| {
            let alike = if k == l { 1.0 } else { LIKENESS };
            let guess = GUESS * alike * deviations[k] * deviations[l];
            let seen = surprises[k].iter().zip(surprises[l]);
            let seen: f64 =
                seen.map(|(a, b)| tamed(*a, deviations[k]) * tamed(*b, deviations[l])).sum();
            (guess + seen) / weight
        };
        let steps = 0..deviations.len();
        let covariance = steps.clone().map(|k| steps.clone().map(|l| entry(k, l)).collect());
        Together { covariance: covariance.collect() }
    }

    /// What surprises in the first `known` steps tell about step `k`: for each of them, how much of it to expect in `k`.
    pub(super) fn told_by_first(&self, known: usize, k: usize) -> Vec<f64> {
        let row = &self.covariance[k][..known];
        solve(&self.covariance, known, row)
    }

    /// A surprise in step `k`, as far as it is believed.
    pub(super) fn tamed(&self, surprise: f64, k: usize) -> f64 {
        tamed(surprise, self.covariance[k][k].sqrt())
    }
}

fn tamed(surprise: f64, deviation: f64) -> f64 {
    surprise.clamp(-OUTLIER * deviation, OUTLIER * deviation)
}

/// Solves `A x = b` for the upper left `size` of a symmetric, positive definite matrix, by Cholesky's way.
fn solve(matrix: &[Vec<f64>], size: usize, b: &[f64]) -> Vec<f64> {
    let mut lower = vec![vec![0.0; size]; size];
    for i in 0..size {
        for j in 0..=i {
            let inner: f64 = (0..j).map(|m| lower[i][m] * lower[j][m]).sum();
            let rest = matrix[i][j] - inner;
            // The guess keeps the diagonal above zero; the bound is for rounding.
            lower[i][j] = if i == j { rest.max(1e-12).sqrt() } else { rest / lower[j][j] };
        }
    }
    let mut x = b.to_vec();
    for i in 0..size {
        let inner: f64 = (0..i).map(|m| lower[i][m] * x[m]).sum();
        x[i] = (x[i] - inner) / lower[i][i];
    }
    for i in (0..size).rev() {
        let inner: f64 = (i + 1..size).map(|m| lower[m][i] * x[m]).sum();
        x[i] = (x[i] - inner) / lower[i][i];
    }
    x
}
