//! Estimates in words.

use keyrack_format::{about, duration_seconds as exact};
use keyrack_progress::estimate::Estimate;

/// What is left: `2 min 5 s left (1 min 40 s to 3 min 0 s)`.
pub(super) fn left(estimate: &Estimate) -> String {
    let (low, high) = (about(estimate.p10), about(estimate.p90));
    if low == high {
        return format!("{} left", about(estimate.p50));
    }
    format!("{} left ({low} to {high})", about(estimate.p50))
}

/// Where the end is expected, with all digits: `480 ms to 610 ms`.
pub(super) fn range(estimate: &Estimate) -> String {
    format!("{} to {}", exact(estimate.p10), exact(estimate.p90))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn range_is_told_where_there_is_one() {
        let estimate = |p10, p50, p90| Estimate { p10, p50, p90, sureness: 0.5 };
        assert_eq!(left(&estimate(4.1, 5.5, 9.0)), "6 s left (5 s to 9 s)");
        assert_eq!(left(&estimate(5.1, 5.5, 5.9)), "6 s left");
        assert_eq!(range(&estimate(0.48, 0.5, 0.61)), "480 ms to 610 ms");
    }
}
