//! What became of the attempts, told as they end and counted.

use std::{
    fmt,
    io::{self, Write as _},
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use keyrack_http::human;
use keyrack_jobs::bee::{Failure, Job, worker::Stop};

use crate::{printer::visible_lines, when};

/// How an attempt ended, as far as the worker can tell.
#[derive(Debug)]
pub(super) enum Ended<'a> {
    /// With a result.
    Completed,
    /// Without one; the first line says why.
    Failed { message: &'a str, retry: bool },
    /// Not by itself.
    Stopped(Stop),
}

impl Ended<'_> {
    /// What the worker will make of this result, if it was told to stop for this reason.
    pub(super) fn of<T>(result: &Result<T, Failure>, stop: Option<Stop>) -> Ended<'_> {
        match (result, stop) {
            (_, Some(stop @ (Stop::Canceled | Stop::Lost))) => Ended::Stopped(stop),
            (Ok(_), _) => Ended::Completed,
            (Err(_), Some(Stop::Shutdown)) => Ended::Stopped(Stop::Shutdown),
            (Err(failure), None) => {
                Ended::Failed { message: &failure.message, retry: failure.retry }
            }
        }
    }
}

/// Counts the attempts of a worker.
#[derive(Debug)]
pub(super) struct Tally {
    quiet: bool,
    completed: AtomicU64,
    failed: AtomicU64,
    stopped: AtomicU64,
}

impl Tally {
    pub(super) fn new(quiet: bool) -> Tally {
        let zero = AtomicU64::default;
        Tally { quiet, completed: zero(), failed: zero(), stopped: zero() }
    }

    /// Counts an attempt, and tells of it.
    pub(super) fn note(&self, job: &Job, took: Duration, ended: &Ended<'_>) {
        let counter = match ended {
            Ended::Completed => &self.completed,
            Ended::Failed { .. } => &self.failed,
            Ended::Stopped(_) => &self.stopped,
        };
        counter.fetch_add(1, Ordering::Relaxed);
        if !self.quiet {
            // Nobody is left to tell when stderr is gone.
            let line = format!("[{}] {}\n", job.jid(), words(job, took, ended));
            let _ = io::stderr().write_all(visible_lines(&line).as_bytes());
        }
    }
}

fn words(job: &Job, took: Duration, ended: &Ended<'_>) -> String {
    let took = when::short(took);
    match ended {
        Ended::Completed => format!("completed in {took}"),
        Ended::Failed { message, retry } => {
            let first = message.lines().next().unwrap_or_default();
            let hope = if *retry { "" } else { ", not to be tried again" };
            format!("attempt {} failed after {took}{hope}: {first}", job.attempts())
        }
        Ended::Stopped(Stop::Canceled) => format!("cancelled after {took}"),
        Ended::Stopped(Stop::Lost) => format!("lost to another worker after {took}"),
        Ended::Stopped(Stop::Shutdown) => format!("given back after {took}"),
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        write!(f, "{} completed", human::count(count(&self.completed)))?;
        for (counter, word) in [(&self.failed, "failed"), (&self.stopped, "stopped")] {
            if count(counter) > 0 {
                write!(f, ", {} {word}", human::count(count(counter)))?;
            }
        }
        Ok(())
    }
}
