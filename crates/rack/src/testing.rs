//! Time that a test moves by hand.

use std::time::Duration;

use jiff::Timestamp;
use keyrack_engine::SimulatedHost;

use crate::Keyrack;

/// The clock of a store in memory, which [`Keyrack::in_memory_at`] gives. It stands still until it is moved.
///
/// Everything that is stored with a time goes by it: delays, retries, debounces, limits, results that expire. How long a
/// handler may run and how long a caller waits is real time.
#[derive(Debug, Clone)]
pub struct TestTime {
    rack: Keyrack,
    clock: SimulatedHost,
}

impl TestTime {
    pub(crate) fn new(rack: Keyrack, clock: SimulatedHost) -> TestTime {
        TestTime { rack, clock }
    }

    /// Moves the clock on, expires what is over, and wakes workers of this process for what is due. Jobs that run at this
    /// moment stay with their workers.
    ///
    /// # Panics
    /// When the engine is gone, because the runtime is about to end.
    pub async fn advance(&self, by: Duration) {
        let by_ms = u64::try_from(by.as_millis()).unwrap_or(u64::MAX);
        let advance = || {
            self.clock.advance_ms(by_ms);
            if let Some(engine) = self.rack.store().engine() {
                engine.tick();
            }
        };
        #[cfg(feature = "jobs")]
        self.rack.hive().move_time(by, advance).await.expect("an engine in memory answers");
        #[cfg(not(feature = "jobs"))]
        advance();
    }

    /// What the clock shows.
    pub fn now(&self) -> Timestamp {
        let ms = i64::try_from(self.clock.now_ms()).unwrap_or(i64::MAX);
        Timestamp::from_millisecond(ms).unwrap_or(Timestamp::MAX)
    }
}
