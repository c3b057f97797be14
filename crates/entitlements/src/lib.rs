//! Entitlements: what a user has paid for, cached from the source of truth, with rate limits and checkout.

pub mod keys;

pub use keys::FAMILIES;
