//! Journeys: what the people on a journey do together, live.

pub mod keys;

pub use keys::FAMILIES;
