//! An opened store, and the services on it.

use std::{path::PathBuf, sync::Arc, time::Duration};

use keyrack_engine::Listener;
use keyrack_entitlements::Entitlements;
use keyrack_jobs::bee::Hive;
use keyrack_progress::Progress;
use keyrack_store::{Options, Store, StoreUrl};
use tokio::runtime::{Builder, Runtime};

use crate::{
    clock::TestClock,
    error::Failure,
    events::Streams,
    files::Uploads,
    progress::{self, Runs},
};

/// Threads of a runtime. Calls are mostly waiting; an embedded store works in the caller's thread.
const THREADS: usize = 2;

/// What an open store consists of.
#[derive(Debug)]
pub struct Parts {
    /// The store itself.
    pub store: Store,
    /// Its queues.
    pub hive: Hive,
    pub(crate) progress: Progress,
    pub(crate) runs: Runs,
    pub(crate) streams: Streams,
    pub(crate) uploads: Uploads,
    /// What users have paid for, once somebody has asked.
    pub(crate) entitlements: tokio::sync::OnceCell<Entitlements>,
    pub(crate) clock: Option<Arc<TestClock>>,
    /// The port for clients of Redis, once somebody has asked for it.
    port: tokio::sync::Mutex<Option<Listener>>,
}

impl Parts {
    /// Opens the store of a URL; with a clock of a test, by that.
    ///
    /// # Errors
    /// When the store cannot be opened.
    pub async fn open(
        url: StoreUrl,
        password_file: Option<PathBuf>,
        clock: Option<Arc<TestClock>>,
    ) -> Result<Parts, Failure> {
        let time_source = clock.clone().map(|clock| clock as _);
        let options = Options { password_file, time_source, ..Options::default() };
        let store = Store::open_with(url, options).await?;
        Ok(Parts {
            hive: Hive::open(store.clone()).await?,
            progress: progress::open(store.clone()),
            store,
            runs: Runs::default(),
            streams: Streams::default(),
            uploads: Uploads::default(),
            entitlements: tokio::sync::OnceCell::new(),
            clock,
            port: tokio::sync::Mutex::default(),
        })
    }

    /// So many more iterations of a run are done. Waits for nothing.
    pub fn tick(&self, run: u32, n: u64) {
        self.runs.tick(run, n);
    }

    /// Seconds that a run will still take by what earlier ones say; none if they say nothing, or have not
    /// been read yet. Waits for nothing.
    pub fn estimate(&self, run: u32) -> Option<f64> {
        self.runs.estimate(run)
    }

    /// Opens the port on which an embedded store speaks Redis' protocol, unless it is open, and returns
    /// its address.
    pub(crate) async fn listen(&self) -> Result<String, Failure> {
        let mut port = self.port.lock().await;
        if port.is_none() {
            let Some(engine) = self.store.engine() else {
                return Err(Failure::invalid("only an embedded store can be a server"));
            };
            let opened = engine.listen("127.0.0.1:0").await;
            let opened =
                opened.map_err(|error| Failure::internal(format!("no port to be had: {error}")))?;
            *port = Some(opened);
        }
        Ok(port.as_ref().map_or_else(String::new, |port| port.local_addr().to_string()))
    }
}

/// The threads that the calls of a store run on.
///
/// # Errors
/// When there are none to be had.
pub fn runtime() -> Result<Runtime, Failure> {
    Builder::new_multi_thread()
        .worker_threads(THREADS)
        .thread_name("keyrack")
        .enable_all()
        .build()
        .map_err(|error| Failure::internal(format!("no threads to be had: {error}")))
}

/// A time in milliseconds; for ever counts as a year.
pub fn milliseconds(ms: f64) -> Duration {
    const YEAR_MS: f64 = 365.0 * 86_400_000.0;
    Duration::from_secs_f64(if ms.is_nan() { 0.0 } else { ms.clamp(0.0, YEAR_MS) / 1000.0 })
}

/// Plain data as JSON text.
pub fn to_json(value: &impl serde::Serialize) -> String {
    serde_json::to_string(value).unwrap_or_else(|_| "null".to_owned())
}
