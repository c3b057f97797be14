//! How asyncio hears of calls that have ended: one descriptor for all of them.
//!
//! A loop watches the descriptor and takes all answers at once. Nothing here calls into Python from
//! another thread, so a busy interpreter delays nobody.

use std::{
    collections::HashMap,
    io::{self, Read as _, Write as _},
    os::{
        fd::{AsRawFd as _, RawFd},
        unix::net::UnixStream,
    },
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use keyrack_bridge::Failure;
use parking_lot::Mutex;
use pyo3::prelude::*;
use tokio::{runtime::Handle, task::AbortHandle};

use crate::error::exception;

/// Becomes readable when it is raised, until it is lowered.
pub(crate) struct Signal {
    writer: UnixStream,
    reader: UnixStream,
    is_up: AtomicBool,
}

impl Signal {
    pub(crate) fn new() -> io::Result<Signal> {
        let (writer, reader) = UnixStream::pair()?;
        writer.set_nonblocking(true)?;
        reader.set_nonblocking(true)?;
        Ok(Signal { writer, reader, is_up: AtomicBool::new(false) })
    }

    pub(crate) fn fileno(&self) -> RawFd {
        self.reader.as_raw_fd()
    }

    pub(crate) fn raise(&self) {
        if !self.is_up.swap(true, Ordering::SeqCst) {
            // It can be full only of bytes that nobody has read, and then it is up.
            let _ = (&self.writer).write(&[1]);
        }
    }

    /// To be called before looking at what was raised for: what comes later raises it again.
    pub(crate) fn lower(&self) {
        let mut bytes = [0; 64];
        while matches!((&self.reader).read(&mut bytes), Ok(n) if n == bytes.len()) {}
        self.is_up.store(false, Ordering::SeqCst);
    }
}

/// What a call brings, as JSON text.
pub(crate) type Answer = Result<String, Failure>;

/// Calls that have ended, each under the number that it was given, for one event loop.
#[pyclass(frozen, module = "keyrack._keyrack")]
pub(crate) struct Port {
    pub(crate) shared: Arc<Shared>,
}

pub(crate) struct Shared {
    signal: Signal,
    state: Mutex<Calls>,
}

#[derive(Default)]
struct Calls {
    running: HashMap<u64, AbortHandle>,
    ended: Vec<(u64, Answer)>,
}

impl Shared {
    /// Makes a call whose answer comes under this number.
    pub(crate) fn start(
        self: Arc<Shared>,
        runtime: &Handle,
        number: u64,
        call: impl Future<Output = Answer> + Send + 'static,
    ) {
        let shared = self.clone();
        // Held until the call is known: it may end before.
        let mut state = self.state.lock();
        let task = runtime.spawn(async move {
            let answer = call.await;
            let mut state = shared.state.lock();
            if state.running.remove(&number).is_some() {
                state.ended.push((number, answer));
                drop(state);
                shared.signal.raise();
            }
        });
        state.running.insert(number, task.abort_handle());
    }
}

#[pymethods]
impl Port {
    #[new]
    fn new() -> PyResult<Port> {
        let shared = Shared { signal: Signal::new()?, state: Mutex::default() };
        Ok(Port { shared: Arc::new(shared) })
    }

    /// The descriptor to watch for reading.
    fn fileno(&self) -> RawFd {
        self.shared.signal.fileno()
    }

    /// Nobody waits for this call any more: it ends, unless it has.
    fn abandon(&self, number: u64) {
        let mut state = self.shared.state.lock();
        if let Some(call) = state.running.remove(&number) {
            call.abort();
        }
        state.ended.retain(|(ended, _)| *ended != number);
    }

    /// Takes the calls that have ended: number, value, exception.
    fn take(&self, py: Python<'_>) -> Vec<Taken> {
        self.shared.signal.lower();
        let ended = std::mem::take(&mut self.shared.state.lock().ended);
        ended
            .into_iter()
            .map(|(call, answer)| match answer {
                Ok(answer) => (call, Some(answer), None),
                Err(failure) => {
                    (call, None, Some(exception(py, &failure).into_value(py).into_any()))
                }
            })
            .collect()
    }
}

type Taken = (u64, Option<String>, Option<Py<PyAny>>);
