//! Calls about what users have paid for. `limits` has what is left of this crate without it.

use std::{borrow::Cow, sync::Arc};

use keyrack_entitlements::{
    Entitlement, EntitlementLookup, Entitlements, Error, NoSource, Origin, RevenueCat, Settings,
};
use keyrack_keys::UserSub;
use serde::{Deserialize, Serialize};

use crate::{
    error::Failure,
    parts::{Parts, to_json},
};

/// Asks about an entitlement of a user. The first call of a store decides who knows the truth.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Lookup<'a> {
    user: Cow<'a, str>,
    entitlement: Cow<'a, str>,
    /// Whether the source is asked, whatever is known.
    #[serde(default)]
    is_forced: bool,
    #[serde(flatten)]
    setup: Setup,
}

/// Says by which id RevenueCat knows a user.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Link<'a> {
    user: Cow<'a, str>,
    revenue_cat_id: Cow<'a, str>,
    #[serde(flatten)]
    setup: Setup,
}

/// Which entitlements there are, and who knows them.
#[derive(Deserialize)]
struct Setup {
    names: Vec<String>,
    source: Option<SourceOptions>,
}

/// RevenueCat, as the settings of the program have it.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct SourceOptions {
    url: String,
    key: String,
    stripe_key: String,
}

/// What is known. Times are in unix milliseconds.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Known {
    is_active: bool,
    expires_at: Option<f64>,
    checked_at: f64,
    origin: Origin,
}

impl Lookup<'_> {
    pub(crate) async fn run(self, parts: &Parts) -> Result<String, Failure> {
        let user = UserSub::new(self.user.as_ref())?;
        let has_source = self.setup.source.is_some();
        let entitlements = self.setup.open(parts).await?;
        // A name that nobody sells is a mistake of the program, and not something that the user lacks.
        let known = entitlements.check_identifier(&self.entitlement);
        known.map_err(|error| Failure::invalid(error.to_string()))?;
        let found = if self.is_forced {
            entitlements.lookup_forced(&user, &self.entitlement).await
        } else {
            entitlements.lookup(&user, &self.entitlement).await
        };
        let EntitlementLookup { entitlement, origin } = match found {
            // An assumption bridges a failure of the source. Where there is none, it would be for ever.
            Ok(EntitlementLookup { origin: Origin::Assumed, .. }) | Err(Error::UnknownUser)
                if !has_source =>
            {
                return Err(Failure::new("unavailable", NOTHING_KNOWN));
            }
            found => found?,
        };
        let Entitlement { is_active, expires_at, checked_at } = entitlement;
        Ok(to_json(&Known {
            is_active,
            expires_at: expires_at.map(|at| at * 1000.0),
            checked_at: checked_at * 1000.0,
            origin,
        }))
    }
}

const NOTHING_KNOWN: &str = "nothing is stored of this user, and there is no source to ask; \
    set KEYRACK_REVENUE_CAT_KEY to the secret API key of the RevenueCat project";

impl Link<'_> {
    pub(crate) async fn run(self, parts: &Parts) -> Result<String, Failure> {
        let user = UserSub::new(self.user.as_ref())?;
        self.setup.open(parts).await?.link(&user, &self.revenue_cat_id).await?;
        Ok("null".to_owned())
    }
}

impl Setup {
    async fn open(self, parts: &Parts) -> Result<&Entitlements, Failure> {
        let store = parts.store.clone();
        let open = async move || {
            let settings = Settings { identifiers: self.names, ..Settings::default() };
            let source: Arc<dyn keyrack_entitlements::Source> = match self.source {
                None => Arc::new(NoSource),
                Some(SourceOptions { url, key, stripe_key }) => {
                    Arc::new(RevenueCat::new(&url, &key, &stripe_key, RevenueCat::TIME_MAX)?)
                }
            };
            Ok(Entitlements::open(store, source, settings)?)
        };
        parts.entitlements.get_or_try_init(open).await
    }
}
