//! The pace of a step: when which of its iterations were done.

/// About how many marks are kept of a step. `update.lua` keeps them by the same rule.
pub(crate) const MARKS: u64 = 64;
/// Beyond so many, every second one goes: the number of iterations may have been corrected on the way.
pub(crate) const MARKS_MAX: usize = 128;
/// The shares of a step's iterations of which a pace tells when they were done. The first comes early, as it is where a set-up shows.
pub const SHARES: [f64; 32] = {
    let mut shares = [1.0 / 64.0; 32];
    let mut part = 1;
    while part < 32 {
        shares[part] = part as f64 / 32.0;
        part += 1;
    }
    shares
};
/// The whole time of a past step.
pub const WHOLE: u16 = 1_000;

/// When iterations of a step were reported: their number, and the seconds since the step began.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Marks(Vec<(u64, f64)>);

impl Marks {
    /// Takes in that so many of a step's iterations are done.
    pub fn add(&mut self, iteration: u64, iterations: u64, seconds: f64) {
        let last = self.0.last().map_or(0, |mark| mark.0);
        let is_far = u128::from(iteration.saturating_sub(last)) * u128::from(MARKS)
            >= u128::from(iterations);
        // The first one tells a set-up from the rest.
        if iteration == 0 || !(is_far || last == 0) {
            return;
        }
        if self.0.len() >= MARKS_MAX {
            self.0 = self.0.chunks(2).map(|pair| pair[pair.len() - 1]).collect();
        }
        self.0.push((iteration, seconds));
    }

    /// Those in the words of `update.lua`: `iteration:seconds`, with spaces between. What is no mark is left out.
    pub(crate) fn parse(text: &str) -> Marks {
        let mark = |word: &str| {
            let (iteration, seconds) = word.split_once(':')?;
            Some((iteration.parse().ok()?, seconds.parse().ok()?))
        };
        Marks(text.split(' ').filter_map(mark).collect())
    }

    /// Those that make sense, in order: iterations and seconds go up, to a last one.
    pub fn until(&self, last: (u64, f64)) -> Vec<(u64, f64)> {
        let mut kept: Vec<(u64, f64)> = Vec::with_capacity(self.0.len() + 1);
        for &(iteration, seconds) in &self.0 {
            let before = kept.last().copied().unwrap_or((0, 0.0));
            let goes_up = iteration > before.0 && seconds >= before.1;
            if goes_up && iteration < last.0 && seconds <= last.1 {
                kept.push((iteration, seconds));
            }
        }
        kept.push(last);
        kept
    }

    /// The pace of a step that took so long: the share of its time, in thousandths, after which [`SHARES`] of its
    /// iterations were done. Empty when nothing is known of them.
    pub fn pace(&self, iterations: u64, seconds: f64) -> Vec<u16> {
        let marks = self.until((iterations, seconds));
        if marks.len() < 2 || seconds.is_nan() || seconds <= 0.0 {
            return Vec::new();
        }
        // Before the first iteration is done nothing is.
        let first = if marks[0].0 == 1 { marks[0].1 } else { 0.0 };
        let (mut before, mut at) = ((0.0, first), 0);
        let parts = SHARES.into_iter().map(|share| {
            let wanted = iterations as f64 * share;
            while at + 1 < marks.len() && (marks[at].0 as f64) < wanted {
                before = (marks[at].0 as f64, marks[at].1);
                at += 1;
            }
            let (n, s) = (marks[at].0 as f64, marks[at].1);
            let reached = before.1 + (s - before.1) * ((wanted - before.0) / (n - before.0));
            (reached / seconds * f64::from(WHOLE)).round().clamp(0.0, f64::from(WHOLE)) as u16
        });
        parts.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn even(iterations: u64) -> Marks {
        let mut marks = Marks::default();
        (1..iterations).for_each(|at| marks.add(at, iterations, at as f64));
        marks
    }

    #[test]
    fn long_steps_keep_as_many_marks_as_short_ones() {
        assert_eq!(even(5).0.len(), 4);
        assert_eq!(even(1_000_000).0.len(), 64);
        let mut marks = even(128);
        (0..10_000).for_each(|at| marks.add(128 + at, 128, 128.0 + at as f64));
        assert!(marks.0.len() <= MARKS_MAX, "{}", marks.0.len());
    }

    #[test]
    fn even_step_has_an_even_pace() {
        let expected = SHARES.map(|share| (1000.0 * share).round() as u16);
        assert_eq!(even(320).pace(320, 320.0), expected);
    }

    #[test]
    fn late_half_shows_as_one() {
        let mut marks = Marks::default();
        (1..96_u64)
            .for_each(|at| marks.add(at, 96, at as f64 + 3.0 * at.saturating_sub(48) as f64));
        let pace = marks.pace(96, 240.0);
        assert_eq!((pace[16], pace[24]), (206, 600));
    }

    #[test]
    fn set_up_is_there_before_the_first_iteration() {
        let mut marks = Marks::default();
        (1..20_u64).for_each(|at| marks.add(at, 20, 20.0 + at as f64));
        let pace = marks.pace(20, 40.0);
        assert_eq!((pace[0], pace[2], pace[16]), (525, 531, 750));
    }

    #[test]
    fn what_makes_no_sense_is_left_out() {
        let marks = Marks::parse("1:1.5 x 2 3:2.5 2:9 4:2.0 50:3.5 :: 5:4.5");
        assert_eq!(marks.until((10, 8.0)), [(1, 1.5), (3, 2.5), (5, 4.5), (10, 8.0)]);
        assert_eq!(Marks::default().pace(10, 5.0), Vec::<u16>::new());
        assert_eq!(Marks::parse("5:1").pace(10, f64::NAN), Vec::<u16>::new());
    }
}
