//! Grouping what others have failed: Node workers, and earlier versions of keyrack.

use super::{Fingerprint, NOTE};
use crate::{
    Error,
    bee::{
        hive::Hive,
        job::Job,
        keys::{Jid, QueueName},
    },
};

impl Hive {
    /// Groups failed jobs that have no group. Returns how many had none.
    pub(in crate::bee) async fn note_errors(
        &self,
        queue: &QueueName,
        jids: &[Jid],
    ) -> Result<u64, Error> {
        let mut failures = Vec::new();
        for job in self.jobs(jids).await?.into_iter().flatten() {
            let message = reason_of(&job);
            failures.push(job.jid().to_owned());
            failures.push(Fingerprint::of(&message).to_json(&message));
        }
        if failures.is_empty() {
            return Ok(0);
        }
        Ok(self.call_on_queue(&NOTE, queue).args("failures", failures).run().await?)
    }
}

/// Why a job failed: what its last attempt said, since the stored reason may be that there are no more retries.
fn reason_of(job: &Job) -> String {
    let history = job.history();
    let last = history.iter().rev().find(|entry| entry.event == "exception");
    let said = last.and_then(|entry| entry.more.get("message")?.as_str().map(str::to_owned));
    said.or_else(|| job.failed_reason().map(str::to_owned)).unwrap_or_default()
}
