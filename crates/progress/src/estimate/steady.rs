//! What is shown of a run, one estimate after another: the expected end does not jump back and forth.

use super::{Estimate, Running};

/// Within a step, the expected end moves at most so many times as fast as time passes. Between two looks that are a hundredth of a
/// run apart it moves by a fifth of the run at most, whatever is estimated.
const SPEED: f64 = 20.0;

/// Follows the estimates of one run, and holds each to the one before it.
#[derive(Debug, Clone, Default)]
pub struct Steady {
    last: Option<Shown>,
}

#[derive(Debug, Clone, Copy)]
struct Shown {
    step: usize,
    spent: f64,
    end: f64,
}

impl Steady {
    /// The estimate as it is to be shown: when a step begins as it is, and within the step not far from the one before. The
    /// range stays, and is widened where it would not hold the middle.
    pub fn next(&mut self, running: &Running, estimate: Estimate) -> Estimate {
        let running = running.tidy();
        let (step, spent) = (running.finished.len(), running.spent());
        let mut end = spent + estimate.p50;
        // A run whose clock was set back begins anew.
        if let Some(last) = self.last.filter(|last| last.step == step && last.spent <= spent) {
            let most = SPEED * (spent - last.spent);
            end = end.clamp(last.end - most, last.end + most);
        }
        self.last = Some(Shown { step, spent, end });
        let p50 = (end - spent).max(0.0);
        Estimate::from_quantiles([estimate.p10.min(p50), p50, estimate.p90.max(p50)], spent)
    }
}

#[cfg(test)]
mod tests {
    use super::{super::tests::in_one_off, *};

    fn estimate(p50: f64) -> Estimate {
        Estimate { p10: p50 * 0.9, p50, p90: p50 * 1.1, sureness: 0.5 }
    }

    #[test]
    fn end_moves_slowly_within_a_step() {
        let mut steady = Steady::default();
        let mut shown = |spent, p50| steady.next(&in_one_off("", "a", spent), estimate(p50)).p50;
        assert_eq!(shown(10.0, 90.0), 90.0, "the first is shown as it is");
        assert_eq!(shown(12.0, 188.0), 128.0, "the end moves by 40 s in 2 s");
        assert_eq!(shown(13.0, 130.0), 130.0, "what is near is shown as it is");
        assert_eq!(shown(14.0, 0.0), 109.0);
    }

    #[test]
    fn next_step_is_news() {
        let mut steady = Steady::default();
        assert_eq!(steady.next(&in_one_off("", "a", 10.0), estimate(90.0)).p50, 90.0);
        assert_eq!(steady.next(&in_one_off("a 10", "b", 1.0), estimate(5.0)).p50, 5.0);
    }

    #[test]
    fn range_holds_the_middle() {
        let mut steady = Steady::default();
        steady.next(&in_one_off("", "a", 10.0), estimate(10.0));
        let shown = steady.next(&in_one_off("", "a", 11.0), estimate(100.0));
        assert_eq!((shown.p10, shown.p50, shown.p90), (29.0, 29.0, 110.00000000000001));
    }
}
