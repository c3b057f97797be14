//! How good recommendations are, measured on an app that is made up, so that the truth is known.
//!
//! In reading order: `generator` makes the app, `metrics` judges one list, `baselines` are the lists to beat, `fit` learns weights,
//! `bootstrap` says how sure the figures are, and `run` lives through the nights and compares on the weeks that follow; `adopt` puts what was learned in force.

mod adopt;
mod baselines;
mod bootstrap;
mod fit;
mod generator;
mod metrics;
mod run;

pub use self::{
    adopt::Adopted,
    bootstrap::Interval,
    generator::{GeneratedApp, Size},
    metrics::Scores,
    run::{Evaluation, Measured, evaluate},
};
