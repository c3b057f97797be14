//! Looking jobs up.

use super::{
    hive::Hive,
    job::{self, Job},
    keys::{self, Jid},
};
use crate::Error;

impl Hive {
    /// The job with this id.
    ///
    /// # Errors
    /// [`Error::NoSuchJob`], or when the store fails.
    pub async fn job(&self, jid: &Jid) -> Result<Job, Error> {
        let found = self.jobs(std::slice::from_ref(jid)).await?.pop().flatten();
        found.ok_or_else(|| Error::NoSuchJob { jid: jid.to_string() })
    }

    /// The jobs with these ids, each if there is one.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn jobs(&self, jids: &[Jid]) -> Result<Vec<Option<Job>>, Error> {
        let reads = jids.iter().map(async |jid| {
            let mut cmd = redis::cmd("HMGET");
            cmd.arg(&*self.store().place(&keys::job(jid, &jid.group())))
                .arg(job::field_names().collect::<Vec<_>>());
            let job: Job = cmd.query_async(&mut self.store().connection()).await?;
            Ok(Some(job).filter(|job| !job.jid().is_empty()))
        });
        futures_util::future::try_join_all(reads).await
    }

    /// Some of the jobs that a job has submitted, in order, and how many there are.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn children(&self, jid: &Jid, max: usize) -> Result<(Vec<String>, u64), Error> {
        let key = keys::children(jid, &jid.group());
        let place = self.store().place(&key);
        let mut both = redis::pipe();
        both.cmd("SSCAN").arg(&*place).arg(0).arg("COUNT").arg(max);
        both.cmd("SCARD").arg(&*place);
        let ((_, mut children), total): ((u64, Vec<String>), u64) =
            both.query_async(&mut self.store().connection()).await?;
        children.sort_unstable();
        children.truncate(max);
        Ok((children, total))
    }
}
