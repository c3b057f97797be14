//! The native module of the Python package `keyrack`: the same crates that Rust programs use.
//!
//! Python decides what a task is and how its arguments are written as JSON; see `python/keyrack`. This
//! side has everything that waits: calls to the store, leases, claims and settles.
//!
//! In reading order: `rack` is an opened store with its runtime, `jobs` the calls about jobs, `port`
//! how asyncio hears of calls that have ended. `work` runs a worker, `lane` hands its jobs to Python and
//! takes the results. `progress` and `limits` are the other services. `error` turns errors into
//! exceptions.
//!
//! No thread of the runtime ever takes the GIL, so a handler that holds it delays no heartbeat.

mod error;
mod jobs;
mod lane;
mod limits;
mod port;
mod progress;
mod rack;
mod work;

/// The native module; `keyrack` has what programs use.
#[pyo3::pymodule]
mod _keyrack {
    #[pymodule_export]
    use super::{
        limits::take_limit,
        port::Port,
        progress::Bar,
        rack::Rack,
        work::{RunningJob, Worker},
    };
}
