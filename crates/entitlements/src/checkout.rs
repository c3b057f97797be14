//! Selling through Stripe: a checkout is started, paid at Stripe, and finished by whoever notices first: the user's
//! browser, Stripe's webhook or the sweep.
//!
//! In reading order: `session` is a checkout that is open; `start`, `finish`, `webhook` and `sweep` are what is done with it;
//! `complete` is what they have in common; `stripe` calls Stripe.

mod complete;
mod finish;
mod session;
mod start;
mod stripe;
mod sweep;
mod webhook;

pub use self::{
    start::{Buyer, OPEN_MAX, Started},
    stripe::Stripe,
    sweep::Swept,
    webhook::{WebhookOutcome, sign_webhook},
};
use crate::{error::Error, service::Entitlements};

/// What is sold, and where buyers come from.
#[derive(Clone)]
pub struct CheckoutSettings {
    /// The entitlement that the price buys. Who has it cannot buy it again.
    pub identifier: String,
    /// The price at Stripe.
    pub price: String,
    /// The address of the site to which buyers return, without a slash at the end.
    pub frontend_root: String,
    /// The paths of the site to which they may return.
    pub paths: Vec<String>,
    /// With what Stripe signs its webhooks; without it none is taken.
    pub webhook_secret: Option<String>,
}

impl std::fmt::Debug for CheckoutSettings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CheckoutSettings")
            .field("identifier", &self.identifier)
            .field("price", &self.price)
            .field("frontend_root", &self.frontend_root)
            .field("paths", &self.paths)
            .finish_non_exhaustive()
    }
}

/// Selling through Stripe. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Checkout {
    entitlements: Entitlements,
    stripe: Stripe,
    settings: std::sync::Arc<CheckoutSettings>,
}

impl Checkout {
    /// Sells entitlements through Stripe.
    ///
    /// # Errors
    /// When the settings make no sense.
    pub fn new(
        entitlements: Entitlements,
        stripe: Stripe,
        settings: CheckoutSettings,
    ) -> Result<Checkout, Error> {
        entitlements.check_identifier(&settings.identifier)?;
        check(&settings)?;
        Ok(Checkout { entitlements, stripe, settings: settings.into() })
    }

    /// The entitlements that are sold.
    pub fn entitlements(&self) -> &Entitlements {
        &self.entitlements
    }
}

fn check(settings: &CheckoutSettings) -> Result<(), Error> {
    let wrong = |reason: String| Err(Error::Settings { reason });
    let root = &settings.frontend_root;
    if !(root.starts_with("https://") || root.starts_with("http://")) || root.ends_with('/') {
        return wrong(format!("\"{root}\" is no address of a site without a slash at its end"));
    }
    if settings.price.is_empty() {
        return wrong("name the price at Stripe".into());
    }
    let is_plain = |path: &String| path.starts_with('/') && !path.contains(['?', '#']);
    match settings.paths.iter().find(|path| !is_plain(path)) {
        Some(path) => wrong(format!("\"{path}\" is no plain path; it has to begin with a slash")),
        None if settings.paths.is_empty() => wrong("name a path to which buyers return".into()),
        None => Ok(()),
    }
}
