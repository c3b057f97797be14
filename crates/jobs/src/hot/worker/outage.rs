//! Waiting out a store that cannot be reached: told once, tried again with growing pauses.

use std::{fmt::Display, time::Duration};

/// Short enough to go on within a second of the store's return.
const PAUSE_MAX: Duration = Duration::from_millis(500);
const PAUSE_MIN: Duration = Duration::from_millis(20);

/// Whether and for how long something has been failing.
#[derive(Debug)]
pub(super) struct Outage {
    doing: &'static str,
    pause: Option<Duration>,
}

impl Outage {
    pub(super) fn new(doing: &'static str) -> Outage {
        Outage { doing, pause: None }
    }

    /// Notes a failure and waits a little.
    pub(super) async fn wait(&mut self, worker: &str, error: &impl Display) {
        let pause = match self.pause {
            None => {
                let doing = self.doing;
                tracing::warn!(worker, %error, "{doing} failed; trying again until it works");
                PAUSE_MIN
            }
            Some(pause) => (pause * 2).min(PAUSE_MAX),
        };
        self.pause = Some(pause);
        tokio::time::sleep(pause).await;
    }

    /// Notes that it works.
    pub(super) fn over(&mut self, worker: &str) {
        if self.pause.take().is_some() {
            let doing = self.doing;
            tracing::info!(worker, "{doing} works again");
        }
    }
}
