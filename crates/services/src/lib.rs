//! Every service of keyrack in one value.
//!
//! [`Services`] is built once from settings and handed to the API, the dashboard, workers and commands. [`census`] counts the
//! keys of each family without being a burden to the store. [`alerts`] has the rules of what somebody should look at.

mod services;

pub mod alerts;
mod cache;

pub mod census;
mod recommendations;

pub use self::{
    cache::Cache,
    recommendations::{AppTables, Recommendations, TablesFuture},
    services::{Billing, Deploys, Jobs, Options, Quotas, Services},
};
