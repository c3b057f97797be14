//! By which names those who sell know a user.

use std::collections::HashMap;

use keyrack_keys::UserSub;
use keyrack_store::Script;

use crate::{error::Error, ids, keys, service::Entitlements};

static ENSURE: Script = keyrack_store::script!("customer/ensure.lua");

const REVENUE_CAT_PREFIX: &str = "oseh_u_rc_";

/// The longest id that somebody else may have given a user.
const ID_BYTES_MAX: usize = 256;

/// A user as those who sell know them.
#[derive(Clone, PartialEq, Eq)]
pub struct Customer {
    revenue_cat_id: String,
    stripe_customer_id: Option<String>,
}

impl Customer {
    /// The id at RevenueCat. Only the user may learn it.
    pub fn revenue_cat_id(&self) -> &str {
        &self.revenue_cat_id
    }

    /// The id at Stripe, once a checkout was started.
    pub fn stripe_customer_id(&self) -> Option<&str> {
        self.stripe_customer_id.as_deref()
    }
}

impl std::fmt::Debug for Customer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Customer").finish_non_exhaustive()
    }
}

impl Entitlements {
    /// A user as those who sell know them, if they do.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn customer(&self, user: &UserSub) -> Result<Option<Customer>, Error> {
        let mut cmd = redis::cmd("HGETALL");
        cmd.arg(&*self.store().place(&keys::customer(user)));
        let mut record: HashMap<String, String> =
            cmd.query_async(&mut self.store().connection()).await?;
        let stripe_customer_id = record.remove("stripe_customer_id");
        let revenue_cat_id = record.remove("revenue_cat_id");
        Ok(revenue_cat_id.map(|revenue_cat_id| Customer { revenue_cat_id, stripe_customer_id }))
    }

    /// The same for a user who is to be known from now on.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn ensure_customer(&self, user: &UserSub) -> Result<Customer, Error> {
        if let Some(customer) = self.customer(user).await? {
            return Ok(customer);
        }
        self.write_customer(user, &ids::random(REVENUE_CAT_PREFIX)?, false).await?;
        self.customer(user).await?.ok_or(Error::UnknownUser)
    }

    /// Says by which id RevenueCat knows a user already.
    ///
    /// # Errors
    /// When the id is no id, or when the store fails.
    pub async fn link(&self, user: &UserSub, revenue_cat_id: &str) -> Result<(), Error> {
        let id = revenue_cat_id;
        let is_good = id.bytes().all(|byte| byte.is_ascii_graphic()) && id.len() <= ID_BYTES_MAX;
        if !is_good || id.trim_matches('.').is_empty() {
            let reason = format!("give 1 to {ID_BYTES_MAX} visible ASCII characters");
            return Err(Error::Invalid { field: "revenue_cat_id", reason });
        }
        self.write_customer(user, id, true).await?;
        self.purge(user).await
    }

    async fn write_customer(&self, user: &UserSub, id: &str, replace: bool) -> Result<(), Error> {
        let call = ENSURE.call(self.store()).key("customer", &keys::customer(user));
        let call = call.arg("now", self.now()).arg("revenue_cat_id", id);
        Ok(call.arg("replace", u8::from(replace)).run().await?)
    }

    /// Remembers a user's id at Stripe.
    pub(crate) async fn set_stripe_customer(&self, user: &UserSub, id: &str) -> Result<(), Error> {
        let mut cmd = redis::cmd("HSET");
        cmd.arg(&*self.store().place(&keys::customer(user))).arg("stripe_customer_id").arg(id);
        Ok(cmd.exec_async(&mut self.store().connection()).await?)
    }
}
