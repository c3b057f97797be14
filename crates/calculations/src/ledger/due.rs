//! Rules that wait: letting them speak when their time has come, whether or not events do.

use keyrack_store::{Script, script};

use super::{Ledger, commit::tag, judge::stamp};
use crate::{error::Error, keys};

static DUE: Script = script!("due.lua", "say.lua");

/// Rules that speak in one call, so that other clients are not kept waiting.
const AT_ONCE: usize = 100;

impl Ledger {
    /// Lets all rules of the account speak whose time has come. Returns how many did, and when the next one is due.
    pub(crate) async fn speak(&self) -> Result<(u64, Option<u64>), Error> {
        let mut spoke = 0;
        loop {
            let now = self.store().now_ms();
            let (some, has_more, next): (u64, bool, Option<u64>) = DUE
                .call(self.store())
                .key("due", &keys::rules_due(self.account()))
                .key("event_counter", &keys::event_counter(self.account()))
                .arg("now", now)
                .arg("created_at", stamp(now))
                .arg("tag", tag(self.store(), self.account()))
                .arg("max", AT_ONCE)
                .run()
                .await?;
            spoke += some;
            if !has_more {
                return Ok((spoke, next));
            }
        }
    }

    /// Sees to it that the account is looked at by then.
    pub(crate) async fn announce_due(&self, at_ms: u64) -> Result<(), Error> {
        let main = &self.inner.main;
        let mut cmd = redis::cmd("ZADD");
        cmd.arg(&*main.place(&keys::due_accounts())).arg("LT").arg(at_ms);
        cmd.arg(self.account().as_str());
        Ok(cmd.query_async(&mut main.connection()).await?)
    }
}
