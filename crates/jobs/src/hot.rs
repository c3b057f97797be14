//! The hot queue: one list of short jobs, each run at most once.
//!
//! [`Producer`] puts jobs there, waits for their outcome and tells how the queue is doing; [`HotWorker`] runs them. Entries are
//! those of the original programs, whose producers and workers can use the same list.
//!
//! In reading order: `entry` is the text of a job; `push`, `call`, `depth` and `unknown` are what a producer can do; `worker` takes
//! jobs and runs them; `rescue` puts back what lost workers in reliable mode had taken.

mod call;
mod depth;
mod entry;
mod error;
pub mod keys;
mod push;
mod rescue;
mod unknown;
mod worker;

pub use self::{
    entry::{ENTRY_BYTES_MAX, Entry, encode},
    error::Error,
    push::Producer,
    worker::{Counters, Counts, Failure, HotWorker, Job, Outcome, Unknown},
};
