//! Entries that no worker could run.

use super::{error::Error, keys, push::Producer};

impl Producer {
    /// How many entries were set aside because no worker could run them.
    ///
    /// # Errors
    /// When the store cannot be reached.
    pub async fn unknown_depth(&self) -> Result<u64, Error> {
        self.length_of(&keys::unknown()).await
    }

    /// The oldest entries that were set aside, as they stood in the queue.
    ///
    /// # Errors
    /// When the store cannot be reached.
    pub async fn unknown(&self, max: usize) -> Result<Vec<Vec<u8>>, Error> {
        if max == 0 {
            return Ok(Vec::new());
        }
        let mut cmd = redis::cmd("LRANGE");
        cmd.arg(&*self.store.place(&keys::unknown())).arg(0).arg(max - 1);
        Ok(cmd.query_async(&mut self.store.connection()).await?)
    }
}
