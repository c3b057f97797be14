//! The documented limits: a key that simply expires, and while it exists the user has to wait.

use std::time::Duration;

use keyrack_keys::{Key, UserSub};

use crate::{error::Error, keys, service::Entitlements};

/// How long to wait between two reads past the cache, in seconds.
pub const READ_LIMIT_S: u32 = 30;

/// How long to wait between two starts, and between two finishes of a checkout, in seconds.
pub const CHECKOUT_LIMIT_S: u32 = 15;

impl Entitlements {
    /// Takes the permission for one read past the cache. It is used up even if the read fails.
    ///
    /// # Errors
    /// [`Error::Limited`] when the last one is too recent, or when the store fails.
    pub async fn limit_read(&self, user: &UserSub) -> Result<(), Error> {
        self.take(&keys::read_limit(user), READ_LIMIT_S).await
    }

    /// Takes a permission that comes back after some seconds; asking for it meanwhile does not delay it.
    pub(crate) async fn take(&self, key: &Key, seconds: u32) -> Result<(), Error> {
        let placed = self.store().place(key);
        let mut pipeline = redis::pipe();
        pipeline.cmd("SET").arg(&*placed).arg("1").arg("NX").arg("EX").arg(seconds);
        pipeline.cmd("PTTL").arg(&*placed);
        let (taken, left_ms): (Option<String>, i64) =
            pipeline.query_async(&mut self.store().connection()).await?;
        if taken.is_some() {
            return Ok(());
        }
        // It may have expired in between, or somebody may have set it for ever.
        let left = u64::try_from(left_ms).map_or(Duration::from_secs(1), Duration::from_millis);
        Err(Error::Limited { retry_after: left })
    }
}
