//! keyrack over HTTP: the API, health, metrics and the pages.
//!
//! [`Server`] takes a store and serves it until told to stop. In reading order: `server` has the routes, and `connections` accepts those who ask; `app` is what
//! every route is given, and `access` says who may come in; `api`, `health`, `metrics` and `pages` answer; `census` counts the keys of each family without being
//! a burden to the store; `problem` is how errors look and `stream` how events are sent; `headers` and `observe` stand round all of them.

mod connections;
mod server;

mod access;
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
mod starting;
mod stream;

pub use access::{Access, Auth, Network};
pub use api::{AppTables, Billing, Deploys, Recommendations, TablesFuture, openapi};
pub use app::Quotas;
pub use connections::{ConnectionLimits, Tls};
pub use server::Server;
pub use starting::Starting;
