//! Entitlements and the checkout, as the settings say.

use std::{sync::Arc, time::Duration};

use keyrack_entitlements::{
    Checkout, CheckoutSettings, Entitlements, NoSource, RevenueCat, Settings, Stripe,
};
use keyrack_services::Billing;
use keyrack_store::Store;

use crate::{
    Exit, Failure, Globals,
    settings::{
        CHECKOUT_PATHS, ENTITLEMENTS, FRONTEND_URL, REVENUE_CAT_KEY, REVENUE_CAT_STRIPE_KEY,
        REVENUE_CAT_URL, STRIPE_KEY, STRIPE_PRICE, STRIPE_URL, STRIPE_WEBHOOK_SECRET, Setting,
    },
};

/// How often open checkouts are looked at.
const SWEEP_PAUSE: Duration = Duration::from_secs(30);

/// What is asked and sold; `None` if there is nobody to ask.
pub(crate) fn billing(store: &Store, globals: &Globals) -> anyhow::Result<Option<Billing>> {
    let value = |setting: &Setting| globals.settings.get(setting).value.clone();
    let Some(key) = value(&REVENUE_CAT_KEY) else {
        return match value(&STRIPE_KEY) {
            None => Ok(None),
            Some(_) => {
                Err(missing(&REVENUE_CAT_KEY, "keyrack reports purchases to RevenueCat").into())
            }
        };
    };
    let stripe_key = value(&REVENUE_CAT_STRIPE_KEY).unwrap_or_default();
    let base = globals.settings.value(&REVENUE_CAT_URL);
    let source = RevenueCat::new(base, &key, &stripe_key, RevenueCat::TIME_MAX)?;
    let entitlements = Entitlements::open(store.clone(), Arc::new(source), settings(globals))?;
    let checkout = checkout(&entitlements, globals)?;
    Ok(Some(Billing { entitlements, checkout }))
}

/// The same for commands that cannot do without.
pub(super) fn needed(store: &Store, globals: &Globals) -> anyhow::Result<Billing> {
    let billing = billing(store, globals)?;
    Ok(billing.ok_or_else(|| missing(&REVENUE_CAT_KEY, "entitlements come from RevenueCat"))?)
}

/// The same for commands that only look at the store.
pub(super) fn unasked(store: Store, globals: &Globals) -> anyhow::Result<Entitlements> {
    Ok(Entitlements::open(store, Arc::new(NoSource), settings(globals))?)
}

/// Looks at open checkouts now and then, for as long as it is polled.
pub(crate) async fn sweep_forever(checkout: Checkout) {
    loop {
        tokio::time::sleep(SWEEP_PAUSE).await;
        match checkout.sweep().await {
            Ok(swept) => tracing::debug!(?swept, "checked open checkouts"),
            Err(error) => tracing::warn!(%error, "could not check open checkouts"),
        }
    }
}

fn settings(globals: &Globals) -> Settings {
    let identifiers = list(globals.settings.value(&ENTITLEMENTS));
    Settings { identifiers, ..Settings::default() }
}

fn checkout(entitlements: &Entitlements, globals: &Globals) -> anyhow::Result<Option<Checkout>> {
    let value = |setting: &Setting| globals.settings.get(setting).value.clone();
    let Some(key) = value(&STRIPE_KEY) else { return Ok(None) };
    let needed =
        |setting: &Setting| value(setting).ok_or_else(|| missing(setting, "the checkout needs it"));
    needed(&REVENUE_CAT_STRIPE_KEY)?;
    let stripe = Stripe::new(globals.settings.value(&STRIPE_URL), &key, Stripe::TIME_MAX)?;
    let settings = CheckoutSettings {
        identifier: entitlements.identifiers()[0].clone(),
        price: needed(&STRIPE_PRICE)?,
        frontend_root: needed(&FRONTEND_URL)?.trim_end_matches('/').to_owned(),
        paths: list(globals.settings.value(&CHECKOUT_PATHS)),
        webhook_secret: value(&STRIPE_WEBHOOK_SECRET),
    };
    Ok(Some(Checkout::new(entitlements.clone(), stripe, settings)?))
}

fn list(text: &str) -> Vec<String> {
    let names = text.split(',').map(str::trim).filter(|name| !name.is_empty());
    names.map(str::to_owned).collect()
}

fn missing(setting: &Setting, why: &str) -> Failure {
    let message = format!("\"{}\" is not set: {why}", setting.key);
    Failure::new(Exit::Usage, message).hint(format!("set it by {}", setting.ways()))
}
