//! Progress bars that know how long things take, learned from past traces.
//!
//! [`Progress`] is the handle to the bars of a store. A client reports a *trace*, one run through a *bar*, step by step; a
//! completed trace may be retained as a sample, and from the samples of a bar follows how long the next trace will take.
//!
//! ```
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use keyrack_keys::UserSub;
//! use keyrack_progress::{NewTrace, Progress, Update};
//! use keyrack_store::Store;
//!
//! let store = Store::open("embedded:memory").await?;
//! let progress = Progress::open(store, keyrack_jobs::hot::keys::hot());
//! let (user, now) = (UserSub::new("alice")?, progress.now());
//! let (bar, trace) = ("import".to_owned(), "42".to_owned());
//!
//! let read = "read".to_owned();
//! let new = NewTrace { pbar_name: bar.clone(), uid: trace.clone(), step_name: read.clone(), iterations: Some(10), now, reports_every: None };
//! progress.create_trace(&user, &new).await?;
//! let (iteration, iterations) = (Some(10), Some(10));
//! let last = Update { pbar_name: bar, trace_uid: trace, step_name: read, iteration, iterations, done: true, now: now + 2.0 };
//! progress.update_trace(&user, &last).await?;
//!
//! // A worker of the hot queue does this; see `Progress::handle`.
//! progress.handle_completed(&user, "import", "42", None).await?;
//! assert_eq!(progress.eta(&user, "import").await?.eta.round(), 2.0);
//! # Ok(())
//! # }
//! ```
//!
//! In reading order: `trace`, `bar`, `technique`, `retained`, `eta` and `live` are the nouns, and `service` the handle. In `trace` a
//! trace is created, updated and read; `complete` counts a completed one; `bars` keeps bars, steps and samples; `stats` and `eta` make times of
//! samples. `jobs` is what a worker of the hot queue calls, and `outbox` the way there on a cluster. `running` and `overview` are for those who look
//! after the bars of all users. `usage` and `example` are small.
//! [`estimate`] is the better answer to how long a trace will take, and stands alone; `draw` shows it on a terminal.
//!
#![doc = include_str!("docs/deviations.md")]

mod bar;
mod bars;
pub mod client;
mod complete;
#[cfg(feature = "draw")]
pub mod draw;
mod error;
pub mod estimate;
mod eta;
mod example;
mod jobs;
pub mod keys;
mod live;
mod outbox;
mod overview;
mod pace;
mod random;
mod retained;
mod running;
mod service;
mod stats;
mod technique;
mod text;
mod trace;
mod usage;

pub use self::{
    bar::{
        BARS_MAX, Bar, BarSettings, DEFAULT_STEP, NAME_CHARS_MAX, SAMPLING_AGE_DEFAULT,
        SAMPLING_MAX_AGE_MAX, SAMPLING_MAX_AGE_MIN, SAMPLING_MAX_COUNT_MAX, SAMPLING_MAX_COUNT_MIN,
        STEPS_MAX, Sampling, Step,
    },
    complete::CountOutcome,
    error::Error,
    eta::{Eta, StepEta},
    jobs::{CALC_PBAR_ETA, HANDLE_COMPLETED_TRACE, HANDLE_EXAMPLE_JOB, JOBS},
    keys::FAMILIES,
    live::{Live, PREPARING},
    overview::{BarLine, Users},
    pace::{Marks, SHARES, WHOLE},
    retained::{RetainedStep, RetainedTrace, Sample, SampleStep, Samples},
    running::RunningTrace,
    service::{Progress, Quotas, TRACES_QUOTA},
    technique::{Method, StepConfig, Technique},
    trace::{
        FailedTrace, ITERATIONS_MAX, NewTrace, Outcome, Trace, TraceFailure, TraceStep, Update,
    },
    usage::{PastUsage, Usage},
};

/// The guide, whose examples are compiled with the tests.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/progress.md")]
pub struct Guide;
