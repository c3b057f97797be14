//! Taking turns, so that of a fleet only one host is down at a time.

use std::time::Duration;

use keyrack_store::Script;
use tokio::time::sleep;

use crate::{
    error::Error,
    keys::{self, Repo},
    updates::Updates,
};

static TAKE: Script = keyrack_store::script!("turn/take.lua");
static GIVE_BACK: Script = keyrack_store::script!("turn/give_back.lua");

/// How long a host that is no longer heard of keeps its turn.
const HOLD_TIME: Duration = Duration::from_secs(60);

/// How often it is taken for longer; two of these may fail.
const RENEW_EVERY: Duration = Duration::from_secs(20);

/// How often those who wait ask. A fleet is some hundred hosts at most, and an update takes far longer than this.
const ASK_EVERY: Duration = Duration::from_secs(1);

/// The turn to update. Dropping it without [`UpdateLock::end`] gives it back when it expires.
#[derive(Debug)]
#[must_use = "a turn that nobody ends is lost for a minute"]
pub struct UpdateLock {
    updates: Updates,
    repo: Repo,
    holder: String,
}

impl Updates {
    /// Waits until it is this host's turn to update. `holder` is its name, which no other has.
    ///
    /// # Errors
    /// When the store refuses; one that is away is waited for.
    pub async fn turn(&self, repo: &Repo, holder: &str) -> Result<UpdateLock, Error> {
        let turn =
            UpdateLock { updates: self.clone(), repo: repo.clone(), holder: holder.to_owned() };
        loop {
            match turn.take().await {
                Ok(true) => return Ok(turn),
                Ok(false) => {}
                Err(error) if error.is_transient() => {
                    tracing::warn!(%error, "could not ask for the turn to update");
                }
                Err(error) => return Err(error),
            }
            sleep(ASK_EVERY).await;
        }
    }

    /// Whose turn it is, if anybody's.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn holder(&self, repo: &Repo) -> Result<Option<String>, Error> {
        let mut cmd = redis::cmd("GET");
        cmd.arg(&*self.store().place(&keys::turn(repo)));
        let holder = cmd.query_async(&mut self.store().connection()).await;
        Ok(holder.map_err(keyrack_store::Error::from)?)
    }
}

impl UpdateLock {
    /// Does something that takes time while the turn is kept.
    ///
    /// A turn that is lost all the same, because the store was away for a minute, does not break the work off: half an update is worse
    /// than two at a time.
    pub async fn during<T>(&self, work: impl Future<Output = T>) -> T {
        let mut work = std::pin::pin!(work);
        loop {
            tokio::select! {
                biased;
                done = &mut work => return done,
                () = sleep(RENEW_EVERY) => {}
            }
            match self.take().await {
                Ok(true) => {}
                Ok(false) => tracing::warn!("another host has begun to update in the meantime"),
                Err(error) => tracing::warn!(%error, "could not keep the turn to update"),
            }
        }
    }

    /// Lets the next one have it. False if it was lost before.
    ///
    /// # Errors
    /// When the store fails; the turn ends by itself then.
    pub async fn end(self) -> Result<bool, Error> {
        let call = GIVE_BACK.call(self.updates.store()).key("turn", &keys::turn(&self.repo));
        Ok(call.arg("holder", &self.holder).run().await?)
    }

    async fn take(&self) -> Result<bool, Error> {
        let call = TAKE.call(self.updates.store()).key("turn", &keys::turn(&self.repo));
        let call = call.arg("holder", &self.holder);
        Ok(call.arg("hold_ms", HOLD_TIME.as_millis() as u64).run().await?)
    }
}
