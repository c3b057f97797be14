//! Calculations over event values: sums, counts, averages, deviations and trends, per calendar interval.

pub mod keys;

pub use keys::FAMILIES;
