//! Files: making sure that what was uploaded for nothing gets deleted.

pub mod keys;

pub use keys::FAMILIES;
