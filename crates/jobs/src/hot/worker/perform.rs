//! Running one job from its start to its end.

use std::time::Duration;

use keyrack_store::Error;
use serde_json::Value;
use tokio::sync::watch;

use super::{
    Settings,
    counters::count,
    handler::{Handler, Job},
};
use crate::hot::{
    entry::Entry,
    keys::{self, JobUid},
};

impl Settings {
    /// Runs a job, tells what came of it, and lets go of its entry.
    pub(super) async fn perform(
        &self,
        handler: &Handler,
        entry: Entry,
        text: &[u8],
        stopping: watch::Receiver<bool>,
    ) {
        let (worker, name) = (self.id.as_str(), entry.name.clone());
        let job_uid = entry.job_uid().map(str::to_owned);
        let Entry { kwargs, queued_at, .. } = entry;
        let job = Job { name: name.clone(), kwargs, queued_at, stopping };
        match handler.run(job).await {
            Ok(Ok(value)) => {
                count(&self.counters.done);
                if let (Some(job_uid), Some(value)) = (job_uid, value) {
                    self.announce(&name, &job_uid, &value).await;
                }
            }
            Ok(Err(error)) => {
                count(&self.counters.failed);
                tracing::error!(worker, job = name, error, "the job failed");
            }
            Err(panic) => {
                count(&self.counters.panicked);
                tracing::error!(worker, job = name, panic, "the job's handler panicked");
            }
        }
        self.finish(text).await;
    }

    /// Publishes what a job returned, to whoever waits for it. At most once: when it is not known whether the message went
    /// out, it is not sent again.
    async fn announce(&self, name: &str, job_uid: &str, value: &Value) {
        const ATTEMPTS_MAX: u32 = 50;
        const PAUSE: Duration = Duration::from_millis(100);
        let worker = self.id.as_str();
        let channel = match JobUid::new(job_uid) {
            Ok(job_uid) => keys::job_events(&job_uid),
            Err(error) => {
                tracing::warn!(worker, job = name, %error, "nobody can wait for the job under its id");
                return;
            }
        };
        let message = value.to_string();
        for _ in 0..ATTEMPTS_MAX {
            match self.store.publish(&channel, &message).await {
                Ok(_) => return,
                // The server said no, so it has not published it.
                Err(Error::Unavailable { .. } | Error::Auth { .. }) => {
                    tokio::time::sleep(PAUSE).await;
                }
                Err(error) => {
                    tracing::warn!(worker, job = name, job_uid, %error, "could not announce the job's outcome");
                    return;
                }
            }
        }
        tracing::warn!(worker, job = name, job_uid, "the store would not take the job's outcome");
    }
}
