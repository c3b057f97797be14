//! Starting a checkout.

use keyrack_keys::UserSub;
use keyrack_store::Script;

use super::{
    Checkout,
    session::Times,
    stripe::{NewCustomer, NewSession, Session},
};
use crate::{
    error::Error,
    ids,
    keys::{self, CheckoutUid},
    limit::CHECKOUT_LIMIT_S,
};

static OPEN: Script = keyrack_store::script!("open.lua");

const UID_PREFIX: &str = "oseh_oscs_";

/// How long Stripe keeps a session open that does not say so.
const LIFE_S: f64 = 86_401.0;

/// How many checkouts of a user may be open at once; each ends within a day.
pub const OPEN_MAX: usize = 20;

/// What Stripe is told about somebody who buys for the first time.
#[derive(Debug, Clone, Copy, Default)]
pub struct Buyer<'a> {
    /// Where receipts go.
    pub email: Option<&'a str>,
    /// Their name.
    pub name: Option<&'a str>,
}

/// A checkout that was just started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Started {
    /// The checkout.
    pub uid: CheckoutUid,
    /// Where the buyer pays.
    pub url: String,
}

impl Checkout {
    /// Starts a checkout for a user, who returns to `success_path` having paid and to `cancel_path` having not.
    ///
    /// # Errors
    /// When a path is not one of the site's, when the last start is too recent, when the user has what is sold or too many open
    /// checkouts, when nobody knows the user, or when Stripe or the store fails.
    pub async fn start(
        &self,
        user: &UserSub,
        buyer: Buyer<'_>,
        cancel_path: &str,
        success_path: &str,
    ) -> Result<Started, Error> {
        self.check_path("cancel_path", cancel_path)?;
        self.check_path("success_path", success_path)?;
        self.entitlements.take(&keys::checkout_start_limit(user), CHECKOUT_LIMIT_S).await?;
        self.entitlements.ensure_customer(user).await?;
        self.check_not_owned(user).await?;
        self.check_room(user).await?;
        let customer = self.stripe_customer(user, buyer).await?;
        let uid = CheckoutUid::new(ids::random(UID_PREFIX)?)?;
        let root = &self.settings.frontend_root;
        let success_url = format!("{root}{success_path}?checkout_success=1&checkout_uid={uid}");
        let new = NewSession {
            uid: uid.as_str(),
            customer: &customer,
            price: &self.settings.price,
            success_url: &success_url,
            cancel_url: &format!("{root}{cancel_path}"),
        };
        let session = self.stripe.create_session(new).await.map_err(Error::Stripe)?;
        self.keep_or_expire(user, &uid, &session).await?;
        let nowhere = || crate::web::CallError::Nonsense("the session has no address".into());
        let url = session.url.ok_or_else(|| Error::Stripe(nowhere()))?;
        Ok(Started { uid, url })
    }

    fn check_path(&self, field: &'static str, path: &str) -> Result<(), Error> {
        if self.settings.paths.iter().any(|allowed| allowed == path) {
            return Ok(());
        }
        let reason = format!("give one of: {}", self.settings.paths.join(", "));
        Err(Error::Invalid { field, reason })
    }

    /// Only what the source really said keeps somebody from buying, and only until it runs out.
    async fn check_not_owned(&self, user: &UserSub) -> Result<(), Error> {
        let identifier = &self.settings.identifier;
        let found = self.entitlements.lookup_forced(user, identifier).await?;
        if found.is_certain(self.entitlements.now()) {
            return Err(Error::AlreadySubscribed { identifier: identifier.clone() });
        }
        Ok(())
    }

    async fn check_room(&self, user: &UserSub) -> Result<(), Error> {
        let store = self.entitlements.store();
        let mut cmd = redis::cmd("ZCARD");
        cmd.arg(&*store.place(&keys::checkouts(user)));
        let open: usize = cmd.query_async(&mut store.connection()).await?;
        if open >= OPEN_MAX { Err(Error::TooManyOpen { open }) } else { Ok(()) }
    }

    async fn stripe_customer(&self, user: &UserSub, buyer: Buyer<'_>) -> Result<String, Error> {
        let customer = self.entitlements.ensure_customer(user).await?;
        if let Some(id) = customer.stripe_customer_id() {
            return Ok(id.to_owned());
        }
        let new = NewCustomer { user_sub: user.as_str(), email: buyer.email, name: buyer.name };
        let id = self.stripe.create_customer(new).await.map_err(Error::Stripe)?;
        self.entitlements.set_stripe_customer(user, &id).await?;
        Ok(id)
    }

    /// A session that is not remembered must not be paid: nobody would notice.
    async fn keep_or_expire(
        &self,
        user: &UserSub,
        uid: &CheckoutUid,
        session: &Session,
    ) -> Result<(), Error> {
        let kept = self.keep(user, uid, session).await;
        if kept.is_err()
            && let Err(error) = self.stripe.expire(&session.id).await
        {
            tracing::warn!(%error, "a checkout that could not be stored could not be ended either");
        }
        kept
    }

    async fn keep(
        &self,
        user: &UserSub,
        uid: &CheckoutUid,
        session: &Session,
    ) -> Result<(), Error> {
        let now = self.entitlements.now();
        let expires_at = session.expires_at.unwrap_or(now + LIFE_S);
        let times = Times { created_at: now, last_checked_at: now, expires_at };
        let call = OPEN.call(self.entitlements.store());
        let call = call.key("session", &keys::checkout_session(uid));
        let call = call.key("due", &keys::checkouts_due()).key("open", &keys::checkouts(user));
        let call = call.arg("uid", uid.as_str()).arg("user_sub", user.as_str());
        let call = call.arg("stripe_session_id", &session.id).arg("now", now);
        let call = call.arg("expires_at", expires_at).arg("next_at", times.next_check());
        let kept: Result<(), _> = call.arg("max", OPEN_MAX).run().await;
        kept.map_err(|error| match Error::from(error) {
            error if error.word() == Some("TOO_MANY_OPEN") => Error::TooManyOpen { open: OPEN_MAX },
            error => error,
        })
    }
}
