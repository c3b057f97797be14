//! What happens when a checkout has ended.

use super::{Checkout, session::ClaimedCheckout, stripe::Session};
use crate::error::Error;

/// How a checkout stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CheckoutState {
    Open,
    /// The buyer is done, and the money is on its way: some ways to pay take days.
    Unpaid,
    Complete,
    Expired,
}

impl CheckoutState {
    pub(super) fn of(session: Option<&Session>) -> CheckoutState {
        let Some(session) = session else { return CheckoutState::Expired };
        match session.status.as_deref() {
            Some("complete") => CheckoutState::of_completed(session),
            Some("expired") => CheckoutState::Expired,
            _ => CheckoutState::Open,
        }
    }

    /// How a session stands that the buyer has completed, whether or not the money has come.
    pub(super) fn of_completed(session: &Session) -> CheckoutState {
        match session.payment_status.as_deref() {
            Some("unpaid") => CheckoutState::Unpaid,
            _ => CheckoutState::Complete,
        }
    }
}

impl Checkout {
    /// Asks Stripe about a checkout and does what follows. It is let go of in any case.
    pub(super) async fn settle(&self, held: &ClaimedCheckout) -> Result<CheckoutState, Error> {
        let settled = match self.stripe.session(&held.stripe_session_id).await {
            Ok(session) => self.conclude(held, CheckoutState::of(session.as_ref())).await,
            Err(error) => Err(Error::Stripe(error)),
        };
        if settled.is_err() {
            self.release_unchecked(held).await?;
        }
        settled
    }

    /// Does what follows from how a checkout stands. On failure it is still held.
    pub(super) async fn conclude(
        &self,
        held: &ClaimedCheckout,
        standing: CheckoutState,
    ) -> Result<CheckoutState, Error> {
        match standing {
            CheckoutState::Open => self.release_checked(held).await?,
            CheckoutState::Unpaid if held.is_given_up(self.entitlements.now()) => {
                self.close(held).await?;
                return Ok(CheckoutState::Expired);
            }
            CheckoutState::Unpaid => self.release_unpaid(held).await?,
            CheckoutState::Expired => self.close(held).await?,
            CheckoutState::Complete => self.complete(held).await?,
        }
        Ok(standing)
    }

    /// Tells the source of the purchase. Everything before the end may happen again after a crash, and does no harm then.
    async fn complete(&self, held: &ClaimedCheckout) -> Result<(), Error> {
        let customer = self.entitlements.ensure_customer(&held.user).await?;
        let source = &self.entitlements.inner.source;
        source.purchased(&customer, &held.stripe_session_id).await.map_err(Error::Source)?;
        self.entitlements.purge(&held.user).await?;
        self.close(held).await?;
        // An answer from before the purchase may still be under way; this one is newer. If the source cannot be asked, the
        // next read will.
        let identifier = &self.settings.identifier;
        if let Err(error) = self.entitlements.lookup_forced(&held.user, identifier).await {
            tracing::warn!(%error, "an entitlement that was just bought could not be looked up");
        }
        Ok(())
    }
}
