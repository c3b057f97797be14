//! The Rust worker, through its public door.

mod bench;
mod ends;
mod outages;
mod regains;
mod stops;
