//! Times and ranges in words.

use std::time::Duration;

use keyrack_http::human;
use keyrack_progress::estimate::Estimate;

use crate::when;

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

/// A time that is only estimated, without digits that mean nothing.
pub(super) fn about(seconds: f64) -> String {
    let seconds = seconds.clamp(0.0, 1e12);
    match seconds {
        ..1.0 => "1 s".to_owned(),
        ..60.0 => format!("{:.0} s", seconds.ceil()),
        _ => human::duration(seconds.round() as u64),
    }
}

/// A time that was measured.
pub(super) fn exact(seconds: f64) -> String {
    when::short(Duration::from_secs_f64(seconds.clamp(0.0, 1e12)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn estimates_are_told_without_digits_that_mean_nothing() {
        let told = [-1.0, 0.2, 1.2, 59.2, 61.4, 3_700.0, f64::INFINITY].map(about);
        assert_eq!(told[..5], ["1 s", "1 s", "2 s", "60 s", "1 min 1 s"]);
        assert_eq!(told[5], "1 h 1 min");
        assert!(told[6].ends_with(" h"), "{told:?}");
    }

    #[test]
    fn range_is_told_where_there_is_one() {
        let estimate = |p10, p50, p90| Estimate { p10, p50, p90, sureness: 0.5 };
        assert_eq!(left(&estimate(4.1, 5.5, 9.0)), "6 s left (5 s to 9 s)");
        assert_eq!(left(&estimate(5.1, 5.5, 5.9)), "6 s left");
        assert_eq!(range(&estimate(0.48, 0.5, 0.61)), "480 ms to 610 ms");
    }
}
