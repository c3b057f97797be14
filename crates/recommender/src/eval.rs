//! How good recommendations are, measured on an app that is made up, so that the truth is known, or on one that was recorded.
//!
//! In reading order: `world` is what both kinds have in common, `generator` makes an app, `recorded` reads one, `metrics` judges one list, `baselines` are the lists to beat,
//! `bootstrap` says how sure the figures are, and `run` lives through the nights and compares on the weeks that follow; `adopt` puts what was learned in force.

mod adopt;
mod baselines;
mod bootstrap;
mod export;
mod generator;
mod metrics;
mod recorded;
mod run;
mod shape;
mod world;

pub use self::{
    adopt::Adopted,
    bootstrap::Interval,
    export::{Gain, ListQuality, export, judge},
    generator::{GeneratedApp, Size},
    metrics::Scores,
    recorded::RecordedApp,
    run::{Evaluation, Measured, evaluate},
    shape::Shape,
    world::App,
};
