//! How a few past surprises become a distribution: a bell over each, wide when there are few.

use super::mixture::Mixture;

/// Bells over past surprises.
pub(super) struct Shape<'a> {
    surprises: &'a [f64],
    /// How far surprises go.
    pub(super) deviation: f64,
    /// The width of a bell.
    bandwidth: f64,
    /// How much surprises are drawn together, so that the bells do not widen the whole.
    shrink: f64,
    /// How much further than the past the future is thought to go.
    wide: f64,
}

/// How many more runs would have to be seen until the past shows nearly all that can happen.
const UNSEEN: f64 = 6.0;

impl<'a> Shape<'a> {
    /// The shape of these surprises, of which something was known before: about how far they go. It counts like one of them.
    pub(super) fn of(surprises: &'a [f64], guess: f64) -> Shape<'a> {
        let count = surprises.len() as f64 + 1.0;
        let squares: f64 = surprises.iter().map(|one| one * one).sum();
        let deviation = ((squares + guess * guess) / count).sqrt();
        // Silverman's rule, without its factor, as the shape is often not normal.
        let narrow = count.powf(-0.2);
        Shape {
            surprises,
            deviation,
            bandwidth: deviation * narrow,
            shrink: (1.0 - narrow * narrow).max(0.0).sqrt(),
            // A mere guess is as wide as it is meant to be.
            wide: (1.0 + UNSEEN * (count - 1.0) / (count * count)).sqrt(),
        }
    }

    /// The next one, around a middle, when it is also in doubt by this factor.
    pub(super) fn mixture(&self, middle: f64, doubt: f64) -> Mixture {
        let wide = self.wide * doubt;
        let mut mixture = Mixture::default();
        for surprise in self.surprises {
            mixture.add(1.0, middle + surprise * self.shrink * wide, self.bandwidth * wide);
        }
        if self.surprises.is_empty() {
            mixture.add(1.0, middle, self.deviation * wide);
        }
        mixture
    }
}
