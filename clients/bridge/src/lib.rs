//! What the native modules of the Python and of the Node package share: an opened store, and the calls
//! that it answers.
//!
//! A call has a name and its arguments as a JSON object, and its answer is JSON: one text costs an
//! interpreter less than many objects, and each language has a quick reader for it. Times are in
//! milliseconds.
//!
//! In reading order: `parts` is an opened store, `call` lists the calls, `jobs`, `schedules`, `events`,
//! `limits`, `progress`, `calculations`, `entitlements`, `files` and `recommendations` have what they do. `work` is for workers, `clock` for tests. `error` says why something failed.

mod calculations;
mod call;
mod clock;
mod entitlements;
mod error;
mod events;
mod files;
mod jobs;
mod limits;
mod parts;
mod progress;
mod recommendations;
mod schedules;
mod work;

pub use self::{
    call::call,
    clock::TestClock,
    error::Failure,
    parts::{Parts, milliseconds, runtime, to_json},
    schedules::run_beside,
    work::{Next, log, report, timeouts},
};
