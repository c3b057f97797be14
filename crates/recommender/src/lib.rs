//! The recommender: which posts a user should see next.

pub mod keys;

pub use keys::FAMILIES;
