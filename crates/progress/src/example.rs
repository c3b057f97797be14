//! The result of an example job, which visitors run to see a bar at work.

use crate::{
    error::Error,
    keys::{self, ExampleUid},
    service::Progress,
};

/// How long a result is kept: ten minutes.
const TTL_SECONDS: u64 = 600;

impl Progress {
    /// Keeps the number that an example job found, from 1 to 10,000.
    ///
    /// # Errors
    /// When the number or the id cannot be.
    pub async fn put_example(&self, uid: &str, number: u64) -> Result<(), Error> {
        if !(1..=10_000).contains(&number) {
            return Err(Error::invalid("number", "it is out of range; use 1 to 10000"));
        }
        let key = keys::example(&ExampleUid::new(uid)?);
        let mut cmd = redis::cmd("SET");
        cmd.arg(&*self.store.place(&key)).arg(number).arg("EX").arg(TTL_SECONDS);
        Ok(cmd.query_async(&mut self.store.connection()).await?)
    }

    /// The number that an example job found; `None` before, and ten minutes after.
    ///
    /// # Errors
    /// When the id cannot be.
    pub async fn example(&self, uid: &str) -> Result<Option<u64>, Error> {
        let key = keys::example(&ExampleUid::new(uid)?);
        let mut cmd = redis::cmd("GET");
        cmd.arg(&*self.store.place(&key));
        Ok(cmd.query_async(&mut self.store.connection()).await?)
    }
}
