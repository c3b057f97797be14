//! Estimates in words.

use keyrack_format::duration_seconds as exact;
use keyrack_progress::estimate::Estimate;

/// Where the end is expected, with all digits: `480 ms to 610 ms`.
pub(super) fn range(estimate: &Estimate) -> String {
    format!("{} to {}", exact(estimate.p10), exact(estimate.p90))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn range_has_all_digits() {
        let estimate = Estimate { p10: 0.48, p50: 0.5, p90: 0.61, sureness: 0.5 };
        assert_eq!(range(&estimate), "480 ms to 610 ms");
    }
}
