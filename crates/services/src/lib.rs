//! Every service of keyrack in one value.
//!
//! [`Services`] is built once from settings and handed to the API, the dashboard, workers and commands. [`census`] counts the
//! keys of each family without being a burden to the store. [`alerts`] has the rules of what somebody should look at,
//! [`Forwarder`] hands to webhooks what happens to jobs, rules and alerts, and [`LintWatch`] checks the store all the time if it is asked to.

mod services;

pub mod alerts;
mod cache;

pub mod census;
mod lint_watch;
mod queue_list;
mod recommendations;
mod webhooks;

pub use self::{
    cache::Cache,
    lint_watch::{LintWatch, Walked},
    recommendations::{AppTables, Recommendations, TablesFuture},
    services::{Billing, Deploys, Jobs, Options, Quotas, RECURRING_ORIGIN, Services},
    webhooks::{Forwarder, SourceError},
};
