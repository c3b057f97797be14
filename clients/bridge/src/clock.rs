//! A clock that a test moves on.

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use keyrack_engine::{SystemTimeSource, TimeSource};

/// The clocks of this machine, and by how much a test is ahead of them.
#[derive(Debug, Default)]
pub struct TestClock {
    ahead_us: AtomicU64,
}

impl TestClock {
    pub(crate) fn advance(&self, by: Duration) {
        let by = u64::try_from(by.as_micros()).unwrap_or(0);
        self.ahead_us.fetch_add(by, Ordering::SeqCst);
    }
}

impl TimeSource for TestClock {
    fn monotonic_us(&self) -> u64 {
        SystemTimeSource.monotonic_us() + self.ahead_us.load(Ordering::SeqCst)
    }

    fn wall_us(&self) -> u64 {
        SystemTimeSource.wall_us() + self.ahead_us.load(Ordering::SeqCst)
    }
}
