//! keyrack over HTTP: the API, health, metrics and the pages.
//!
//! [`Server`] takes a store and serves it until told to stop. In reading order: `server` has the routes; `app` is what
//! every route is given; `api`, `health`, `metrics` and `pages` answer; `census` counts the keys of each family without being
//! a burden to the store; `problem` is how errors look; `headers` and `observe` stand round all of them; [`human`]
//! writes numbers for people.

mod server;

mod app;

mod api;

mod health;
mod metrics;
mod pages;

mod census;

mod assets;
mod headers;
mod observe;
mod problem;

pub mod human;

pub use api::{Billing, Deploys, openapi};
pub use server::Server;
