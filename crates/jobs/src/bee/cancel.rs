//! Cancelling jobs.

use keyrack_store::Script;

use super::{hive::Hive, keys::Jid};
use crate::Error;

static CANCEL: Script = bee_script!("cancel.lua");

impl Hive {
    /// Cancels a job, whatever it is doing, and the jobs that it has submitted. Returns their ids, the job's own last.
    ///
    /// A worker that runs one of them is told to stop.
    ///
    /// # Errors
    /// [`Error::NoSuchJob`], or when the store fails.
    pub async fn cancel(&self, jid: &Jid) -> Result<Vec<String>, Error> {
        let canceled: Vec<String> = self.call_on_job(&CANCEL, jid).run().await?;
        if canceled.is_empty() {
            return Err(Error::NoSuchJob { jid: jid.to_string() });
        }
        Ok(canceled)
    }
}
