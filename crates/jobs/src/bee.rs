//! The Bee queue: priorities, delays, dependencies, duplicates, tags, retries and locks.
//!
//! The keys are those of the Node program of that name, so its workers and ours can share one queue.

pub mod dialect;
pub mod keys;
