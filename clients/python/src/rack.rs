//! An opened store, with the runtime that its calls run on.
//!
//! Each has a runtime of its own: a forked child can open one without touching what it inherited.

use std::{path::PathBuf, pin::pin, sync::Arc, time::Duration};

use keyrack_bridge::{Failure, Parts, TestClock, call, runtime};
use keyrack_store::StoreUrl;
use parking_lot::Mutex;
use pyo3::prelude::*;
use tokio::runtime::{Handle, Runtime};

use crate::{
    error::{forked, raised},
    port::Port,
};

/// How often a call that waits lets Python look for signals.
const SIGNALS_EVERY: Duration = Duration::from_millis(100);
/// How long closing waits for what is under way.
const CLOSE_WITHIN: Duration = Duration::from_secs(2);

/// An opened store.
#[pyclass(frozen, module = "keyrack._keyrack")]
pub(crate) struct Rack {
    /// The process that opened it.
    pid: u32,
    /// Nothing once it is closed.
    opened: Mutex<Option<Arc<Opened>>>,
}

/// What an open store consists of.
pub(crate) struct Opened {
    pid: u32,
    /// There until it is dropped.
    runtime: Option<Runtime>,
    parts: Option<Arc<Parts>>,
}

impl Opened {
    pub(crate) fn parts(&self) -> &Arc<Parts> {
        self.parts.as_ref().expect("there until it is dropped")
    }

    pub(crate) fn handle(&self) -> &Handle {
        self.runtime.as_ref().expect("there until it is dropped").handle()
    }
}

impl Drop for Opened {
    fn drop(&mut self) {
        let (Some(runtime), Some(parts)) = (self.runtime.take(), self.parts.take()) else { return };
        if self.pid != std::process::id() {
            // The threads that it would wait for are the parent's.
            std::mem::forget((runtime, parts));
            return;
        }
        let engine = parts.store.engine().cloned();
        drop(parts);
        runtime.shutdown_timeout(CLOSE_WITHIN);
        if let Some(engine) = engine {
            // A log that cannot be synced was reported with the write that it was for.
            let _ = engine.close();
        }
    }
}

impl Opened {
    /// Runs a call to its end, without the GIL.
    pub(crate) fn run<T: Send>(
        &self,
        py: Python<'_>,
        call: impl Future<Output = Result<T, Failure>> + Send,
    ) -> PyResult<T> {
        let (handle, mut call) = (self.handle(), pin!(call));
        // In slices, so that Ctrl-C ends a call that waits for long.
        loop {
            let slice = call.as_mut();
            let ended = py.detach(|| {
                handle.block_on(async { tokio::time::timeout(SIGNALS_EVERY, slice).await })
            });
            match ended {
                Ok(answer) => return answer.map_err(raised),
                Err(_) => py.check_signals()?,
            }
        }
    }
}

/// Where the answer to a call goes that is not waited for: a port, and the number of the call there.
type ReplyTo<'py> = Option<(PyRef<'py, Port>, u64)>;

impl Rack {
    /// What it consists of, unless it is closed or another process opened it.
    pub(crate) fn opened(&self) -> Result<Arc<Opened>, Failure> {
        check_process(self.pid)?;
        self.opened.lock().clone().ok_or_else(Failure::closed)
    }
}

#[pymethods]
impl Rack {
    /// Opens the store of a URL.
    #[new]
    #[pyo3(signature = (url, password_file=None, has_test_clock=false))]
    fn new(
        py: Python<'_>,
        url: &str,
        password_file: Option<PathBuf>,
        has_test_clock: bool,
    ) -> PyResult<Rack> {
        let url: StoreUrl =
            url.parse().map_err(|error| raised(keyrack_store::Error::from(error)))?;
        let clock = has_test_clock.then(Arc::<TestClock>::default);
        let (runtime, parts) = py.detach(|| open(url, password_file, clock)).map_err(raised)?;
        let pid = std::process::id();
        let opened = Opened { pid, runtime: Some(runtime), parts: Some(parts) };
        Ok(Rack { pid, opened: Mutex::new(Some(Arc::new(opened))) })
    }

    /// The store's address, without its password.
    #[getter]
    fn url(&self) -> PyResult<String> {
        Ok(self.opened().map_err(raised)?.parts().store.url().to_string())
    }

    /// Whether it was closed.
    #[getter]
    fn closed(&self) -> PyResult<bool> {
        check_process(self.pid).map_err(raised)?;
        Ok(self.opened.lock().is_none())
    }

    /// Closes it. Calls and workers that are under way keep it open until they end.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        check_process(self.pid).map_err(raised)?;
        let opened = self.opened.lock().take();
        py.detach(|| drop(opened));
        Ok(())
    }

    /// Makes a call with its arguments as JSON. Returns its answer as JSON, or None if that goes to a port.
    #[pyo3(signature = (name, text, reply_to=None))]
    fn call(
        &self,
        py: Python<'_>,
        name: String,
        text: String,
        reply_to: ReplyTo<'_>,
    ) -> PyResult<Option<String>> {
        let opened = self.opened().map_err(raised)?;
        let parts = opened.parts().clone();
        let call = async move { call(&parts, &name, &text).await };
        let Some((port, number)) = reply_to else { return opened.run(py, call).map(Some) };
        port.shared.clone().start(opened.handle(), number, call);
        Ok(None)
    }

    /// So many more iterations of a run are done. Waits for nothing.
    fn tick(&self, run: u32, n: u64) -> PyResult<()> {
        self.opened().map_err(raised)?.parts().tick(run, n);
        Ok(())
    }

    /// Seconds that a run will still take by what earlier ones say, or None. Waits for nothing.
    fn estimate(&self, run: u32) -> PyResult<Option<f64>> {
        Ok(self.opened().map_err(raised)?.parts().estimate(run))
    }
}

fn open(
    url: StoreUrl,
    password_file: Option<PathBuf>,
    clock: Option<Arc<TestClock>>,
) -> Result<(Runtime, Arc<Parts>), Failure> {
    let runtime = runtime()?;
    let parts = runtime.block_on(Parts::open(url, password_file, clock))?;
    Ok((runtime, Arc::new(parts)))
}

/// A time that Python gives in seconds; for ever counts as a year.
pub(crate) fn seconds(seconds: f64) -> Duration {
    keyrack_bridge::milliseconds(seconds * 1000.0)
}

/// Refuses what another process has made.
pub(crate) fn check_process(pid: u32) -> Result<(), Failure> {
    if pid == std::process::id() { Ok(()) } else { Err(forked()) }
}
