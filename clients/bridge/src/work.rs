//! How workers look after their jobs, and what they say of those that did not complete.

use std::time::Duration;

use keyrack_jobs::bee::{self, WorkerTimeouts, logs::LogLevel, worker::Context};
use serde_json::value::RawValue;

use crate::error::Failure;

/// A lease that is shorter could not be renewed over a slow connection.
const LEASE_MIN: Duration = Duration::from_secs(1);
const LEASE_MAX: Duration = Duration::from_secs(3600);

/// The timings of a worker whose jobs go to others after so long a silence; keyrack's own unless given.
///
/// # Errors
/// For a lease below a second or above an hour.
pub fn timeouts(lease: Option<Duration>) -> Result<WorkerTimeouts, Failure> {
    let Some(lock) = lease else { return Ok(WorkerTimeouts::KEYRACK) };
    if !(LEASE_MIN..=LEASE_MAX).contains(&lock) {
        let message = format!("lease: {} s; give 1 s to 3600 s", lock.as_secs_f64());
        return Err(Failure::invalid(message));
    }
    // Three heartbeats may be lost, as with keyrack's own.
    Ok(WorkerTimeouts { lock, heartbeat: lock * 3 / 10, ..WorkerTimeouts::KEYRACK })
}

/// What is to become of a job whose handler did not return.
#[derive(Debug, Clone, Copy)]
pub enum Next {
    /// It failed, and is tried again while it has retries.
    Retry,
    /// It failed for good.
    Fatal,
    /// It did not fail: it runs again later, and no retry is used up.
    Snooze,
}

impl Next {
    /// By the word of an interpreter: `fatal`, `snooze`, and `retry` for everything else.
    pub fn named(word: &str) -> Next {
        match word {
            "fatal" => Next::Fatal,
            "snooze" => Next::Snooze,
            _ => Next::Retry,
        }
    }

    /// What the store is told; a time is in milliseconds, and the job's own unless given.
    pub fn told(self, reason: String, delay_ms: Option<f64>) -> bee::Failure {
        let failure = bee::Failure::new(reason);
        match self {
            Next::Fatal => bee::Failure { retry: false, ..failure },
            Next::Snooze => bee::Failure { snooze_ms: Some(delay_ms.unwrap_or(0.0)), ..failure },
            Next::Retry => bee::Failure {
                retry_delay: delay_ms,
                progressive_delay: delay_ms.map(|_| false),
                ..failure
            },
        }
    }
}

/// Reports the progress of a job, with a message or without.
///
/// # Errors
/// When it is too long, or when the store fails.
pub async fn report(
    context: &Context,
    progress: Box<RawValue>,
    message: Option<String>,
) -> Result<(), Failure> {
    match message {
        None => context.progress(progress).await?,
        Some(message) => context.progress_with(progress, message).await?,
    }
    Ok(())
}

/// Adds a line to the log of a job, without waiting.
///
/// # Errors
/// For a level that there is not.
pub fn log(context: &Context, level: &str, text: String) -> Result<(), Failure> {
    let level: LogLevel =
        level.parse().map_err(|reason: String| Failure::invalid(format!("level: {reason}")))?;
    context.log(level, text);
    Ok(())
}
