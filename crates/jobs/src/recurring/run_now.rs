//! Running a job before its time.

use super::{
    definition::{Definition, Target},
    error::Error,
    fire::{hot_entry, submission},
    service::Recurring,
};
use crate::hot;

impl Recurring {
    /// Queues the jobs of that name now, paused ones too; returns how many. Their schedule stays as it is.
    ///
    /// # Errors
    /// When there is no such job, or the store cannot be reached.
    pub async fn run_now(&self, name: &str) -> Result<usize, Error> {
        let jobs = self.named(name).await?;
        let (mut entries, mut submissions) = (Vec::new(), Vec::new());
        for job in &jobs {
            match job.target() {
                Target::Hot => entries.push(hot_entry(job, self.hive.now_ms())?),
                Target::Bee(queue) => submissions.push(submission(job, queue)),
            }
        }
        if !entries.is_empty() {
            let mut cmd = redis::cmd("RPUSH");
            cmd.arg(&*self.store().place(&hot::keys::hot())).arg(&entries);
            cmd.exec_async(&mut self.store().connection()).await?;
        }
        for submission in submissions {
            let queue = submission.queue().to_string();
            let submitted = self.hive.submit(submission).await;
            submitted.map_err(|source| Error::Bee { queue, source })?;
        }
        Ok(jobs.len())
    }

    /// The jobs of that name in the list and in the store.
    async fn named(&self, name: &str) -> Result<Vec<Definition>, Error> {
        let places = self.plan.named(name).unwrap_or_default();
        let mut jobs: Vec<Definition> =
            places.into_iter().map(|place| self.plan.jobs()[place].clone()).collect();
        match self.defined(name).await {
            Ok(defined) => jobs.push(defined.definition),
            Err(Error::InList { .. }) => {}
            Err(error) => return Err(error),
        }
        Ok(jobs)
    }
}
