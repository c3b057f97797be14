//! The Bee queue: priorities, delays, dependencies, duplicates, tags, retries and locks.
//!
//! The keys are those of the Node program of that name, so its workers and ours can share one queue.
//!
//! In reading order: [`keys`] and [`ids`] are the names of things, [`job`] the job itself, [`Hive`] the handle. Then one
//! module for each verb, with its script beside it: submit, claim, duplicates, settle, cancel, tags, retry, heartbeat,
//! sweep, progress, read. [`worker`] runs jobs by them. [`dialect`] is JSON as Redis' Lua and Node write it.
//!
#![doc = include_str!("bee/docs/deviations.md")]

mod cancel;
mod claim;
pub mod dialect;
mod duplicates;
mod heartbeat;
mod hive;
pub mod ids;
pub mod job;
pub mod keys;
mod progress;
mod read;
mod retry;
mod settle;
mod submit;
mod sweep;
mod tags;
pub mod worker;

pub use self::{
    claim::{Blocked, Claimed},
    duplicates::Checked,
    heartbeat::WorkerInfo,
    hive::Hive,
    job::{HistoryEntry, Job, Options, Status},
    settle::{End, Failure, Outcome, RESULT_BYTES_MAX, Settled, Verdict},
    submit::{DATA_BYTES_MAX, DELAY_MS_MAX, DEPENDENCIES_MAX, Submission, TAGS_MAX},
    sweep::{Care, Swept},
};
