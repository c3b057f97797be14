//! What every route shares.
//!
//! In reading order: `connections` accepts those who ask, and [`Starting`] answers while the store is not open yet; [`App`] is
//! what every route is given, and [`access`] says who may come in; [`router`] puts what is shared round the routes; `health` and
//! `metrics` answer monitors; [`Problem`] is how errors look and [`error`] which error is which problem; [`extract`] reads
//! requests and [`stream`] sends events; `headers` and `observe` stand round all of them.
#![allow(missing_docs, reason = "nobody publishes this crate")]

mod connections;
mod router;
mod starting;

pub mod access;
mod app;

mod health;
mod metrics;

pub mod error;
pub mod extract;
mod problem;
pub mod stream;

mod headers;
mod observe;

pub use self::{
    access::{Access, Auth, Network},
    app::{App, WAITING_MAX},
    connections::{ConnectionLimits, Tls, serve},
    metrics::{MetricsQueues, export as export_metrics},
    problem::{BrowserError, Problem, ProblemBody},
    router::{finish, router},
    starting::Starting,
};
