//! The progress of a running job.
//!
//! A report is published at once, and the last one is stored with the job. keyrack's workers store it together with the lines of
//! their jobs' logs: at most four times a second for each job, and once more when the attempt ends. A report over HTTP is stored
//! by its request. Only the running attempt can store progress.

use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{
    hive::Hive,
    job::Job,
    keys::{self, Jid},
    logs::LogEntry,
};
use crate::Error;

/// The most bytes of a report, as JSON: it is part of the job.
pub const PROGRESS_BYTES_MAX: usize = 4096;

/// A report of a job's progress.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = JobProgress))]
pub struct Progress {
    /// Any JSON, usually a number up to 100.
    pub value: serde_json::Value,
    /// What the worker said about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// When, in unix milliseconds.
    pub at: u64,
    /// In which attempt.
    pub attempt: u64,
}

impl Progress {
    /// A report of a job's present attempt.
    ///
    /// # Errors
    /// When it has too many bytes.
    pub fn of(
        job: &Job,
        value: serde_json::Value,
        message: Option<String>,
        at: u64,
    ) -> Result<Progress, Error> {
        let progress = Progress { value, message, at, attempt: job.attempts() };
        let n_bytes = progress.to_json().len();
        if n_bytes > PROGRESS_BYTES_MAX {
            let reason = format!("{n_bytes} bytes; at most {PROGRESS_BYTES_MAX} are taken");
            return Err(Error::invalid("progress", reason));
        }
        Ok(progress)
    }

    pub(super) fn to_json(&self) -> String {
        serde_json::to_string(self).expect("plain data is JSON")
    }
}

impl Hive {
    /// Publishes a report to the queue's listeners. Nothing is stored.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn publish_progress(&self, job: &Job, progress: &Progress) -> Result<(), Error> {
        let Some(queue) = job.queue_name() else { return Ok(()) };
        let mut event = json!({ "queue": job.queue(), "jid": job.jid(), "type": "progress", "progress": progress.value });
        if let Some(message) = &progress.message {
            event["message"] = json!(message);
        }
        let channel = keys::queue_events(&queue, &queue.group());
        self.store().publish(&channel, event.to_string()).await?;
        Ok(())
    }

    /// Publishes a report to the queue's listeners, and stores it with the job if it still runs in this attempt.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn report_progress(&self, job: &Job, progress: &Progress) -> Result<(), Error> {
        let jid = Jid::new(job.jid())?;
        let entry =
            LogEntry { progress: Some(progress.to_json()), ..LogEntry::new(jid, progress.attempt) };
        self.write_log_entries(&[entry], true).await?;
        self.publish_progress(job, progress).await
    }
}
