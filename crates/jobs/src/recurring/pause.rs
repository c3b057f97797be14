//! Keeping a job from being queued for a while.

use super::{error::Error, keys, service::Recurring};

impl Recurring {
    /// Keeps the jobs of that name from being queued. Their next runs move on meanwhile.
    ///
    /// # Errors
    /// When there is no such job, another list is in force, or the store cannot be reached.
    pub async fn pause(&self, name: &str) -> Result<(), Error> {
        let places = self.plan.named(name)?;
        let digests = self.digests().await?;
        let jobs: Vec<&String> = places.iter().map(|place| &digests.jobs[*place]).collect();
        self.change_paused("SADD", &jobs).await
    }

    /// Lets the jobs of that name be queued again, from their next runs on.
    ///
    /// # Errors
    /// As [`Recurring::pause`].
    pub async fn resume(&self, name: &str) -> Result<(), Error> {
        let places = self.plan.named(name)?;
        let digests = self.digests().await?;
        let jobs: Vec<&String> = places.iter().map(|place| &digests.jobs[*place]).collect();
        self.change_paused("SREM", &jobs).await
    }

    async fn change_paused(&self, command: &str, jobs: &[&String]) -> Result<(), Error> {
        let mut cmd = redis::cmd(command);
        cmd.arg(&*self.store().place(&keys::paused())).arg(jobs);
        Ok(cmd.exec_async(&mut self.store().connection()).await?)
    }
}
