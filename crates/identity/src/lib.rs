//! Identity: who is calling, by user token or by signed token.

pub mod keys;

pub use keys::FAMILIES;
