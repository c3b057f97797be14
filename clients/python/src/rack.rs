//! An opened store, with the runtime that its calls run on.
//!
//! Each has a runtime of its own: a forked child can open one without touching what it inherited.

use std::{path::PathBuf, pin::pin, sync::Arc, time::Duration};

use keyrack_store::{Options, Store, StoreUrl};
use parking_lot::Mutex;
use pyo3::prelude::*;
use tokio::runtime::{Builder, Handle, Runtime};

use crate::{
    error::Failure,
    jobs::Jobs,
    port::{Answer, Port},
    progress::Progress,
};

/// Threads of a runtime. Calls are mostly waiting; an embedded store works in the caller's thread.
const THREADS: usize = 2;
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
    parts: Option<Parts>,
}

#[derive(Clone)]
pub(crate) struct Parts {
    pub(crate) store: Store,
    pub(crate) jobs: Jobs,
    pub(crate) progress: Progress,
}

impl Opened {
    pub(crate) fn parts(&self) -> &Parts {
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
                Ok(answer) => return Ok(answer?),
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

    /// Makes a call and waits for its answer, or starts it if the answer goes to a port.
    fn call<F>(
        &self,
        py: Python<'_>,
        reply_to: ReplyTo<'_>,
        call: impl FnOnce(Jobs) -> F,
    ) -> PyResult<Py<PyAny>>
    where
        F: Future<Output = Result<Answer, Failure>> + Send + 'static,
    {
        let opened = self.opened()?;
        let call = call(opened.parts().jobs.clone());
        let Some((port, number)) = reply_to else { return opened.run(py, call)?.to_py(py) };
        let shared = port.shared.clone();
        opened.handle().spawn(async move { shared.end(number, call.await) });
        Ok(py.None())
    }
}

#[pymethods]
impl Rack {
    /// Opens the store of a URL.
    #[new]
    #[pyo3(signature = (url, password_file=None))]
    fn new(py: Python<'_>, url: &str, password_file: Option<PathBuf>) -> PyResult<Rack> {
        let url: StoreUrl =
            url.parse().map_err(|error| Failure::from(keyrack_store::Error::from(error)))?;
        let (runtime, parts) = py.detach(|| open(url, password_file))?;
        let pid = std::process::id();
        let opened = Opened { pid, runtime: Some(runtime), parts: Some(parts) };
        Ok(Rack { pid, opened: Mutex::new(Some(Arc::new(opened))) })
    }

    /// The store's address, without its password.
    #[getter]
    fn url(&self) -> PyResult<String> {
        Ok(self.opened()?.parts().store.url().to_string())
    }

    /// Whether it was closed.
    #[getter]
    fn closed(&self) -> PyResult<bool> {
        check_process(self.pid)?;
        Ok(self.opened.lock().is_none())
    }

    /// Closes it. Calls and workers that are under way keep it open until they end.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        check_process(self.pid)?;
        let opened = self.opened.lock().take();
        py.detach(|| drop(opened));
        Ok(())
    }

    /// Submits a job for each list of arguments, and returns their ids.
    #[pyo3(signature = (queue, jobs, options, key=None, reply_to=None))]
    fn submit(
        &self,
        py: Python<'_>,
        queue: String,
        jobs: String,
        options: String,
        key: Option<String>,
        reply_to: ReplyTo<'_>,
    ) -> PyResult<Py<PyAny>> {
        self.call(py, reply_to, async move |calls: Jobs| {
            calls.submit(&queue, &jobs, &options, key.as_deref()).await.map(Answer::Texts)
        })
    }

    /// The job as JSON.
    #[pyo3(signature = (id, reply_to=None))]
    fn job(&self, py: Python<'_>, id: String, reply_to: ReplyTo<'_>) -> PyResult<Py<PyAny>> {
        self.call(py, reply_to, async move |calls: Jobs| calls.job(&id).await.map(Answer::Text))
    }

    /// The job at its end as JSON, or None if that has not come in so many seconds.
    #[pyo3(signature = (id, timeout, reply_to=None))]
    fn outcome(
        &self,
        py: Python<'_>,
        id: String,
        timeout: f64,
        reply_to: ReplyTo<'_>,
    ) -> PyResult<Py<PyAny>> {
        let timeout = seconds(timeout);
        self.call(py, reply_to, async move |calls: Jobs| {
            calls.outcome(&id, timeout).await.map(Answer::MaybeText)
        })
    }

    /// Cancels the job and its children, and returns their ids.
    #[pyo3(signature = (id, reply_to=None))]
    fn cancel(&self, py: Python<'_>, id: String, reply_to: ReplyTo<'_>) -> PyResult<Py<PyAny>> {
        self.call(py, reply_to, async move |calls: Jobs| calls.cancel(&id).await.map(Answer::Texts))
    }

    /// Lets a job that has failed or was canceled run again.
    #[pyo3(signature = (id, reply_to=None))]
    fn retry(&self, py: Python<'_>, id: String, reply_to: ReplyTo<'_>) -> PyResult<Py<PyAny>> {
        self.call(py, reply_to, async move |calls: Jobs| {
            calls.retry(&id).await.map(|()| Answer::Nothing)
        })
    }
}

fn open(url: StoreUrl, password_file: Option<PathBuf>) -> Result<(Runtime, Parts), Failure> {
    let runtime = Builder::new_multi_thread()
        .worker_threads(THREADS)
        .thread_name("keyrack")
        .enable_all()
        .build()
        .map_err(|error| Failure::new("internal", format!("no threads to be had: {error}")))?;
    let parts = runtime.block_on(async {
        let options = Options { password_file, ..Options::default() };
        let store = Store::open_with(url, options).await?;
        let jobs = Jobs::open(store.clone()).await?;
        let progress = Progress::open(store.clone());
        Ok::<_, Failure>(Parts { store, jobs, progress })
    })?;
    Ok((runtime, parts))
}

/// A time that Python gives in seconds; for ever counts as a year.
pub(crate) fn seconds(seconds: f64) -> Duration {
    const YEAR: f64 = 365.0 * 86_400.0;
    Duration::from_secs_f64(seconds.clamp(0.0, YEAR))
}

/// Refuses what another process has made.
pub(crate) fn check_process(pid: u32) -> Result<(), Failure> {
    if pid == std::process::id() { Ok(()) } else { Err(Failure::fork()) }
}
