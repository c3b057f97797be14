//! The Rust worker, through its public door.

mod bench;
mod ends;
mod job_logs;
mod line;
mod logs;
mod outages;
mod poison;
mod regains;
mod reservations;
mod reshard;
mod shares;
mod stops;
mod traces;
mod wakes;
