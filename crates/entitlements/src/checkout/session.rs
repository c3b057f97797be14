//! A checkout that is open: who holds it, and when Stripe is asked about it.

use std::collections::HashMap;

use keyrack_keys::UserSub;
use keyrack_store::Script;

use super::Checkout;
use crate::{
    error::Error,
    ids,
    keys::{self, CheckoutUid},
};

static HOLD: Script = keyrack_store::script!("hold.lua");
static RELEASE: Script = keyrack_store::script!("release.lua");
static CLOSE: Script = keyrack_store::script!("close.lua");

/// For how long one may hold a checkout. Longer than all calls of other servers that finishing it takes together.
const HOLD_S: f64 = 60.0;

/// When Stripe is asked about a checkout that nobody finishes, in seconds after its start.
const CHECKS_S: [f64; 2] = [300.0, 3600.0];

/// How long to wait between two questions about a checkout that should have expired.
const RECHECK_S: f64 = 300.0;

/// How long to wait between two questions about a payment that is on its way.
const UNPAID_RECHECK_S: f64 = 3600.0;

/// How long a payment may be on its way. The slowest ways to pay take two weeks.
const UNPAID_MAX_S: f64 = 30.0 * 86_400.0;

/// A checkout that this process holds: nobody else finishes it.
#[derive(Debug)]
pub(super) struct ClaimedCheckout {
    pub(super) uid: CheckoutUid,
    pub(super) user: UserSub,
    pub(super) stripe_session_id: String,
    times: Times,
    holder: String,
}

/// Which checkouts may be held.
#[derive(Debug, Clone, Copy)]
pub(super) enum ClaimFilter<'a> {
    /// Anybody's.
    Any,
    /// This user's.
    Of(&'a UserSub),
    /// Those whose time it is.
    Due,
}

/// The times of a checkout, in unix seconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Times {
    pub(super) created_at: f64,
    pub(super) last_checked_at: f64,
    pub(super) expires_at: f64,
}

impl Times {
    /// When Stripe is to be asked next.
    pub(super) fn next_check(&self) -> f64 {
        let [soon, later] = CHECKS_S.map(|after| self.created_at + after);
        let planned = [soon, later, self.expires_at].into_iter();
        let open = planned.filter(|at| *at > self.last_checked_at);
        open.min_by(f64::total_cmp).unwrap_or(self.last_checked_at + RECHECK_S)
    }
}

impl Checkout {
    /// Holds a checkout.
    pub(super) async fn hold(
        &self,
        uid: &CheckoutUid,
        which: ClaimFilter<'_>,
    ) -> Result<ClaimedCheckout, Error> {
        let (now, holder) = (self.entitlements.now(), ids::token()?);
        let (user_sub, only_due) = match which {
            ClaimFilter::Any => ("", false),
            ClaimFilter::Of(user) => (user.as_str(), false),
            ClaimFilter::Due => ("", true),
        };
        let call = HOLD.call(self.entitlements.store());
        let call = call.key("session", &keys::checkout_session(uid));
        let call = call.key("due", &keys::checkouts_due()).arg("uid", uid.as_str());
        let call = call.arg("now", now).arg("holder", &holder).arg("held_until", now + HOLD_S);
        let call = call.arg("user_sub", user_sub).arg("only_due", u8::from(only_due));
        let held = call.run().await;
        let record: HashMap<String, String> = held.map_err(|error| refused(error.into(), uid))?;
        ClaimedCheckout::read(uid, &record, holder)
            .ok_or_else(|| Error::NoSuchCheckout { uid: uid.to_string() })
    }

    /// Lets go of a checkout that stays open.
    pub(super) async fn release(
        &self,
        held: &ClaimedCheckout,
        next_at: f64,
        asked_at: f64,
    ) -> Result<(), Error> {
        let call = RELEASE.call(self.entitlements.store());
        let call = call.key("session", &keys::checkout_session(&held.uid));
        let call = call.key("due", &keys::checkouts_due()).arg("uid", held.uid.as_str());
        let call = call.arg("holder", &held.holder).arg("last_checked_at", asked_at);
        Ok(call.arg("next_at", next_at).run().await?)
    }

    /// Lets go of a checkout about which Stripe said that it is open.
    pub(super) async fn release_checked(&self, held: &ClaimedCheckout) -> Result<(), Error> {
        let now = self.entitlements.now();
        let times = Times { last_checked_at: now, ..held.times };
        self.release(held, times.next_check(), now).await
    }

    /// Lets go of a checkout whose payment is on its way. Stripe tells when it has come; the sweep asks in case it does not.
    pub(super) async fn release_unpaid(&self, held: &ClaimedCheckout) -> Result<(), Error> {
        let now = self.entitlements.now();
        self.release(held, now + UNPAID_RECHECK_S, now).await
    }

    /// Lets go of a checkout about which nothing was found out. The sweep asks again a little later.
    pub(super) async fn release_unchecked(&self, held: &ClaimedCheckout) -> Result<(), Error> {
        let next_at = held.times.next_check().max(self.entitlements.now() + RECHECK_S);
        self.release(held, next_at, held.times.last_checked_at).await
    }

    /// Forgets a checkout that has ended.
    pub(super) async fn close(&self, held: &ClaimedCheckout) -> Result<(), Error> {
        let call = CLOSE.call(self.entitlements.store());
        let call = call.key("session", &keys::checkout_session(&held.uid));
        let call =
            call.key("due", &keys::checkouts_due()).key("open", &keys::checkouts(&held.user));
        Ok(call.arg("uid", held.uid.as_str()).arg("holder", &held.holder).run().await?)
    }
}

impl ClaimedCheckout {
    /// Whether its payment has been on its way for so long that it will not come.
    pub(super) fn is_given_up(&self, now: f64) -> bool {
        now > self.times.created_at + UNPAID_MAX_S
    }

    fn read(
        uid: &CheckoutUid,
        record: &HashMap<String, String>,
        holder: String,
    ) -> Option<ClaimedCheckout> {
        let time = |name: &str| record.get(name)?.parse::<f64>().ok();
        let times = Times {
            created_at: time("created_at")?,
            last_checked_at: time("last_checked_at")?,
            expires_at: time("expires_at")?,
        };
        Some(ClaimedCheckout {
            uid: uid.clone(),
            user: UserSub::new(record.get("user_sub")?.as_str()).ok()?,
            stripe_session_id: record.get("stripe_session_id")?.clone(),
            times,
            holder,
        })
    }
}

fn refused(error: Error, uid: &CheckoutUid) -> Error {
    match error.word() {
        Some("NO_SUCH_CHECKOUT") => Error::NoSuchCheckout { uid: uid.to_string() },
        Some("BUSY_CHECKOUT") => Error::Busy { uid: uid.to_string() },
        _ => error,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(last_checked_at: f64, next: f64) {
        let times = Times { created_at: 1000.0, last_checked_at, expires_at: 87_401.0 };
        assert_eq!(times.next_check(), next);
    }

    #[test]
    fn stripe_is_asked_after_five_minutes_an_hour_a_day_and_then_every_five_minutes() {
        check(1000.0, 1300.0);
        check(1299.0, 1300.0);
        check(1300.0, 4600.0);
        check(4600.5, 87_401.0);
        check(87_401.0, 87_701.0);
        check(90_000.0, 90_300.0);
    }

    #[test]
    fn what_expires_early_is_asked_for_early() {
        let times = Times { created_at: 1000.0, last_checked_at: 1000.0, expires_at: 1100.0 };
        assert_eq!(times.next_check(), 1100.0);
    }
}
