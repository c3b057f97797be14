//! How the hot queue is doing.

use std::time::Duration;

use super::{entry::Entry, error::Error, keys, push::Producer};

impl Producer {
    /// How many jobs wait.
    ///
    /// # Errors
    /// When the store cannot be reached.
    pub async fn depth(&self) -> Result<u64, Error> {
        self.length_of(&keys::hot()).await
    }

    /// How long the job at the head has been waiting; `None` when none waits or its producer did not say since when.
    ///
    /// # Errors
    /// When the store cannot be reached.
    pub async fn oldest_age(&self) -> Result<Option<Duration>, Error> {
        let mut cmd = redis::cmd("LINDEX");
        cmd.arg(&*self.store.place(&keys::hot())).arg(0);
        let head: Option<Vec<u8>> = cmd.query_async(&mut self.store.connection()).await?;
        let queued_at = head.and_then(|head| Entry::decode(&head).ok()?.queued_at);
        let now = self.store.now_ms() as f64 / 1000.0;
        // Clocks of two machines differ: a job from the future has not waited at all.
        let age = |queued_at| Duration::try_from_secs_f64(now - queued_at).unwrap_or_default();
        Ok(queued_at.map(age))
    }

    pub(super) async fn length_of(&self, list: &keyrack_keys::Key) -> Result<u64, Error> {
        let mut cmd = redis::cmd("LLEN");
        cmd.arg(&*self.store.place(list));
        Ok(cmd.query_async(&mut self.store.connection()).await?)
    }
}
