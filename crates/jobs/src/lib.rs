//! Jobs: work that is handed to whoever has time for it.
//!
//! In reading order: [`bee`] is the full queue with priorities, dependencies, duplicates, tags and locks; [`hot`] the
//! plain list for short jobs that may be lost; [`recurring`] what puts jobs there by the calendar.

pub mod bee;
mod error;
pub mod hot;
pub mod recurring;

pub use error::Error;

/// The guide, whose examples are compiled with the tests.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/jobs.md")]
pub struct Guide;

/// The guide for those who have such queues already, likewise.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/coming-from.md")]
pub struct ComingFrom;
