//! Sending submissions to the store.

use std::collections::HashMap;

use tokio::task::JoinSet;

use super::{
    CALLS_MAX, Prepared, SUBMIT, StoredJob, Submission,
    batch::{Answer, Batch, Calls, take},
};
use crate::{
    Error,
    bee::{hive::Hive, keys::QueueName},
};

impl Hive {
    pub(super) async fn store_each(
        &self,
        jobs: Vec<Submission>,
    ) -> Result<Vec<Result<StoredJob, Error>>, Error> {
        let mut answers: Vec<Option<Answer>> = Vec::with_capacity(jobs.len());
        let mut batches: HashMap<QueueName, Batch> = HashMap::new();
        // What a job waits for must be there before it: a job that is not counts as ended.
        let (in_order, now_ms) = (jobs.iter().any(Submission::needs_order), self.now_ms());
        let mut calls = Calls { set: JoinSet::new(), most: if in_order { 1 } else { CALLS_MAX } };
        for (at, job) in jobs.into_iter().enumerate() {
            answers.push(None);
            let job = match job.prepare(now_ms) {
                Ok(job) => job,
                Err(error) => {
                    answers[at] = Some(Err(error));
                    continue;
                }
            };
            if in_order && !batches.contains_key(&job.queue) {
                for (_, batch) in batches.drain() {
                    self.send(&mut calls, batch, &mut answers).await?;
                }
            }
            let batch = batches.entry(job.queue.clone()).or_default();
            if batch.is_full(&job) {
                self.send(&mut calls, std::mem::take(batch), &mut answers).await?;
            }
            batch.add(at, job);
        }
        for batch in batches.into_values() {
            self.send(&mut calls, batch, &mut answers).await?;
        }
        while let Some(call) = calls.set.join_next().await {
            take(call, &mut answers).await?;
        }
        Ok(answers.into_iter().map(|answer| answer.expect("every job was answered")).collect())
    }

    /// Sends a batch; while the store is busy with it the next is prepared.
    async fn send(
        &self,
        calls: &mut Calls,
        batch: Batch,
        answers: &mut [Option<Answer>],
    ) -> Result<(), Error> {
        let Some(queue) = batch.jobs.first().map(|job| job.queue.clone()) else { return Ok(()) };
        self.list_queue(&queue).await?;
        if calls.set.len() >= calls.most
            && let Some(call) = calls.set.join_next().await
        {
            take(call, answers).await?;
        }
        let hive = self.clone();
        let call = async move {
            let answers = hive.submit_batch(&queue, batch.jobs).await?;
            Ok(batch.places.into_iter().zip(answers).collect())
        };
        calls.set.spawn(keyrack_trace::within(keyrack_trace::current(), call));
        Ok(())
    }

    async fn submit_batch(
        &self,
        queue: &QueueName,
        jobs: Vec<Prepared>,
    ) -> Result<Vec<Answer>, Error> {
        let (words, is_repeat) = self.store_batch(queue, &jobs, false).await?;
        Ok(jobs.into_iter().zip(words).map(|(job, word)| job.outcome(&word, is_repeat)).collect())
    }

    /// Stores jobs in one call. Returns the script's word for each, and whether the call was made twice.
    pub(super) async fn store_batch(
        &self,
        queue: &QueueName,
        jobs: &[Prepared],
        whole: bool,
    ) -> Result<(Vec<String>, bool), Error> {
        let mut writing = self.store().writing().await;
        if self.is_plain_batch(jobs) {
            match self.submit_plain(queue, jobs).await {
                // Whether they arrived is found out below.
                Err(keyrack_store::Error::Lost(_)) => writing = self.store().writing().await,
                done => {
                    done?;
                    writing.acknowledged().await?;
                    return Ok((vec!["ok".to_owned(); jobs.len()], false));
                }
            }
        }
        let run = || {
            let priorities: Vec<String> = jobs.iter().map(|job| job.priority.to_string()).collect();
            let args: Vec<&str> = jobs
                .iter()
                .zip(&priorities)
                .flat_map(|(job, priority)| {
                    [job.jid.as_str(), &job.data, &job.options, priority, &job.tags, &job.rest]
                })
                .collect();
            let call = self.call_on_queue(&SUBMIT, queue).arg("whole", u8::from(whole));
            call.args("jobs", args).run::<Vec<String>>()
        };
        let (words, is_repeat) = match run().await {
            // The ids are ours, so asking again cannot make a second job.
            Err(keyrack_store::Error::Lost(_)) => {
                writing = self.store().writing().await;
                (run().await?, true)
            }
            words => (words?, false),
        };
        writing.acknowledged().await?;
        Ok((words, is_repeat))
    }
}
