//! A store that is opened when it is first used, with the runtime that its calls run on.

use std::{path::PathBuf, sync::Arc, time::Duration};

use keyrack_bridge::{Failure, Parts, TestClock, call, runtime};
use keyrack_store::StoreUrl;
use napi::bindgen_prelude::Function;
use napi_derive::napi;
use parking_lot::Mutex;
use tokio::{
    runtime::{Handle, Runtime},
    sync::OnceCell,
};

use crate::{
    port::{Port, Reply, thrown},
    wake::Wake,
};

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

impl Opening {
    /// The open store. One that could not be opened is tried again.
    pub(crate) async fn parts(&self) -> Result<Arc<Parts>, Failure> {
        self.parts.get_or_try_init(|| self.open()).await.cloned()
    }

    async fn open(&self) -> Result<Arc<Parts>, Failure> {
        let (url, password_file) = (self.url.clone(), self.password_file.clone());
        Ok(Arc::new(Parts::open(url, password_file, self.clock.clone()).await?))
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
            url.parse().map_err(|error| thrown(keyrack_store::Error::from(error)))?;
        let runtime = runtime().map_err(thrown)?;
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

    /// So many more iterations of a run are done.
    #[napi]
    pub fn tick(&self, number: u32, n: u32) {
        if let Some(parts) = self.parts_now() {
            parts.tick(number, n.into());
        }
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
