//! Entitlements: what a user has paid for, cached from the source of truth, with rate limits and checkout.
//!
//! [`Limiter`] limits anything, and is all that is left without the feature `billing`. `Entitlements` is the service, and
//! `Checkout` sells through Stripe on top of it.
//! In reading order: `entitlement` is the noun; `source` is who knows the truth, and `source/revenue_cat` the one there is;
//! `lookup` asks the local tier, the store and the source in this order, `shared_request` and `lease` let all who ask at once share one
//! request, in this process and in all, and `breaker` stops asking a source that fails; `purge` tells every process what is void; `customer` is by which
//! names others know a user; `limit` holds the documented limits and `limiter` a general one; `checkout` has a
//! module for each of its verbs. `overview` is for those who look after the whole. `web` is how other servers are called.

#[cfg(feature = "billing")]
mod breaker;
#[cfg(feature = "billing")]
mod checkout;
#[cfg(feature = "billing")]
mod counters;
#[cfg(feature = "billing")]
mod customer;
#[cfg(feature = "billing")]
mod entitlement;
mod error;
#[cfg(feature = "billing")]
mod ids;
pub mod keys;
#[cfg(feature = "billing")]
mod limit;
mod limiter;
#[cfg(feature = "billing")]
mod lookup;
#[cfg(feature = "billing")]
mod overview;
#[cfg(feature = "billing")]
mod purge;
#[cfg(feature = "billing")]
mod python;
#[cfg(feature = "billing")]
mod service;
#[cfg(feature = "billing")]
mod source;
#[cfg(feature = "billing")]
mod web;

#[cfg(feature = "billing")]
pub use self::{
    breaker::{ERRORS_MAX, ERRORS_WINDOW_S, State},
    checkout::{
        Buyer, Checkout, CheckoutSettings, OPEN_MAX, Started, Stripe, Swept, WebhookOutcome,
        sign_webhook,
    },
    counters::Counts,
    customer::Customer,
    entitlement::{ASSUMED_S, Entitlement},
    limit::{CHECKOUT_LIMIT_S, READ_LIMIT_S},
    lookup::{EntitlementLookup, Origin, TTL_S},
    overview::{BreakerReport, OpenCheckout, UserOverview},
    service::{Entitlements, Settings},
    source::{Answer, NoSource, RevenueCat, Source, SourceFuture},
    web::CallError,
};
pub use self::{
    error::Error,
    keys::FAMILIES,
    limiter::{LIMITS_QUOTA, Limit, Limiter, RateLimitDecision},
};
