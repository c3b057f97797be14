//! Letting a job that has failed run again.

use keyrack_store::Script;

use super::{hive::Hive, keys::Jid};
use crate::Error;

static RETRY: Script = bee_script!("retry.lua");

impl Hive {
    /// Lets a job that failed, was canceled or has expired run again from the start.
    ///
    /// # Errors
    /// [`Error::NoSuchJob`], [`Error::Conflict`] when the job is in no such state, or when the store fails.
    pub async fn retry(&self, jid: &Jid) -> Result<(), Error> {
        let word: String = self.call_on_job(&RETRY, jid).run().await?;
        match word.as_str() {
            "ok" => Ok(()),
            "GONE" => Err(Error::NoSuchJob { jid: jid.to_string() }),
            status => Err(Error::Conflict {
                jid: jid.to_string(),
                status: status.to_owned(),
                hint: "only a failed, canceled or expired job can be run again",
            }),
        }
    }
}
