//! One clock for all processes of a campaign.

use rustix::time::{ClockId, clock_gettime};

/// Milliseconds on the machine's monotonic clock: the same in all processes, and no clock step moves it.
pub(crate) fn monotonic_ms() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec as u64 * 1000 + now.tv_nsec as u64 / 1_000_000
}
