//! What the tests of other crates rely on: each fault happens, and nothing is left behind.

mod cluster;
mod proxy;
mod sentinel;
mod server;
