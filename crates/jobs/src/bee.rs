//! The Bee queue: priorities, delays, dependencies, duplicates, tags, retries and locks.
//!
//! The keys are those of the Node program of that name, so its workers and ours can share one queue.
//!
//! In reading order: [`keys`] and [`ids`] are the names of things, [`job`] the job itself, [`Hive`] the handle. Then one
//! module for each verb, with its script beside it: submit, claim, duplicates, settle, cancel, change, tags, retry, heartbeat,
//! sweep, progress, read. [`logs`] are what jobs have logged. [`worker`] runs jobs by them. For people who look after queues there are list, bulk, why, queue,
//! stats and counts; times how long it took; errors why it failed; scaling says how many workers a queue needs; events tell what happens, outcome waits for the end of a job, outbox keeps ends until webhooks have them. For workers that speak HTTP there is wait, and queue_sweeper looks after their queues. move_time is for tests.
//! [`json_compat`] is JSON as Redis' Lua and Node write it.
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
            "include/outbox.lua",
            "include/events.lua",
            "include/rate.lua",
            "include/tenants.lua",
            "include/enter.lua",
            "include/ready.lua",
            "include/named_limits.lua",
            "include/stopping.lua",
            "include/unlock.lua",
            "include/errors.lua",
            "include/fail.lua",
            "include/die.lua",
            "include/fence.lua",
            "include/give_back.lua",
            "include/reserved.lua",
            "include/claim.lua",
            "include/retries.lua",
            "include/attempt.lua",
            "include/timeouts.lua",
            "include/withdraw.lua",
            "include/unstarted.lua",
            "include/unique.lua",
            "include/times.lua",
            "include/fold.lua",
            "include/logs.lua",
        )
    };
}

mod backoff;
mod bulk;
mod cancel;
mod change;
mod claim;
mod counts;
mod duplicates;
pub mod errors;
mod events;
mod heal;
mod heartbeat;
mod history;
mod hive;
pub mod ids;
pub mod job;
pub mod json_compat;
pub mod keys;
mod list;
pub mod logs;
mod move_time;
mod outbox;
mod outcome;
mod progress;
mod quarantine;
mod queue;
mod queue_sweeper;
mod read;
mod reservation;
mod retry;
mod scaling;
mod settle;
mod stats;
mod submit;
mod sweep;
mod tags;
#[cfg(test)]
mod test_support;
pub mod times;
mod trace;
mod wait;
mod why;
pub mod worker;

pub use self::{
    backoff::{Backoff, BackoffKind},
    bulk::{BULK_MAX, Bulk, BulkDone},
    change::Change,
    claim::{Blocked, Claimed},
    counts::QueueCounts,
    duplicates::Checked,
    events::{Event, EventKind, EventStream, StreamItem},
    heartbeat::WorkerInfo,
    hive::Hive,
    job::{
        DEFAULT_RETRIES, DEFAULT_RETRY_DELAY_MS, DEFAULT_TTL_MS, HistoryEntry, Job, Options, Status,
    },
    list::{Filter, JobState, PAGE_MAX, Page},
    outbox::{JobEnd, OUTBOX_STATUSES, OutboxKinds, OutboxPage},
    progress::{PROGRESS_BYTES_MAX, Progress},
    queue::{
        Limits, NAMED_LIMITS_MAX, NamedLimit, RATE_MS_MAX, Rate, TENANT_LIMITS_MAX,
        TENANT_WEIGHT_MAX,
    },
    queue_sweeper::QueueSweeper,
    reservation::{ReservationEnd, SettleAndClaim},
    scaling::{Scaling, WAIT_TARGET_MS},
    settle::{End, Failure, Outcome, RESULT_BYTES_MAX, Settled, Verdict, with_sources},
    stats::{Minute, SILENT_MS, Stats, WorkerStats},
    submit::{
        BackoffWish, DATA_BYTES_MAX, DELAY_MS_MAX, DEPENDENCIES_MAX, JOBS_AS_A_WHOLE_MAX,
        LIMITS_MAX, METADATA_BYTES_MAX, METADATA_MAX, METADATA_NAME_BYTES_MAX, PRIORITY_MAX,
        RefusedList, StoredJob, Submission, SubmissionBody, SubmitOutcome, TAGS_MAX,
        UNIQUE_KEY_BYTES_MAX, Unique, UniqueBy, UniqueRequest, UniqueUntil, checked_priority,
        trace_context,
    },
    sweep::{Swept, WorkerTimeouts},
    trace::record_wait,
    wait::{Claim, ClaimGuard, Waiters, WeightedClaim},
    why::{Dependency, Reason, Why},
};
