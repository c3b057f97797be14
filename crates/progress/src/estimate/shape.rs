//! How a few past surprises become a distribution: a bell over each, wide when there are few.

use super::mixture::Mixture;

/// Bells over past surprises.
pub(super) struct Shape<'a> {
    surprises: &'a [f64],
    /// How far surprises go.
    pub(super) deviation: f64,
    /// How far those below and above nothing go.
    sides: [f64; 2],
    /// The width of a bell, as a share of that.
    narrow: f64,
    /// How much surprises are drawn together, so that the bells do not widen the whole.
    shrink: f64,
    /// How much further than the past the future is thought to go.
    wide: f64,
}

/// How many more runs would have to be seen until the past shows nearly all that can happen.
const UNSEEN: f64 = 6.0;

/// With fewer surprises both sides are thought to be alike; with more, that counts like so many surprises of each side.
const SIDES_FROM: usize = 5;
const ALIKE: f64 = 2.0;

/// No run is thought to go further than the past by more than this, as a logarithm, however few there were.
const WIDER_MAX: f64 = 1.5;

impl<'a> Shape<'a> {
    /// The shape of these surprises, of which something was known before: about how far they go. It counts like one of them.
    pub(super) fn of(surprises: &'a [f64], guess: f64) -> Shape<'a> {
        let count = surprises.len() as f64 + 1.0;
        let squares: f64 = surprises.iter().map(|one| one * one).sum();
        let deviation = ((squares + guess * guess) / count).sqrt();
        let side = |sign: f64| {
            if surprises.len() < SIDES_FROM {
                return deviation;
            }
            let those = surprises.iter().filter(|one| *one * sign > 0.0);
            let (squares, count) =
                those.fold((0.0, 0.0), |(squares, count), one| (squares + one * one, count + 1.0));
            ((squares + ALIKE * deviation * deviation) / (count + ALIKE)).sqrt()
        };
        // Silverman's rule, without its factor, as the shape is often not normal.
        let narrow = count.powf(-0.2);
        Shape {
            surprises,
            deviation,
            sides: [side(-1.0), side(1.0)],
            narrow,
            shrink: (1.0 - narrow * narrow).max(0.0).sqrt(),
            // A mere guess is as wide as it is meant to be.
            wide: (1.0 + UNSEEN * (count - 1.0) / (count * count)).sqrt(),
        }
    }

    /// The next one, around a middle, when it is also in doubt by this factor.
    pub(super) fn mixture(&self, middle: f64, doubt: f64) -> Mixture {
        let wide = (self.wide * doubt).min(1.0 + WIDER_MAX / self.deviation.max(1e-9));
        let mut mixture = Mixture::default();
        for surprise in self.surprises {
            // Both sides meet in the middle: a bell there is hardly wider than the narrower one.
            let [below, above] = self.sides;
            let [own, other] = if *surprise > 0.0 { [above, below] } else { [below, above] };
            let side = own.min(other.hypot(*surprise));
            mixture.add(1.0, middle + surprise * self.shrink * wide, side * self.narrow * wide);
        }
        if self.surprises.is_empty() {
            mixture.add(1.0, middle, self.deviation * wide);
        }
        mixture
    }
}
