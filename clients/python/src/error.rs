//! Failed calls as Python exceptions.

use keyrack_bridge::Failure;
use pyo3::{PyErr, Python, types::PyAnyMethods as _};

/// The use of a store that was opened before the process was forked: none of its threads are here.
pub(crate) fn forked() -> Failure {
    let message = "this store was opened before the process was forked, and its connections and \
                   threads belong to the parent; call App.reopen() in the child";
    Failure::new("fork", message)
}

/// The exception that Python programs catch.
pub(crate) fn exception(py: Python<'_>, failure: &Failure) -> PyErr {
    let made = py.import("keyrack._errors").and_then(|errors| {
        let Failure { class, message, is_transient } = failure;
        errors.call_method1("error_of", (class, message, is_transient))
    });
    made.map_or_else(|error| error, PyErr::from_value)
}

/// The same for whoever does not have the interpreter at hand.
pub(crate) fn raised(failure: impl Into<Failure>) -> PyErr {
    let failure = failure.into();
    Python::attach(|py| exception(py, &failure))
}
