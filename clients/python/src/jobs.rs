//! Calls about jobs.

use std::time::Duration;

use keyrack_jobs::{
    Error,
    bee::{
        Hive, Submission, SubmissionBody,
        keys::{Jid, QueueName},
    },
};
use keyrack_store::Store;
use serde_json::value::RawValue;

use crate::error::Failure;

/// The queues of a store. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Jobs {
    pub(crate) hive: Hive,
}

impl Jobs {
    pub(crate) async fn open(store: Store) -> Result<Jobs, Failure> {
        Ok(Jobs { hive: Hive::open(store).await? })
    }

    /// Submits a job for each list of arguments in a JSON list, all with the same options. Returns their ids.
    ///
    /// `options` is JSON in the words of a stored job. With a key, a job that was submitted under the
    /// same key is as good as new.
    pub(crate) async fn submit(
        &self,
        queue: &str,
        jobs: &str,
        options: &str,
        key: Option<&str>,
    ) -> Result<Vec<String>, Failure> {
        let queue = QueueName::new(queue)?;
        let body: SubmissionBody = serde_json::from_str(options)
            .map_err(|error| Failure::invalid(format!("options: {error}")))?;
        let lists: Vec<&RawValue> = serde_json::from_str(jobs)
            .map_err(|error| Failure::invalid(format!("arguments: {error}")))?;
        let pattern = body.to_queue(queue.clone())?;
        let is_many = lists.len() > 1;
        let mut submissions = Vec::with_capacity(lists.len());
        for (place, list) in lists.into_iter().enumerate() {
            let mut job = pattern.clone().args_json(list.get())?;
            if let Some(key) = key {
                let name = if is_many { format!("{key}\n{place}") } else { key.to_owned() };
                job = job.id(Jid::derived(&queue, &name));
            }
            submissions.push(job);
        }
        let asked = if key.is_some() { submissions.clone() } else { Vec::new() };
        let answers = self.hive.submit_many(submissions).await?;
        let n = answers.len();
        let mut ids = Vec::with_capacity(n);
        for (place, answer) in answers.into_iter().enumerate() {
            ids.push(match answer {
                Ok(jid) => jid.to_string(),
                Err(Error::Exists { jid }) if key.is_some() => {
                    self.repeated(jid, &asked[place]).await?
                }
                Err(error) if is_many => return Err(refused(place, n, error)),
                Err(error) => return Err(error.into()),
            });
        }
        Ok(ids)
    }

    /// The job that was submitted under this key before.
    async fn repeated(&self, jid: String, asked: &Submission) -> Result<String, Failure> {
        // Gone in this very moment, it was there when the call came.
        let stored = self.hive.job(&Jid::new(jid.as_str())?).await;
        if stored.is_ok_and(|job| !asked.made(&job)) {
            let message = format!(
                "the job \"{jid}\" was submitted with this idempotency key and other arguments or \
                 options; use a new key"
            );
            return Err(Failure::new("conflict", message));
        }
        Ok(jid)
    }

    /// The job as JSON.
    pub(crate) async fn job(&self, id: &str) -> Result<String, Failure> {
        to_json(&self.hive.job(&Jid::new(id)?).await?)
    }

    /// The job at its end as JSON, or nothing if that has not come in time.
    pub(crate) async fn outcome(
        &self,
        id: &str,
        timeout: Duration,
    ) -> Result<Option<String>, Failure> {
        let ended = self.hive.outcome(&Jid::new(id)?, timeout).await?;
        ended.as_ref().map(to_json).transpose()
    }

    /// Cancels a job and its children, and returns their ids.
    pub(crate) async fn cancel(&self, id: &str) -> Result<Vec<String>, Failure> {
        Ok(self.hive.cancel(&Jid::new(id)?).await?)
    }

    /// Lets a job that has failed or was canceled run again.
    pub(crate) async fn retry(&self, id: &str) -> Result<(), Failure> {
        Ok(self.hive.retry(&Jid::new(id)?).await?)
    }
}

fn refused(place: usize, n: usize, error: Error) -> Failure {
    match &error {
        Error::Invalid { .. } => Failure::invalid(format!("job {} of {n}: {error}", place + 1)),
        _ => error.into(),
    }
}

fn to_json(job: &keyrack_jobs::bee::Job) -> Result<String, Failure> {
    serde_json::to_string(job).map_err(|error| Failure::new("internal", error.to_string()))
}
