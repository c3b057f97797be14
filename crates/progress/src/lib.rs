//! Progress bars that know how long things take, learned from past traces.

pub mod keys;

pub use keys::FAMILIES;
