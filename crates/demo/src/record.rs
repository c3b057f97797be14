//! What the demo has written down about itself.

use std::time::Duration;

use keyrack_store::Store;
use tokio::time::Instant;
use uuid::Uuid;

use crate::{error::Error, keys};

/// For how long a demo counts as running without a word from it.
const ALIVE_FOR: Duration = Duration::from_secs(15);
/// How often it says so.
pub(crate) const RENEWED_EVERY: Duration = Duration::from_secs(5);

/// How often somebody who waits for the store asks again.
const ASKED_EVERY: Duration = Duration::from_millis(250);

/// Where the demo writes down what it is about. Cheap to clone.
#[derive(Debug, Clone)]
pub(crate) struct Record {
    store: Store,
    /// Which process it is.
    holder: String,
}

/// What was written down.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct RecordEntry {
    pub(crate) claims: Vec<String>,
    /// In unix seconds.
    pub(crate) started_at: f64,
}

impl Record {
    pub(crate) fn new(store: Store) -> Record {
        Record { store, holder: Uuid::new_v4().simple().to_string() }
    }

    /// Takes the store for this demo; false if another one has it.
    pub(crate) async fn take(&self) -> Result<bool, Error> {
        let mut cmd = redis::cmd("SET");
        cmd.arg(&*self.store.place(&keys::alive())).arg(&self.holder).arg("NX");
        cmd.arg("PX").arg(ALIVE_FOR.as_millis() as u64);
        let taken: Option<String> = cmd.query_async(&mut self.store.connection()).await?;
        Ok(taken.is_some())
    }

    /// The same, but waits until a demo that crashed no longer counts as running; false if one really runs.
    pub(crate) async fn take_patiently(&self) -> Result<bool, Error> {
        let given_up = Instant::now() + ALIVE_FOR + ASKED_EVERY;
        loop {
            if self.take().await? {
                return Ok(true);
            }
            if Instant::now() >= given_up {
                return Ok(false);
            }
            tokio::time::sleep(ASKED_EVERY).await;
        }
    }

    /// Says that the demo is still running.
    pub(crate) async fn renew(&self) -> Result<(), Error> {
        let mut cmd = redis::cmd("SET");
        cmd.arg(&*self.store.place(&keys::alive())).arg(&self.holder);
        cmd.arg("PX").arg(ALIVE_FOR.as_millis() as u64);
        Ok(cmd.exec_async(&mut self.store.connection()).await?)
    }

    /// Lets others have the store.
    pub(crate) async fn give_back(&self) -> Result<(), Error> {
        let mut cmd = redis::cmd("DEL");
        cmd.arg(&*self.store.place(&keys::alive()));
        Ok(cmd.exec_async(&mut self.store.connection()).await?)
    }

    /// Writes down that a demo begins.
    pub(crate) async fn begin(&self, seed: u64, claims: &[&str]) -> Result<(), Error> {
        let mut cmd = redis::cmd("HSET");
        cmd.arg(&*self.store.place(&keys::record())).arg("seed").arg(seed);
        cmd.arg("started_at").arg(self.store.now_ms() as f64 / 1000.0);
        cmd.arg("claims").arg(claims.join(","));
        Ok(cmd.exec_async(&mut self.store.connection()).await?)
    }

    /// What was written down, if anything.
    pub(crate) async fn read(&self) -> Result<Option<RecordEntry>, Error> {
        let mut cmd = redis::cmd("HMGET");
        cmd.arg(&*self.store.place(&keys::record())).arg("claims").arg("started_at");
        let found: (Option<String>, Option<f64>) =
            cmd.query_async(&mut self.store.connection()).await?;
        let (Some(claims), Some(started_at)) = found else { return Ok(None) };
        let claims = claims.split(',').filter(|claim| !claim.is_empty()).map(str::to_owned);
        Ok(Some(RecordEntry { claims: claims.collect(), started_at }))
    }

    /// Forgets it all; the last thing that is done.
    pub(crate) async fn forget(&self) -> Result<(), Error> {
        let mut cmd = redis::cmd("DEL");
        cmd.arg(&*self.store.place(&keys::record()));
        Ok(cmd.exec_async(&mut self.store.connection()).await?)
    }
}
