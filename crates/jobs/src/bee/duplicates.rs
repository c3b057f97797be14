//! Finding jobs that are the same as an earlier one.

use keyrack_store::Script;

use super::{
    hive::Hive,
    job::Job,
    keys::{JobHash, QueueName, WorkerId},
    settle::Verdict,
};
use crate::Error;

static DUPLICATES: Script = bee_script!("duplicates.lua");

/// What the check of one job found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Checked {
    /// The job is the first of its kind and is to be run.
    Original,
    /// The job has ended as a duplicate of this one.
    DuplicateOf(String),
    /// The job is not the worker's any more.
    NotOurs(Verdict),
}

impl Hive {
    /// Stores the hashes of claimed jobs and ends those that are duplicates of earlier jobs of the queue.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn check_duplicates(
        &self,
        queue: &QueueName,
        worker: &WorkerId,
        jobs: &[(&Job, JobHash)],
    ) -> Result<Vec<Checked>, Error> {
        let args: Vec<String> = jobs
            .iter()
            .flat_map(|(job, hash)| {
                [job.jid().to_owned(), job.attempts().to_string(), hash.as_str().to_owned()]
            })
            .collect();
        let call = self
            .call_on_queue(&DUPLICATES, queue)
            .arg("worker", worker.as_str())
            .args("jobs", args);
        let replies: Vec<String> = call.run().await?;
        Ok(replies.chunks_exact(2).map(|reply| Checked::from_reply(&reply[0], &reply[1])).collect())
    }
}

impl Checked {
    fn from_reply(word: &str, original: &str) -> Checked {
        match word {
            "ok" => Checked::Original,
            "DUPLICATE" => Checked::DuplicateOf(original.to_owned()),
            word => Checked::NotOurs(Verdict::from_word(word)),
        }
    }
}
