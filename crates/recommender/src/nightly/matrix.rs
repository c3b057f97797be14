//! The inverse of a symmetric, positive matrix by its Cholesky factors.
//!
//! It is all that the model needs of linear algebra. Rows are read from their beginnings, so the inner loops run over memory in
//! order.

/// A square matrix, row by row.
#[derive(Debug, Clone)]
pub(super) struct Matrix {
    n: usize,
    cells: Vec<f64>,
}

impl Matrix {
    pub(super) fn zero(n: usize) -> Matrix {
        Matrix { n, cells: vec![0.0; n * n] }
    }

    pub(super) fn len(&self) -> usize {
        self.n
    }

    pub(super) fn at(&self, row: usize, column: usize) -> f64 {
        self.cells[row * self.n + column]
    }

    pub(super) fn add(&mut self, row: usize, column: usize, value: f64) {
        self.cells[row * self.n + column] += value;
    }

    /// Divides each cell by the lengths of its row and its column.
    pub(super) fn scale(&mut self, lengths: &[f64]) {
        for (row, length) in lengths.iter().enumerate() {
            let cells = &mut self.cells[row * self.n..(row + 1) * self.n];
            cells.iter_mut().zip(lengths).for_each(|(cell, other)| *cell /= length * other);
        }
    }

    fn row(&self, row: usize) -> &[f64] {
        &self.cells[row * self.n..(row + 1) * self.n]
    }

    /// The lower half of the inverse; nothing when the matrix is not positive. Only the lower half of the matrix is read.
    pub(super) fn inverse(mut self) -> Option<Matrix> {
        self.factor()?;
        Some(self.inverse_of_factor().squared())
    }

    /// Puts the factor `L` with `L Lᵀ` = the matrix into the lower half.
    fn factor(&mut self) -> Option<()> {
        let n = self.n;
        for row in 0..n {
            let (above, rest) = self.cells.split_at_mut(row * n);
            let current = &mut rest[..n];
            for column in 0..row {
                let other = &above[column * n..column * n + column + 1];
                let known = dot(&current[..column], &other[..column]);
                current[column] = (current[column] - known) / other[column];
            }
            let rest = current[row] - dot(&current[..row], &current[..row]);
            if !rest.is_finite() || rest <= 0.0 {
                return None;
            }
            current[row] = rest.sqrt();
        }
        Some(())
    }

    /// The transposed inverse of the factor: row `c` has column `c` of `L⁻¹`, which begins at the diagonal.
    fn inverse_of_factor(&self) -> Matrix {
        let n = self.n;
        let mut inverse = Matrix::zero(n);
        for column in 0..n {
            let target = &mut inverse.cells[column * n..(column + 1) * n];
            for row in column..n {
                let factors = self.row(row);
                let right = if row == column { 1.0 } else { 0.0 };
                let known = dot(&factors[column..row], &target[column..row]);
                target[row] = (right - known) / factors[row];
            }
        }
        inverse
    }

    /// The lower half of the product of the matrix with its transpose, for a matrix whose lower half is 0.
    fn squared(&self) -> Matrix {
        let mut product = Matrix::zero(self.n);
        for row in 0..self.n {
            for column in 0..=row {
                let value = dot(&self.row(row)[row..], &self.row(column)[row..]);
                product.cells[row * self.n + column] = value;
            }
        }
        product
    }
}

/// Eight sums side by side, so that the compiler may use wide registers.
fn dot(a: &[f64], b: &[f64]) -> f64 {
    let (mut sums, n) = ([0.0; 8], a.len().min(b.len()));
    let (a, b) = (&a[..n], &b[..n]);
    let (a_chunks, b_chunks) = (a.chunks_exact(8), b.chunks_exact(8));
    let rest: f64 = a_chunks.remainder().iter().zip(b_chunks.remainder()).map(|(a, b)| a * b).sum();
    for (a, b) in a_chunks.zip(b_chunks) {
        for at in 0..8 {
            sums[at] += a[at] * b[at];
        }
    }
    sums.iter().sum::<f64>() + rest
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    #[test]
    fn a_matrix_times_its_inverse_is_one() {
        let mut dice = Random::new(3);
        for n in [1, 2, 7, 8, 9, 40] {
            let mut matrix = Matrix::zero(n);
            for _ in 0..2 * n {
                let row: Vec<f64> = (0..n).map(|_| dice.normal()).collect();
                for a in 0..n {
                    (0..n).for_each(|b| matrix.add(a, b, row[a] * row[b]));
                }
            }
            (0..n).for_each(|at| matrix.add(at, at, 0.5));
            let inverse = matrix.clone().inverse().expect("a positive matrix");
            let of = |a: usize, b: usize| inverse.at(a.max(b), a.min(b));
            for a in 0..n {
                for b in 0..n {
                    let cell: f64 = (0..n).map(|at| matrix.at(a, at) * of(at, b)).sum();
                    let expected = if a == b { 1.0 } else { 0.0 };
                    assert!((cell - expected).abs() < 1e-8, "{n}: {cell} at {a}, {b}");
                }
            }
        }
    }

    #[test]
    fn a_matrix_that_is_not_positive_has_none() {
        let mut matrix = Matrix::zero(2);
        for (row, column, value) in [(0, 0, 1.0), (1, 0, 2.0), (1, 1, 1.0)] {
            matrix.add(row, column, value);
        }
        assert!(matrix.inverse().is_none());
        assert!(Matrix::zero(1).inverse().is_none());
    }
}
