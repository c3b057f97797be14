//! How the steps of a run go together: a machine that is slow in one step is often slow in the next, and how often is learned.
//!
//! Surprises of steps are taken as jointly normal. What the finished steps tell about the others follows by conditioning;
//! with few runs, the covariance leans on a plain guess.

/// The covariance of the steps' surprises.
#[derive(Debug, Clone, Default)]
pub(super) struct StepCovariance {
    covariance: Vec<Vec<f64>>,
    /// Its root by Cholesky, a triangle. The root of its upper left part is the upper left part of this.
    root: Vec<Vec<f64>>,
    /// The surprises of each step in each run, as far as they are believed.
    believed: Vec<Vec<f64>>,
}

/// How alike steps of one run are before anything is known about them.
const LIKENESS: f64 = 0.35;
/// How many runs that guess is worth.
const GUESS: f64 = 7.0;
/// Surprises beyond so many deviations count as if they were there: a stuck step says little about the next.
const OUTLIER: f64 = 2.5;

impl StepCovariance {
    /// Learns from the surprises of each step, and the deviation each is thought to have.
    pub(super) fn learn(surprises: &[&[f64]], deviations: &[f64]) -> StepCovariance {
        let runs = surprises.first().map_or(0, |one| one.len());
        let weight = GUESS + runs as f64;
        let believed = surprises.iter().zip(deviations).map(|(surprises, deviation)| {
            surprises.iter().map(|surprise| tamed(*surprise, *deviation)).collect()
        });
        let believed: Vec<Vec<f64>> = believed.collect();
        let entry = |k: usize, l: usize| {
            let alike = if k == l { 1.0 } else { LIKENESS };
            let guess = GUESS * alike * deviations[k] * deviations[l];
            (guess + dot(&believed[k], &believed[l])) / weight
        };
        let steps = 0..deviations.len();
        let covariance = steps.clone().map(|k| steps.clone().map(|l| entry(k, l)).collect());
        let covariance: Vec<Vec<f64>> = covariance.collect();
        StepCovariance { root: root(&covariance), covariance, believed }
    }

    /// What surprises in the first `known` steps tell about step `k`: for each of them, how much of it to expect in `k`.
    pub(super) fn told_by_first(&self, known: usize, k: usize) -> Vec<f64> {
        solve(&self.root[..known], &self.covariance[k][..known])
    }

    /// What the surprises in the first steps of a past run told about another step of it.
    pub(super) fn expected(&self, told: &[f64], run: usize) -> f64 {
        told.iter().zip(&self.believed).map(|(told, believed)| told * believed[run]).sum()
    }

    /// A surprise in step `k`, as far as it is believed.
    pub(super) fn tamed(&self, surprise: f64, k: usize) -> f64 {
        tamed(surprise, self.covariance[k][k].sqrt())
    }
}

fn tamed(surprise: f64, deviation: f64) -> f64 {
    surprise.clamp(-OUTLIER * deviation, OUTLIER * deviation)
}

/// The root of a symmetric, positive definite matrix: rows of growing length.
fn root(matrix: &[Vec<f64>]) -> Vec<Vec<f64>> {
    let mut root: Vec<Vec<f64>> = Vec::with_capacity(matrix.len());
    for (i, row) in matrix.iter().enumerate() {
        let mut of_row = Vec::with_capacity(i + 1);
        for (j, earlier) in root.iter().enumerate() {
            let value = (row[j] - dot(&of_row, &earlier[..j])) / earlier[j];
            of_row.push(value);
        }
        // The guess keeps the diagonal above zero; the bound is for rounding.
        of_row.push((row[i] - dot(&of_row, &of_row)).max(1e-12).sqrt());
        root.push(of_row);
    }
    root
}

/// Solves `A x = b` by the root of `A`.
fn solve(root: &[Vec<f64>], b: &[f64]) -> Vec<f64> {
    let mut x: Vec<f64> = Vec::with_capacity(b.len());
    for (row, b) in root.iter().zip(b) {
        x.push((b - dot(row, &x)) / row[x.len()]);
    }
    for i in (0..x.len()).rev() {
        let later: f64 = root[i + 1..].iter().zip(&x[i + 1..]).map(|(row, x)| row[i] * x).sum();
        x[i] = (x[i] - later) / root[i][i];
    }
    x
}

/// The sum of products, as far as both go.
pub(super) fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equations_are_solved_by_their_root() {
        let matrix = [vec![4.0, 2.0, 0.6], vec![2.0, 5.0, 1.0], vec![0.6, 1.0, 3.0]];
        for size in 0..=3 {
            let b = [1.0, -2.0, 0.5];
            let x = solve(&root(&matrix)[..size], &b[..size]);
            for (row, b) in matrix[..size].iter().zip(b) {
                assert!((dot(row, &x) - b).abs() < 1e-12, "{x:?}");
            }
        }
    }

    #[test]
    fn what_always_went_together_is_expected_to() {
        let (slow, other) =
            ([0.3, -0.2, 0.25, -0.35].repeat(50), [0.1, 0.1, -0.1, -0.1].repeat(50));
        let together = StepCovariance::learn(&[&slow, &slow, &other], &[0.28, 0.28, 0.1]);
        let alike = together.told_by_first(1, 1)[0];
        let unlike = together.told_by_first(1, 2)[0];
        assert!(alike > 0.9 && unlike.abs() < 0.2, "{alike} and {unlike}");
        assert!((together.expected(&[1.0], 0) - 0.3).abs() < 1e-9);
        assert!(together.tamed(9.0, 0) < 1.0, "a stuck step says little about the next");
    }
}
