//! One request about a user at a time, in all processes together.
//!
//! Within a process `flight` sees to that. Between processes, whoever asks first leaves a mark in the store, and takes it away once the
//! answer is there; the others come by and look. Nobody waits for longer than a request may take: whoever left the mark may be dead,
//! and a request too many does no harm. An answer that comes after all is kept out by its time if there is a later one.

use std::{collections::BTreeMap, time::Duration};

use keyrack_keys::UserSub;
use keyrack_store::Script;
use tokio::time::{Instant, sleep};

use super::{LookupScope, ask::Stored};
use crate::{error::Error, ids, keys, service::Entitlements};

static GIVE_BACK: Script = keyrack_store::script!("give_back.lua");

/// How often those who wait look whether the answer is there. The source takes many times as long.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// How much longer than the request the mark lasts: the answer has to be stored too.
const STORE_TIME: Duration = Duration::from_secs(1);

/// The longest that a mark lasts, whatever the settings say.
const LEASE_TIME_MAX: Duration = Duration::from_secs(60);

/// The right to ask about a user.
pub(super) struct Lease {
    holder: String,
}

/// The end of waiting.
pub(super) struct Turn {
    /// What the store held then.
    pub(super) stored: Stored,
    /// None for those who ask out of turn.
    pub(super) lease: Option<Lease>,
}

impl Entitlements {
    /// Waits until nobody else asks about a user, or their answer is there. A forced read does not: it has to ask after it was asked
    /// for, and limits see to it that there are few.
    pub(super) async fn turn(&self, user: &UserSub, reach: LookupScope) -> Result<Turn, Error> {
        let patience = self.inner.settings.source_time_max;
        let until = Instant::now() + patience;
        loop {
            let turn = self.take_turn(user).await?;
            let is_over = turn.lease.is_some() || reach == LookupScope::Source;
            if is_over || self.all_known(&turn.stored).is_some() || Instant::now() >= until {
                return Ok(turn);
            }
            sleep(LOOK_EVERY).await;
        }
    }

    /// Takes the right to ask if it is free, and looks at the store after that: whoever had it before stored the answer first.
    async fn take_turn(&self, user: &UserSub) -> Result<Turn, Error> {
        let holder = ids::token()?;
        let lease_time = self.inner.settings.source_time_max.saturating_add(STORE_TIME);
        let lease_ms = u64::try_from(lease_time.min(LEASE_TIME_MAX).as_millis());
        let (asking, known) = (keys::asking(user), keys::entitlements(user));
        let (asking, known) = (self.store().place(&asking), self.store().place(&known));
        let mut pipeline = redis::pipe();
        pipeline.cmd("SET").arg(&*asking).arg(&holder).arg("NX");
        pipeline.arg("PX").arg(lease_ms.unwrap_or(u64::MAX));
        pipeline.cmd("HGETALL").arg(&*known).cmd("PTTL").arg(&*known);
        let (taken, raw, ttl_ms): (Option<String>, BTreeMap<String, Vec<u8>>, i64) =
            pipeline.query_async(&mut self.store().connection()).await?;
        let lease = taken.map(|_| Lease { holder });
        Ok(Turn { stored: Stored::new(raw, ttl_ms), lease })
    }

    /// Gives the right to ask back. Where that fails it ends by itself.
    pub(super) async fn give_back(&self, user: &UserSub, lease: Lease) {
        let call = GIVE_BACK.call(self.store()).key("asking", &keys::asking(user));
        let given: Result<(), _> = call.arg("holder", lease.holder).run().await;
        if let Err(error) = given {
            tracing::debug!(%error, "the right to ask about a user could not be given back");
        }
    }
}
