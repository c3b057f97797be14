//! Where a job is, by its status.

use keyrack_keys::declare::*;

use super::{delayed, dependencies, expires, failed, locks, parked, queue, reserved, waiting};

pub(super) const STATUSES: &[&str] = &[
    "new",
    "queued",
    "running",
    "completed",
    "duplicate",
    "canceled",
    "failed",
    "expired",
    "retried",
];

/// Jobs that wait to run are named by one of these.
const WAITING_BY: &[By] = &[
    By::Entry(|| &queue::FAMILY),
    By::Entry(|| &delayed::FAMILY),
    By::Entry(|| &waiting::FAMILY),
    By::Entry(|| &parked::FAMILY),
    By::Key(|| &dependencies::FAMILY),
    By::Entry(|| &reserved::FAMILY),
];

const RUNNING_BY: &[By] = &[By::Entry(|| &locks::FAMILY)];
const ENDED_BY: &[By] = &[By::Entry(|| &expires::FAMILY)];
const FAILED_BY: &[By] = &[By::Entry(|| &failed::FAMILY)];

/// Where a job is, by its status. What no list names is never run or removed.
pub(super) const LISTED: &[Listed] = &[
    listed(&["new", "queued", "retried"], WAITING_BY),
    listed(&["running"], RUNNING_BY),
    unless_expiring(&["completed", "failed"], ENDED_BY),
    unless_expiring(&["failed"], FAILED_BY),
    unless_expiring(&["canceled", "expired"], &[]),
];

const fn listed(words: &'static [&'static str], by: &'static [By]) -> Listed {
    Listed { field: "status", words, by, unless_expiring: false }
}

const fn unless_expiring(words: &'static [&'static str], by: &'static [By]) -> Listed {
    Listed { field: "status", words, by, unless_expiring: true }
}
