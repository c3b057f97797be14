//! Progress bars that know how long things take, learned from past traces.
//!
//! [`Progress`] is the handle to the bars of a store. A client reports a *trace*, one run through a *bar*, step by step; a
//! completed trace may be retained as a sample, and from the samples of a bar follows how long the next trace will take.
//!
//! In reading order: `trace`, `bar`, `technique`, `retained`, `eta` and `live` are the nouns; `service` is the handle.

mod bar;
mod bars;
mod chance;
mod complete;
mod error;
mod eta;
mod example;
mod jobs;
pub mod keys;
mod live;
mod outbox;
mod retained;
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
    complete::Handled,
    error::Error,
    eta::{Eta, StepEta},
    jobs::{CALC_PBAR_ETA, HANDLE_COMPLETED_TRACE, JOBS},
    keys::FAMILIES,
    live::{Live, PREPARING},
    retained::{RetainedStep, RetainedTrace, Sample, SampleStep, Samples},
    service::Progress,
    technique::{Method, StepConfig, Technique},
    trace::{ITERATIONS_MAX, NewTrace, Trace, TraceStep, Update},
    usage::Usage,
};
