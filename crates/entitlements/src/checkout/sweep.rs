//! The sweep: finishing checkouts whose buyers did not come back.

use std::collections::HashSet;

use futures_util::{
    future::FutureExt as _,
    stream::{self, StreamExt as _},
};
use serde::Serialize;

use super::{Checkout, complete::CheckoutState, session::ClaimFilter};
use crate::{
    error::Error,
    keys::{self, CheckoutUid},
};

/// How many checkouts are read at once.
const BATCH: usize = 100;

/// How many are asked about at once: enough that some slow answers do not hold up the rest, and kind to Stripe.
const CONCURRENCY: usize = 8;

/// What a sweep found.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Swept {
    /// Paid, and the buyer has what was bought.
    pub completed: usize,
    /// Given up by Stripe.
    pub expired: usize,
    /// Still open, or not yet paid.
    pub open: usize,
    /// Could not be found out; asked again in five minutes.
    pub failed: usize,
    /// Being finished by somebody else.
    pub busy: usize,
}

impl Checkout {
    /// Asks Stripe about every checkout whose time it is. Several sweeps at once share the work.
    ///
    /// # Errors
    /// When the store fails. Checkouts that cannot be found out about are counted, and do not stop the others.
    pub async fn sweep(&self) -> Result<Swept, Error> {
        let now = self.entitlements.now();
        let (mut swept, mut busy) = (Swept::default(), HashSet::new());
        loop {
            let due = self.due(now, &busy).await?;
            if due.is_empty() {
                return Ok(swept);
            }
            // Collected, so that a task can run this: the compiler sees no further through the closure.
            let looking: Vec<_> = due.into_iter().map(|uid| self.look(uid).boxed()).collect();
            let mut looking = stream::iter(looking).buffer_unordered(CONCURRENCY);
            while let Some(looked) = looking.next().await {
                match looked? {
                    SweepOutcome::Settled(CheckoutState::Complete) => swept.completed += 1,
                    SweepOutcome::Settled(CheckoutState::Expired) => swept.expired += 1,
                    SweepOutcome::Settled(CheckoutState::Open | CheckoutState::Unpaid) => {
                        swept.open += 1
                    }
                    SweepOutcome::Failed => swept.failed += 1,
                    SweepOutcome::Done => {}
                    SweepOutcome::Busy(uid) => {
                        swept.busy += 1;
                        busy.insert(uid);
                    }
                }
            }
        }
    }

    /// Some whose time it is. All but those that somebody else holds leave their place when they are looked at.
    async fn due(&self, now: f64, busy: &HashSet<CheckoutUid>) -> Result<Vec<CheckoutUid>, Error> {
        let store = self.entitlements.store();
        let mut cmd = redis::cmd("ZRANGEBYSCORE");
        cmd.arg(&*store.place(&keys::checkouts_due())).arg("-inf").arg(now);
        cmd.arg("LIMIT").arg(0).arg(BATCH + busy.len());
        let uids: Vec<String> = cmd.query_async(&mut store.connection()).await?;
        let uids = uids.into_iter().filter_map(|uid| CheckoutUid::new(uid).ok());
        Ok(uids.filter(|uid| !busy.contains(uid)).collect())
    }

    async fn look(&self, uid: CheckoutUid) -> Result<SweepOutcome, Error> {
        let held = match self.hold(&uid, ClaimFilter::Due).await {
            Ok(held) => held,
            Err(Error::Busy { .. }) => return Ok(SweepOutcome::Busy(uid)),
            Err(Error::NoSuchCheckout { .. }) => return self.forget(&uid).await,
            Err(error) if error.word() == Some("NOT_DUE") => return Ok(SweepOutcome::Done),
            Err(error) => return Err(error),
        };
        match self.settle(&held).await {
            Ok(standing) => Ok(SweepOutcome::Settled(standing)),
            Err(error @ (Error::Stripe(_) | Error::Source(_))) => {
                tracing::warn!(%error, uid = uid.as_str(), "a checkout could not be looked at");
                Ok(SweepOutcome::Failed)
            }
            Err(error) => Err(error),
        }
    }

    /// Takes out what is no longer there: somebody else has just closed it, or another program deleted it.
    async fn forget(&self, uid: &CheckoutUid) -> Result<SweepOutcome, Error> {
        let store = self.entitlements.store();
        let mut cmd = redis::cmd("ZREM");
        cmd.arg(&*store.place(&keys::checkouts_due())).arg(uid.as_str());
        cmd.exec_async(&mut store.connection()).await?;
        Ok(SweepOutcome::Done)
    }
}

/// What came of looking at one.
enum SweepOutcome {
    Settled(CheckoutState),
    Failed,
    Busy(CheckoutUid),
    /// Somebody else was faster.
    Done,
}
