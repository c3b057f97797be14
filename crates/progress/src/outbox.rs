//! The way of completed traces to the hot queue on a cluster.
//!
//! There the queue and a user's traces lie in different slots, and no script reaches both. So the script that completes a trace puts
//! the entry into the user's outbox, and from there it is moved on. The user is entered into the list of outboxes before, so that whoever
//! looks after the store finds what a crash left behind. An entry that is moved twice does no harm: a trace is counted once.

use keyrack_keys::{Layout, UserSub};

use crate::{error::Error, keys, service::Progress, text::float};

/// Entries moved in one go.
const BATCH: isize = 100;
/// How long a user stays in the list, in seconds: far longer than it takes from entering it to completing the trace.
const LISTED_SECONDS: f64 = 3600.0;

impl Progress {
    /// Moves what a crash left in outboxes to the hot queue; returns how many entries. Only a cluster has outboxes.
    ///
    /// To be called now and then by one process at least.
    ///
    /// # Errors
    /// When the store fails; what has not been moved stays for the next time.
    pub async fn empty_outboxes(&self) -> Result<u64, Error> {
        if self.store.layout() == Layout::Documented {
            return Ok(0);
        }
        let (list, begun) = (keys::outboxes(), self.now());
        let mut cmd = redis::cmd("ZRANGE");
        cmd.arg(&*self.store.place(&list)).arg(0).arg(-1);
        let users: Vec<String> = cmd.query_async(&mut self.store.connection()).await?;
        let mut moved = 0;
        for user in users {
            moved += self.empty_outbox(&UserSub::new(user)?).await?;
        }
        let mut cmd = redis::cmd("ZREMRANGEBYSCORE");
        cmd.arg(&*self.store.place(&list)).arg("-inf").arg(float(begun - LISTED_SECONDS));
        cmd.query_async::<()>(&mut self.store.connection()).await?;
        Ok(moved)
    }

    /// Enters a user into the list of outboxes.
    pub(crate) async fn announce_outbox(&self, user: &UserSub) -> Result<(), Error> {
        let mut cmd = redis::cmd("ZADD");
        cmd.arg(&*self.store.place(&keys::outboxes())).arg(float(self.now())).arg(user.as_str());
        Ok(cmd.query_async(&mut self.store.connection()).await?)
    }

    /// Empties a user's outbox after a trace was completed, which cannot be undone: who fails leaves it to others.
    pub(crate) async fn empty_outbox_or_warn(&self, user: &UserSub) {
        if let Err(error) = self.empty_outbox(user).await {
            tracing::warn!(user = user.as_str(), %error, "a completed trace waits in its user's outbox");
        }
    }

    async fn empty_outbox(&self, user: &UserSub) -> Result<u64, Error> {
        let mut connection = self.store.connection();
        let (outbox, queue) = (keys::outbox(user), self.store.place(&self.queue));
        let outbox = self.store.place(&outbox);
        let mut moved = 0;
        loop {
            let mut cmd = redis::cmd("LRANGE");
            cmd.arg(&*outbox).arg(0).arg(BATCH - 1);
            let entries: Vec<Vec<u8>> = cmd.query_async(&mut connection).await?;
            if entries.is_empty() {
                return Ok(moved);
            }
            redis::cmd("RPUSH")
                .arg(&*queue)
                .arg(&entries)
                .query_async::<()>(&mut connection)
                .await?;
            for entry in entries {
                let mut cmd = redis::cmd("LREM");
                cmd.arg(&*outbox).arg(1).arg(entry);
                moved += cmd.query_async::<u64>(&mut connection).await?;
            }
        }
    }
}
