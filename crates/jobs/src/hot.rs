//! The hot queue: one list of short jobs, each run at most once.

pub mod keys;
