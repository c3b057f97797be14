//! Entitlements, limits and the checkout on every store, against servers of other people over real HTTP.

mod cat;
mod till;
mod world;

mod breaker;
mod checkout;
mod customers;
mod limiter;
mod limits;
mod lookup;
mod outage;
mod overview;
mod purge;
mod readers;
mod secrets;
mod sweep;
mod webhook;
