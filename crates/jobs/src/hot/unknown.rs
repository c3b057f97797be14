//! Entries that no worker could run, and getting them back into the queue.

use keyrack_store::Script;

use super::{error::Error, keys, push::Producer};

static REQUEUE: Script = keyrack_store::script!("requeue.lua");

/// Entries that one script moves, so that others get their turn.
const MOVED_MAX: usize = 1000;

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

    /// Puts everything that was set aside so far back at the end of the queue; returns how many entries that were.
    ///
    /// # Errors
    /// When the store cannot be reached.
    pub async fn requeue_unknown(&self) -> Result<u64, Error> {
        let mut left = self.unknown_depth().await?;
        let mut moved_in_all = 0;
        // What workers set aside meanwhile is left for the next time, or this might never end.
        while left > 0 {
            let max = left.min(MOVED_MAX as u64);
            let call = REQUEUE.call(&self.store);
            let call = call.key("unknown", &keys::unknown()).key("hot", &keys::hot());
            let moved: u64 = call.arg("max", max).run().await?;
            moved_in_all += moved;
            left = if moved < max { 0 } else { left - moved };
        }
        Ok(moved_in_all)
    }
}
