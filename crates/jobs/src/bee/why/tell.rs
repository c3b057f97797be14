//! Reasons in words.

use std::fmt::Write as _;

use super::{Dependency, Reason};
use crate::bee::job::{Job, Status};

/// What a job that waits is to be told about.
pub(super) fn waiting(reasons: &[Reason], estimate: Option<u64>, now: u64) -> String {
    let mut told: Vec<String> = reasons.iter().map(|reason| reason_in_words(reason, now)).collect();
    if told.is_empty() {
        told.push("it is first in the queue and the next free worker takes it".into());
    }
    match estimate.map(|at| at.saturating_sub(now)) {
        Some(0) => {}
        Some(wait_ms) => told.push(format!("it is likely to start in {}", duration(wait_ms))),
        None => told.push("start time unknown".into()),
    }
    told.join("; ")
}

/// What there is to say about a job that does not wait.
pub(super) fn beyond_waiting(job: &Job) -> String {
    match job.status() {
        Status::Running => {
            format!("it runs on \"{}\", attempt {}", job.worker(), job.attempts().max(1))
        }
        Status::Queued => "a worker has taken it a moment ago".into(),
        Status::Failed => format!(
            "it has failed: {}; retry it to run it again",
            job.failed_reason().unwrap_or("no reason given")
        ),
        Status::Duplicate => format!(
            "it is a duplicate of \"{}\", whose outcome counts",
            job.duplicate_of().unwrap_or_default()
        ),
        status => match job.failed_reason() {
            Some(reason) => format!("it has ended: {status}, {reason}"),
            None => format!("it has ended: {status}"),
        },
    }
}

fn reason_in_words(reason: &Reason, now: u64) -> String {
    match reason {
        Reason::Dependencies { count, jobs } => dependencies(*count, jobs),
        Reason::Delay { until, retry } => {
            let wait = duration(until.saturating_sub(now));
            match retry {
                true => format!("it failed and is tried again in {wait}"),
                false => format!("it is not due for another {wait}"),
            }
        }
        Reason::TenantLimit { tenant, limit, running } => format!(
            "{} of its tenant \"{tenant}\" run and {limit} may at once",
            counted(*running, "job")
        ),
        Reason::TenantPaused { tenant } => format!("its tenant \"{tenant}\" is paused"),
        Reason::TenantRate { tenant, max, per_ms, again_at } => format!(
            "{max} of its tenant \"{tenant}\" may start in {} and have; the next may in {}",
            duration(*per_ms),
            duration(again_at.saturating_sub(now))
        ),
        Reason::NamedLimit { name, limit, running } => format!(
            "{} with the limit \"{name}\" run and {limit} may at once",
            counted(*running, "job")
        ),
        Reason::NamedRate { name, max, per_ms, again_at } => format!(
            "{max} with the limit \"{name}\" may start in {} and have; the next may in {}",
            duration(*per_ms),
            duration(again_at.saturating_sub(now))
        ),
        Reason::TenantTurn { tenant, ahead } => {
            format!("{} of its tenant \"{tenant}\" come first", counted(*ahead, "other job"))
        }
        Reason::Paused => "the queue is paused".into(),
        Reason::NoWorkers => "no worker of the queue is alive".into(),
        Reason::Concurrency { limit, running } => {
            format!("{} of the queue run and {limit} may at once", counted(*running, "job"))
        }
        Reason::Rate { max, per_ms, again_at } => format!(
            "{max} may start in {} and have; the next may in {}",
            duration(*per_ms),
            duration(again_at.saturating_sub(now))
        ),
        Reason::Position { ahead } => format!("{} ahead of it", counted(*ahead, "job")),
    }
}

fn dependencies(count: u64, jobs: &[Dependency]) -> String {
    let mut text = format!("it waits for {}", counted(count, "job"));
    for (at, job) in jobs.iter().enumerate() {
        let mark = if at == 0 { ": " } else { ", " };
        let _ = write!(text, "{mark}\"{}\" ({})", job.jid, job.status);
    }
    match count.saturating_sub(jobs.len() as u64) {
        0 => {}
        more => {
            let _ = write!(text, " and {more} more");
        }
    }
    text
}

fn counted(n: u64, noun: &str) -> String {
    format!("{n} {noun}{}", if n == 1 { "" } else { "s" })
}

/// Milliseconds for people, in the one or two units that matter.
fn duration(ms: u64) -> String {
    match ms {
        0..1000 => format!("{ms} ms"),
        1000..60_000 => format!("{} s", ms.div_ceil(1000)),
        60_000..3_600_000 => format!("{} min", ms.div_ceil(60_000)),
        3_600_000..172_800_000 => format!("{} h", ms.div_ceil(3_600_000)),
        _ => format!("{} days", ms.div_ceil(86_400_000)),
    }
}
