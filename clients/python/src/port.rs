//! How asyncio hears of calls that have ended: one descriptor for all of them.
//!
//! A loop watches the descriptor and takes all answers at once. Nothing here calls into Python from
//! another thread, so a busy interpreter delays nobody.

use std::{
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

use parking_lot::Mutex;
use pyo3::{IntoPyObjectExt as _, prelude::*};

use crate::error::Failure;

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

/// What a call about jobs brings.
pub(crate) enum Answer {
    Nothing,
    Text(String),
    MaybeText(Option<String>),
    Texts(Vec<String>),
}

impl Answer {
    pub(crate) fn to_py(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        match self {
            Answer::Nothing => Ok(py.None()),
            Answer::Text(text) => text.into_py_any(py),
            Answer::MaybeText(text) => text.as_deref().into_py_any(py),
            Answer::Texts(texts) => texts.into_py_any(py),
        }
    }
}

/// Calls that have ended, each under the number that it was given, for one event loop.
#[pyclass(frozen, module = "keyrack._keyrack")]
pub(crate) struct Port {
    pub(crate) shared: Arc<Shared>,
}

pub(crate) struct Shared {
    signal: Signal,
    ended: Mutex<Vec<(u64, Result<Answer, Failure>)>>,
}

impl Shared {
    pub(crate) fn end(&self, call: u64, answer: Result<Answer, Failure>) {
        self.ended.lock().push((call, answer));
        self.signal.raise();
    }
}

#[pymethods]
impl Port {
    #[new]
    fn new() -> PyResult<Port> {
        let shared = Shared { signal: Signal::new()?, ended: Mutex::default() };
        Ok(Port { shared: Arc::new(shared) })
    }

    /// The descriptor to watch for reading.
    fn fileno(&self) -> RawFd {
        self.shared.signal.fileno()
    }

    /// Takes the calls that have ended: number, value, exception.
    fn take(&self, py: Python<'_>) -> PyResult<Vec<Taken>> {
        self.shared.signal.lower();
        let ended = std::mem::take(&mut *self.shared.ended.lock());
        ended
            .into_iter()
            .map(|(call, answer)| match answer {
                Ok(answer) => Ok((call, answer.to_py(py)?, None)),
                Err(failure) => {
                    Ok((call, py.None(), Some(failure.to_py(py).into_value(py).into_any())))
                }
            })
            .collect()
    }
}

type Taken = (u64, Py<PyAny>, Option<Py<PyAny>>);
