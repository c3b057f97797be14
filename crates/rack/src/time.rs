//! Durations in few letters.

use std::time::Duration;

/// So many milliseconds.
pub const fn millis(n: u64) -> Duration {
    Duration::from_millis(n)
}

/// So many seconds.
pub const fn secs(n: u64) -> Duration {
    Duration::from_secs(n)
}

/// So many minutes.
pub const fn mins(n: u64) -> Duration {
    Duration::from_secs(n.saturating_mul(60))
}

/// So many hours.
pub const fn hours(n: u64) -> Duration {
    Duration::from_secs(n.saturating_mul(3_600))
}

/// So many days.
pub const fn days(n: u64) -> Duration {
    Duration::from_secs(n.saturating_mul(86_400))
}
