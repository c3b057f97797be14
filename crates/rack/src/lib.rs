//! Job queues, progress bars, rate limits and rollups on documented Redis keys, on a Redis server or with none at all.
//!
//! ```
//! use keyrack::prelude::*;
//! use serde::{Deserialize, Serialize};
//!
//! #[derive(Serialize, Deserialize)]
//! struct Charge {
//!     cents: u64,
//! }
//!
//! impl Task for Charge {
//!     const QUEUE: &str = "charges";
//!     type Output = String;
//! }
//!
//! async fn charge(charge: Charge) -> Result<String, BoxError> {
//!     Ok(format!("receipt for {} cents", charge.cents))
//! }
//!
//! #[tokio::main]
//! async fn main() -> keyrack::Result<()> {
//!     let rack = Keyrack::open("embedded:memory").await?;
//!     let jobs = rack.jobs();
//!     let worker = jobs.worker().on(charge).spawn();
//!     let receipt = Charge { cents: 500 }.submit(&jobs).await?.wait(secs(10)).await?;
//!     assert_eq!(receipt, "receipt for 500 cents");
//!     worker.stop().await
//! }
//! ```
//!
//! Each service is a feature: `jobs` (on by default), `limits`, `progress`, `calculations`, `entitlements`, `files`,
//! `journeys` and `recommender`. `axum` has a layer that limits the rate of requests, `server` the whole API and dashboard
//! as a router, and `full` is all of them. The services are crates of their own, such as `keyrack_jobs`, which this one
//! puts behind one handle and one error; whatever it does not show is found in them.
//!
//! In reading order: [`Keyrack`] is the handle and [`Error`] what can go wrong; [`jobs`] has typed tasks, their handlers
//! and workers; [`limits`] has rate limits and `rollups` what is calculated from events; `testing` has the time that a test moves by hand.

mod error;
mod rack;
mod testing;
mod time;

#[cfg(feature = "jobs")]
pub mod jobs;
#[cfg(feature = "limits")]
pub mod limits;
#[cfg(feature = "progress")]
mod progress;
#[cfg(feature = "calculations")]
pub mod rollups;
#[cfg(feature = "server")]
mod server;

#[cfg(feature = "calculations")]
pub use keyrack_calculations as calculations;
#[cfg(feature = "entitlements")]
pub use keyrack_entitlements as entitlements;
#[cfg(feature = "files")]
pub use keyrack_files as files;
#[cfg(feature = "journeys")]
pub use keyrack_journeys as journeys;
pub use keyrack_keys::{PartError, UserSub};
#[cfg(feature = "recommender")]
pub use keyrack_recommender as recommender;
#[cfg(feature = "server")]
pub use keyrack_services::Options as ServiceOptions;
pub use keyrack_store::{self as store, Class, Store};
#[cfg(feature = "server")]
pub use keyrack_web::{Access, Auth};

#[cfg(feature = "tracing")]
pub use self::jobs::JobLogs;
#[cfg(feature = "progress")]
pub use self::progress::Progress;
pub use self::{
    error::{Error, Result},
    rack::Keyrack,
    testing::TestTime,
    time::{days, hours, millis, mins, secs},
};
pub use jiff::Timestamp;

/// What most programs use: `use keyrack::prelude::*;`.
pub mod prelude {
    #[cfg(feature = "jobs")]
    pub use crate::jobs::{
        Backoff, Batched, BoxError, Context, JobHandle, JobId, Jobs, QueueName, ResultExt, State,
        Tag, Task, TaskError, Tenant, Unique, Worker,
    };
    #[cfg(feature = "limits")]
    pub use crate::limits::{Limits, RateLimit};
    #[cfg(feature = "calculations")]
    pub use crate::rollups::{Event, Interval, Rollups};
    pub use crate::{Keyrack, TestTime, days, hours, millis, mins, secs};
}

/// The guide, whose examples are compiled with the tests.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/rust.md")]
pub struct Guide;

/// The quick start, likewise.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
pub struct QuickStart;

/// The guides of services, likewise.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/calculations.md")]
#[doc = include_str!("../../../docs/entitlements.md")]
#[doc = include_str!("../../../docs/files.md")]
#[doc = include_str!("../../../docs/journeys.md")]
pub struct ServiceGuides;
