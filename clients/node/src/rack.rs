//! A store that is opened when it is first used, with the runtime that its calls run on.

use std::{path::PathBuf, sync::Arc, time::Duration};

use keyrack_jobs::bee::Hive;
use keyrack_progress::Progress;
use keyrack_store::{Options, Store, StoreUrl};
use napi::bindgen_prelude::Function;
use napi_derive::napi;
use parking_lot::Mutex;
use tokio::{
    runtime::{Builder, Handle, Runtime},
    sync::OnceCell,
};

use crate::{
    call::call,
    clock::TestClock,
    error::Failure,
    events::Streams,
    port::{Port, Reply},
    progress::{self, Runs},
    wake::Wake,
};

/// Threads of a runtime. Calls are mostly waiting; an embedded store works in the caller's thread.
const THREADS: usize = 2;
/// How long closing waits for what is under way.
const CLOSE_WITHIN: Duration = Duration::from_secs(2);

/// A store. Nothing here waits: whoever calls gets a number's answer from the port.
#[napi]
pub struct Rack {
    url: String,
    port: Arc<Port>,
    /// Nothing once it is closed.
    open: Mutex<Option<(Arc<Opening>, Runtime)>>,
}

/// How a store is opened, and what it then consists of.
pub(crate) struct Opening {
    url: StoreUrl,
    password_file: Option<PathBuf>,
    clock: Option<Arc<TestClock>>,
    parts: OnceCell<Arc<Parts>>,
}

pub(crate) struct Parts {
    pub(crate) store: Store,
    pub(crate) hive: Hive,
    pub(crate) progress: Progress,
    pub(crate) runs: Runs,
    pub(crate) streams: Streams,
    pub(crate) clock: Option<Arc<TestClock>>,
}

impl Opening {
    /// The open store. One that could not be opened is tried again.
    pub(crate) async fn parts(&self) -> Result<Arc<Parts>, Failure> {
        self.parts.get_or_try_init(|| self.open()).await.cloned()
    }

    async fn open(&self) -> Result<Arc<Parts>, Failure> {
        let time_source = self.clock.clone().map(|clock| clock as _);
        let password_file = self.password_file.clone();
        let options = Options { password_file, time_source, ..Options::default() };
        let store = Store::open_with(self.url.clone(), options).await?;
        Ok(Arc::new(Parts {
            hive: Hive::open(store.clone()).await?,
            progress: progress::open(store.clone()),
            store,
            runs: Runs::default(),
            streams: Streams::default(),
            clock: self.clock.clone(),
        }))
    }
}

impl Rack {
    /// What it consists of, if it is open by now.
    pub(crate) fn parts_now(&self) -> Option<Arc<Parts>> {
        self.open.lock().as_ref().and_then(|(opening, _)| opening.parts.get().cloned())
    }

    /// How it is opened, and where its calls run.
    pub(crate) fn opening(&self) -> Result<(Arc<Opening>, Handle), Failure> {
        let open = self.open.lock();
        let (opening, runtime) = open.as_ref().ok_or_else(Failure::closed)?;
        Ok((opening.clone(), runtime.handle().clone()))
    }

    /// A reply to the call with this number.
    pub(crate) fn reply(&self, number: u32) -> Reply {
        Reply::new(self.port.clone(), number)
    }
}

#[napi]
impl Rack {
    /// The store of a URL. `wake` is called when calls have ended.
    #[napi(constructor)]
    pub fn new(
        url: String,
        password_file: Option<String>,
        has_test_clock: bool,
        wake: Function<'_, (), ()>,
    ) -> napi::Result<Rack> {
        let parsed: StoreUrl =
            url.parse().map_err(|error| Failure::from(keyrack_store::Error::from(error)))?;
        let runtime = Builder::new_multi_thread()
            .worker_threads(THREADS)
            .thread_name("keyrack")
            .enable_all()
            .build()
            .map_err(|error| Failure::internal(format!("no threads to be had: {error}")))?;
        let opening = Opening {
            url: parsed.clone(),
            password_file: password_file.map(PathBuf::from),
            clock: has_test_clock.then(Arc::default),
            parts: OnceCell::new(),
        };
        Ok(Rack {
            url: parsed.to_string(),
            port: Arc::new(Port::new(Wake::new(wake)?)),
            open: Mutex::new(Some((Arc::new(opening), runtime))),
        })
    }

    /// The store's address, without its password.
    #[napi(getter)]
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Makes a call. Its answer comes under its number.
    #[napi]
    pub fn call(&self, number: u32, name: String, text: String) {
        let reply = self.reply(number);
        // Of a closed store, the reply that is dropped here says so.
        let Ok((opening, handle)) = self.opening() else { return };
        handle.spawn(async move {
            let answer = match opening.parts().await {
                Ok(parts) => call(&parts, &name, &text).await,
                Err(failure) => Err(failure),
            };
            reply.send(answer);
        });
    }

    /// Takes the calls that have ended.
    #[napi]
    pub fn take(&self) -> String {
        self.port.take()
    }

    /// Closes the store: calls that are under way get an error. Without a number the caller waits.
    #[napi]
    pub fn close(&self, number: Option<u32>) {
        let engine = self.parts_now().and_then(|parts| parts.store.engine().cloned());
        let Some((opening, runtime)) = self.open.lock().take() else {
            if let Some(number) = number {
                self.reply(number).send(Ok("null".to_owned()));
            }
            return;
        };
        let close = move || {
            drop(opening);
            runtime.shutdown_timeout(CLOSE_WITHIN);
            if let Some(engine) = engine {
                // A log that cannot be synced was reported with the write that it was for.
                let _ = engine.close();
            }
        };
        let Some(number) = number else { return close() };
        let reply = self.reply(number);
        std::thread::spawn(move || {
            close();
            reply.send(Ok("null".to_owned()));
        });
    }
}

impl Drop for Rack {
    fn drop(&mut self) {
        if let Some((_, runtime)) = self.open.get_mut().take() {
            // Whoever has forgotten to close it does not wait for it either.
            runtime.shutdown_background();
        }
    }
}

/// A time that JavaScript gives in milliseconds; for ever counts as a year.
pub(crate) fn milliseconds(ms: f64) -> Duration {
    const YEAR_MS: f64 = 365.0 * 86_400_000.0;
    Duration::from_secs_f64(if ms.is_nan() { 0.0 } else { ms.clamp(0.0, YEAR_MS) / 1000.0 })
}
