//! Where the time comes from: the store's own clock, carried on by this machine's monotonic one.

mod anchored;
mod measure;

use std::{
    fmt,
    sync::Arc,
    time::{Instant, SystemTime, UNIX_EPOCH},
};

use keyrack_engine::{SteadyClock, TimeSource};

use tokio::sync::watch;

use crate::{connection::Connection, error::Error};

/// The time, as everything above the store reads it.
pub trait Clock: Send + Sync + fmt::Debug + 'static {
    /// Milliseconds since the Unix epoch.
    fn now_ms(&self) -> u64;

    /// When the clock last jumped by a second or more, because the store's own did; `None` if it never has.
    ///
    /// Moments that were stored before may then have come early or late by the jump.
    fn last_jump(&self) -> Option<Instant> {
        None
    }

    /// Whether it follows the store's clock by itself.
    fn is_anchored(&self) -> bool {
        false
    }
}

/// The machine's clock as it is set; a store goes by its own instead.
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

/// The clock of the server behind a connection, followed for as long as somebody reads it. `switches` changes when another server has
/// become the primary.
pub(crate) async fn of_server(
    connection: &Connection,
    source: Arc<dyn TimeSource>,
    switches: Option<watch::Receiver<u64>>,
) -> Result<Arc<dyn Clock>, Error> {
    match measure::anchor(connection, source.clone()).await {
        Ok(clock) => {
            let keeping =
                measure::keep_anchored(Arc::downgrade(&clock), connection.clone(), switches);
            tokio::spawn(keeping);
            Ok(clock)
        }
        Err(error @ Error::Denied(_)) => {
            tracing::warn!(%error, "cannot ask the store for its time; this machine's clock has to be right");
            Ok(Arc::new(EngineClock(Arc::new(SteadyClock::new(source)))))
        }
        Err(error) => Err(error),
    }
}

/// The clock of the engine in this process.
#[derive(Debug)]
pub(crate) struct EngineClock(pub(crate) Arc<SteadyClock>);

impl Clock for EngineClock {
    fn now_ms(&self) -> u64 {
        self.0.now_us() / 1000
    }

    fn last_jump(&self) -> Option<Instant> {
        self.0.last_jump()
    }

    fn is_anchored(&self) -> bool {
        true
    }
}
