//! Where the time comes from.

use std::{
    fmt,
    time::{SystemTime, UNIX_EPOCH},
};

/// The time, as everything above the store reads it.
pub trait Clock: Send + Sync + fmt::Debug + 'static {
    /// Milliseconds since the Unix epoch.
    fn now_ms(&self) -> u64;
}

/// The machine's clock.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "this is the clock that everybody else asks")]
    fn now_ms(&self) -> u64 {
        let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        u64::try_from(since_epoch.as_millis()).unwrap_or(u64::MAX)
    }
}

impl Clock for keyrack_engine::SimulatedHost {
    fn now_ms(&self) -> u64 {
        keyrack_engine::SimulatedHost::now_ms(self)
    }
}
