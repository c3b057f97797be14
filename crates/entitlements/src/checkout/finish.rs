//! Finishing a checkout, when the buyer comes back.

use keyrack_keys::UserSub;

use super::{Checkout, complete::CheckoutState, session::ClaimFilter};
use crate::{
    error::Error,
    keys::{self, CheckoutUid},
    limit::CHECKOUT_LIMIT_S,
};

impl Checkout {
    /// Looks whether a user has paid, and if so, sees to it that the user has what was bought.
    ///
    /// # Errors
    /// When the last look is too recent, when the user has no such open checkout, when it is not complete, or when
    /// Stripe, the source or the store fails.
    pub async fn finish(&self, user: &UserSub, uid: &CheckoutUid) -> Result<(), Error> {
        self.entitlements.take(&keys::checkout_finish_limit(user), CHECKOUT_LIMIT_S).await?;
        let held = self.hold(uid, ClaimFilter::Of(user)).await?;
        match self.settle(&held).await? {
            CheckoutState::Complete => Ok(()),
            CheckoutState::Open | CheckoutState::Unpaid | CheckoutState::Expired => {
                Err(Error::Incomplete { uid: uid.to_string() })
            }
        }
    }
}
