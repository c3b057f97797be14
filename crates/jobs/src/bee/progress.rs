//! How far a running job is.

use serde_json::{Value as Json, json};

use super::{hive::Hive, job::Job, keys};
use crate::Error;

impl Hive {
    /// Tells whoever listens to the queue how far a job is. Nothing is stored.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn report_progress(&self, job: &Job, progress: &Json) -> Result<(), Error> {
        let Some(queue) = job.queue_name() else { return Ok(()) };
        let message = json!({ "queue": job.queue(), "jid": job.jid(), "type": "progress", "progress": progress });
        let channel = keys::queue_events(&queue, &queue.group());
        self.store().publish(&channel, message.to_string()).await?;
        Ok(())
    }
}
