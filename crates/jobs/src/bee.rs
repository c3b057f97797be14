//! The Bee queue: priorities, delays, dependencies, duplicates, tags, retries and locks.
//!
//! The keys are those of the Node program of that name, so its workers and ours can share one queue.
//!
//! In reading order: [`keys`] and [`ids`] are the names of things, [`job`] the job itself, [`Hive`] the handle. Then one
//! module for each verb, with its script beside it: submit, claim, duplicates, settle, cancel, tags, retry, heartbeat,
//! sweep, progress, read. [`worker`] runs jobs by them. For people who look after queues there are list, bulk, why, queue
//! and stats; events tell what happens. For workers that speak HTTP there is wait, and keeper looks after their queues.
//! [`dialect`] is JSON as Redis' Lua and Node write it.
//!
#![doc = include_str!("bee/docs/deviations.md")]

/// A script of the queue, which may include what is in `include/`.
macro_rules! bee_script {
    ($file:literal) => {
        ::keyrack_store::script!(
            $file,
            "include/call.lua",
            "include/keys.lua",
            "include/history.lua",
            "include/events.lua",
            "include/enter.lua",
            "include/ready.lua",
            "include/stopping.lua",
            "include/unlock.lua",
            "include/fail.lua",
            "include/die.lua",
            "include/fence.lua",
            "include/give_back.lua",
            "include/reserved.lua",
            "include/claim.lua",
        )
    };
}

mod alone;
mod bulk;
mod cancel;
mod claim;
pub mod dialect;
mod duplicates;
mod events;
mod heal;
mod heartbeat;
mod history;
mod hive;
pub mod ids;
pub mod job;
mod keeper;
pub mod keys;
mod list;
mod lot;
mod progress;
mod queue;
mod read;
mod retry;
#[cfg(test)]
mod rig;
mod settle;
mod stats;
mod submit;
mod sweep;
mod tags;
mod wait;
mod why;
pub mod worker;

pub use self::{
    bulk::{BULK_MAX, Bulk, BulkDone},
    claim::{Blocked, Claimed},
    duplicates::Checked,
    events::{Event, EventKind, EventStream, Heard},
    heartbeat::WorkerInfo,
    hive::Hive,
    job::{
        DEFAULT_RETRIES, DEFAULT_RETRY_DELAY_MS, DEFAULT_TTL_MS, HistoryEntry, Job, Options, Status,
    },
    keeper::Keeper,
    list::{Filter, PAGE_MAX, Page, Place},
    lot::{Closing, Exchange},
    queue::{Limits, RATE_MS_MAX, Rate, TENANT_LIMITS_MAX},
    settle::{End, Failure, Outcome, RESULT_BYTES_MAX, Settled, Verdict},
    stats::{Minute, SILENT_MS, Stats, WorkerStats},
    submit::{
        DATA_BYTES_MAX, DELAY_MS_MAX, DEPENDENCIES_MAX, PRIORITY_MAX, Submission, SubmissionBody,
        TAGS_MAX, checked_priority,
    },
    sweep::{Care, Swept},
    wait::{Caught, Claim, Waiters},
    why::{Dependency, Reason, Why},
};
