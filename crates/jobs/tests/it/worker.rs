//! The Rust worker, through its public door.

mod bench;
mod ends;
mod line;
mod lots;
mod outages;
mod poison;
mod regains;
mod reshard;
mod stops;
mod wakes;
