//! Entitlements: what a user has paid for, cached from the source of truth, with rate limits and checkout.
//!
//! [`Entitlements`] is the service, [`Checkout`] sells through Stripe on top of it, and [`Limiter`] limits anything.
//! In reading order: `entitlement` is the noun; `source` is who knows the truth, and `source/revenue_cat` the one there is;
//! `lookup` asks the local tier, the store and the source in this order, `shared_request` and `lease` let all who ask at once share one
//! request, in this process and in all, and `breaker` stops asking a source that fails; `purge` tells every process what is void; `customer` is by which
//! names others know a user; `limit` holds the documented limits and `limiter` a general one; `checkout` has a
//! module for each of its verbs. `overview` is for those who look after the whole. `web` is how other servers are called.

mod breaker;
mod checkout;
mod counters;
mod customer;
mod entitlement;
mod error;
mod ids;
pub mod keys;
mod limit;
mod limiter;
mod lookup;
mod overview;
mod purge;
mod python;
mod service;
mod source;
mod web;

pub use self::{
    breaker::{ERRORS_MAX, ERRORS_WINDOW_S, State},
    checkout::{
        Buyer, Checkout, CheckoutSettings, OPEN_MAX, Started, Stripe, Swept, WebhookOutcome,
        sign_webhook,
    },
    counters::Counts,
    customer::Customer,
    entitlement::{ASSUMED_S, Entitlement},
    error::Error,
    keys::FAMILIES,
    limit::{CHECKOUT_LIMIT_S, READ_LIMIT_S},
    limiter::{LIMITS_QUOTA, Limit, Limiter, RateLimitDecision},
    lookup::{EntitlementLookup, Origin, TTL_S},
    overview::{BreakerReport, OpenCheckout, UserOverview},
    service::{Entitlements, Settings},
    source::{Answer, NoSource, RevenueCat, Source, SourceFuture},
    web::CallError,
};
