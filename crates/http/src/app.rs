//! What every route is given.

use std::time::{Duration, Instant};

use keyrack_store::Store;

use crate::{census::Census, observe::Requests};

/// How long the store may take to answer a PING before it counts as gone.
const PING_TIMEOUT: Duration = Duration::from_secs(2);

/// What every route is given.
#[derive(Debug)]
pub(crate) struct App {
    pub(crate) store: Store,
    pub(crate) census: Census,
    pub(crate) requests: Requests,
    started: Instant,
}

impl App {
    pub(crate) fn new(store: Store) -> App {
        let census = Census::new(store.clone());
        App { store, census, requests: Requests::new(), started: Instant::now() }
    }

    /// For how long the server has been up.
    pub(crate) fn uptime(&self) -> Duration {
        self.started.elapsed()
    }

    /// How long the store takes to answer, or why it does not.
    pub(crate) async fn ping(&self) -> Result<Duration, String> {
        let asked = Instant::now();
        match tokio::time::timeout(PING_TIMEOUT, self.store.ping()).await {
            Ok(Ok(())) => Ok(asked.elapsed()),
            Ok(Err(error)) => Err(error.to_string()),
            Err(_) => Err(format!("no answer within {} s", PING_TIMEOUT.as_secs())),
        }
    }
}
