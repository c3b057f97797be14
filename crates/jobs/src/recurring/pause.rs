//! Keeping a job from being queued for a while.

use super::{error::Error, keys, service::Recurring};

impl Recurring {
    /// Keeps the jobs of that name from being queued. Their next runs move on meanwhile.
    ///
    /// # Errors
    /// When there is no such job, another list is in force, or the store cannot be reached.
    pub async fn pause(&self, name: &str) -> Result<(), Error> {
        self.set_paused(name, true).await
    }

    /// Lets the jobs of that name be queued again, from their next runs on.
    ///
    /// # Errors
    /// As [`Recurring::pause`].
    pub async fn resume(&self, name: &str) -> Result<(), Error> {
        self.set_paused(name, false).await
    }

    async fn set_paused(&self, name: &str, paused: bool) -> Result<(), Error> {
        let Ok(places) = self.plan.named(name) else {
            return self.set_defined_paused(name, paused).await;
        };
        let digests = self.digests().await?;
        let jobs: Vec<&String> = places.iter().map(|place| &digests.jobs[*place]).collect();
        let mut cmd = redis::cmd(if paused { "SADD" } else { "SREM" });
        cmd.arg(&*self.store().place(&keys::paused())).arg(jobs);
        cmd.exec_async(&mut self.store().connection()).await?;
        // One of the same name may have been defined at run time by somebody who does not have this list.
        match self.set_defined_paused(name, paused).await {
            Err(Error::InList { .. }) => Ok(()),
            done => done,
        }
    }
}
