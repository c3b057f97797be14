//! A made-up company that keeps every service of keyrack busy, for people who want to see what there is.
//!
//! [`Demo::open`] takes a store and makes sure that nothing in it can be mistaken for the demo's; [`Demo::begin`] gives every page something
//! to show; [`Demo::run`] goes on until told to stop; [`clean`] takes away what was made and nothing else. What happens, and
//! when, follows from a seed: [`Scenario`] is that sequence of [`Action`]s, and touches no store.
//!
//! In reading order: `people`, `random` and `agenda` are what plans are made with; `scenario` merges the plans of all services, which are
//! one file for each service, with the plan above and the driver that carries it out below; `drivers` is the demo itself. `keys`, `mark`, `foreign_keys` and `clean`
//! are how it tells its own data from that of others.

mod agenda;
mod people;
mod random;

mod scenario;

mod calculations;
mod entitlements;
mod files;
mod hot;
mod jobs;
mod journeys;
mod limits;
mod progress;
mod recommender;
mod recurring;
mod updates;

mod billing;
mod drivers;

mod clean;
mod foreign_keys;
pub mod keys;
mod mark;
mod record;

mod error;

pub use self::{
    clean::{CleanReport, clean},
    drivers::{Demo, Options},
    error::Error,
    foreign_keys::{ForeignKeys, survey},
    keys::FAMILIES,
    recurring::definitions as recurring_definitions,
    scenario::{Action, Scenario, TimedAction},
};
