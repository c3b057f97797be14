//! Cancelling jobs.

use keyrack_store::Script;

use super::{hive::Hive, keys::Jid};
use crate::Error;

static CANCEL: Script = bee_script!("cancel.lua");

impl Hive {
    /// Cancels a job and the jobs that it has submitted. Returns their ids, the job's own last.
    ///
    /// A worker that runs one of them is told to stop. A failed job leaves the list of failed ones. Those among them that are
    /// completed keep their results.
    ///
    /// # Errors
    /// [`Error::NoSuchJob`], [`Error::Conflict`] when the job is completed, or when the store fails.
    pub async fn cancel(&self, jid: &Jid) -> Result<Vec<String>, Error> {
        let canceled = self.cancel_with(jid, false).await?;
        if !canceled.is_empty() {
            return Ok(canceled);
        }
        let status = self.job(jid).await?.status();
        Err(Error::Conflict {
            jid: jid.to_string(),
            status: status.to_string(),
            hint: "there is nothing left to cancel",
        })
    }

    /// The same, also for completed jobs, whose results are gone then: as Node hives do.
    ///
    /// # Errors
    /// [`Error::NoSuchJob`], or when the store fails.
    pub async fn cancel_even_completed(&self, jid: &Jid) -> Result<Vec<String>, Error> {
        let canceled = self.cancel_with(jid, true).await?;
        if canceled.is_empty() {
            return Err(Error::NoSuchJob { jid: jid.to_string() });
        }
        Ok(canceled)
    }

    async fn cancel_with(&self, jid: &Jid, also_completed: bool) -> Result<Vec<String>, Error> {
        let call = self.call_on_job(&CANCEL, jid).arg("also_completed", u8::from(also_completed));
        Ok(call.run().await?)
    }
}
