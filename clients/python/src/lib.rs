//! The native module of the Python package `keyrack`: the same crates that Rust programs use.
//!
//! Python decides what a task is and how its arguments are written as JSON; see `python/keyrack`. This
//! side has everything that waits: calls to the store, leases, claims and settles.
//!
//! In reading order: `rack` is an opened store with its runtime, whose calls are those of
//! `keyrack_bridge`, `port` how asyncio hears of calls that have ended. `work` runs a worker, `lane` hands
//! its jobs to Python and takes the results. `error` turns errors into exceptions.
//!
//! No thread of the runtime ever takes the GIL, so a handler that holds it delays no heartbeat.

mod error;
mod lane;
mod port;
mod rack;
mod work;

/// The native module; `keyrack` has what programs use.
#[pyo3::pymodule]
mod _keyrack {
    #[pymodule_export]
    use super::{
        port::Port,
        rack::Rack,
        work::{RunningJob, Worker},
    };
}
