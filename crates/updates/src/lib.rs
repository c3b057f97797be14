//! Updates: telling running services that their repository has something new to deploy.

pub mod keys;

pub use keys::FAMILIES;
