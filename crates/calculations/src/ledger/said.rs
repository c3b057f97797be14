//! How often rules have spoken.

use super::Ledger;
use crate::{error::Error, keys};

impl Ledger {
    /// How many output events there have been, of all rules of the account.
    ///
    /// # Errors
    /// When the store failed.
    pub async fn said(&self) -> Result<u64, Error> {
        let mut cmd = redis::cmd("GET");
        cmd.arg(&*self.store().place(&keys::event_counter(self.account())));
        let said: Option<u64> = cmd.query_async(&mut self.store().connection()).await?;
        Ok(said.unwrap_or(0))
    }
}
